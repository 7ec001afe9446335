"""The place of an evaluation's samples, as the Evaluate page sets it: this computer, or a Dask cluster."""

from __future__ import annotations

import json
import socket
import threading

import pytest

pytest.importorskip("distributed")

from dask_process import cluster
from evaluating import SUITE, ended, good, set_up, shown_error
from glyphscope.evals.results import ResultFolder
from glyphscope.store import places
from glyphscope_gui.evaluate import EvalPhase
from glyphscope_gui.shared.page_ids import PageId
from made_results import GOOD

pytestmark = pytest.mark.slow


@pytest.fixture
def page(open_page, qtbot, tmp_path):
    """The page with a suite of two scenarios and a scripted model, which workers can open too."""
    suite = tmp_path / "mine.json"
    suite.write_text(json.dumps(SUITE))
    made = open_page(PageId.EVALUATE, good)
    ended(qtbot, made)
    model = f"scripted:{GOOD}"
    made._add_endpoint(model)
    set_up(qtbot, made, suite, trials=20)
    made.view.setup.show_matrix({"models": (model,)})
    made.view.setup.changed.emit()
    qtbot.waitUntil(made.view.setup.start.isEnabled)
    return made


def begin_on(qtbot, page, text):
    setup = page.view.setup
    setup.place.setText(text)
    qtbot.waitUntil(setup.start.isEnabled)
    setup.start.click()


def plain(samples):
    """The samples without their times, by id."""
    times = {"time", "first_token_ms", "total_ms"}
    return sorted(
        (
            {name: getattr(each, name) for name in each.__struct_fields__ if name not in times}
            for each in samples
        ),
        key=lambda each: each["id"],
    )


def test_an_invalid_place_is_reported_before_the_start(page, qtbot):
    setup = page.view.setup
    setup.place.setText("dask://cluster")
    qtbot.waitUntil(lambda: "Not a place for samples" in setup.problem.text())
    assert "dask://HOST:PORT" in setup.problem.text() and not setup.start.isEnabled()
    assert setup.place.property("refused") and "Not a place" in setup.place.toolTip()
    setup.place.clear()
    qtbot.waitUntil(setup.start.isEnabled)
    assert not setup.problem.isVisible() and "this computer" in setup.place.toolTip()


def test_a_valid_place_is_saved_for_the_next_start(page, open_page, qtbot):
    page.view.setup.place.setText("dask://cluster.example:8786")
    page.view.setup.place.setText("dask://cluster.example:")  # not valid: the last valid one stays
    page.context.settings.close()
    other = open_page(PageId.EVALUATE, good)
    ended(qtbot, other)
    assert other.view.setup.place.text() == "dask://cluster.example:8786"
    assert not other.view.setup.jobs.isEnabled()
    other.view.setup.place.clear()
    assert not other.context.settings.value.evaluate_on


def test_a_cluster_without_dask_is_reported_before_the_start(page, qtbot, monkeypatch):
    monkeypatch.setattr("glyphscope_plugins.dask.place.find_spec", lambda _name: None)
    setup = page.view.setup
    setup.place.setText("tcp://127.0.0.1:8786")
    qtbot.waitUntil(lambda: "pip install 'glyphscope[dask]'" in setup.problem.text())
    assert not setup.start.isEnabled()


def test_the_jobs_of_this_computer_can_be_part_of_the_place(page, qtbot):
    setup = page.view.setup
    setup.jobs.setValue(2)
    assert setup.matrix().jobs == 2
    setup.place.setText("local:3")
    assert setup.matrix().jobs == 3 and not setup.jobs.isEnabled()
    begin_on(qtbot, page, "local:3")
    ended(qtbot, page)
    assert page.result_presenter.result.manifest.jobs == 3
    setup.place.clear()
    assert setup.matrix().jobs == 2 and setup.jobs.isEnabled()


def test_several_sequences_are_for_models_that_have_them(page, qtbot):
    setup = page.view.setup
    setup.numbers["sequences"].setValue(4)
    assert setup.matrix().sequences == 4 and setup.matrix().jobs == 1
    qtbot.waitUntil(lambda: "A scripted or recorded model has no sequences" in setup.problem.text())
    assert not setup.start.isEnabled()
    setup.numbers["sequences"].setValue(1)
    qtbot.waitUntil(setup.start.isEnabled)


def test_a_scheduler_that_cannot_be_reached_is_an_error_and_nothing_is_written(page, qtbot):
    begin_on(qtbot, page, "dask://127.0.0.1:9")
    ended(qtbot, page)
    words = shown_error(page)
    assert "No Dask scheduler answers: Connection refused" in words and "dask://127.0.0.1:9" in words
    assert page.evaluations.phase is EvalPhase.IDLE and page.view.setup.start.isEnabled()
    assert not places().results.exists()


def test_an_evaluation_is_stopped_while_its_scheduler_does_not_answer(page, qtbot):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, socket.socket() as before:
        before.connect(silent.getsockname())  # the next one has no place in the queue
        begin_on(qtbot, page, f"dask://127.0.0.1:{silent.getsockname()[1]}")
        qtbot.waitUntil(lambda: "glyphscope-ask" in {thread.name for thread in threading.enumerate()})
        assert page.evaluations.phase is EvalPhase.RUNNING
        page.view.progress.stop_button.click()
        qtbot.waitUntil(lambda: page.evaluations.phase is EvalPhase.IDLE, timeout=6000)
    assert not page.context.errors


def test_the_samples_of_a_cluster_are_those_of_this_computer(page, qtbot):
    """They are stopped in the middle, and resumed."""
    page.view.setup.start.click()
    ended(qtbot, page)
    here = page.result_presenter.result
    with cluster("one", "two") as on:
        begin_on(qtbot, page, f"dask://{on.address}")
        evaluations = page.evaluations
        qtbot.waitUntil(lambda: len(evaluations.progress.workers) == 2 and evaluations.progress.done > 0)
        assert "2 workers" in page.view.progress.words.text()
        page.view.progress.stop_button.click()
        ended(qtbot, page)
        folder = page.result_presenter.result.path
        some = ResultFolder.open(folder).samples()
        page.view.resume_button.click()
        qtbot.waitUntil(lambda: evaluations.is_busy)
        ended(qtbot, page)
    there = ResultFolder.open(folder)
    assert not page.context.errors and 0 < len(some) < len(there.samples()) == 40
    assert plain(there.samples()) == plain(here.samples)
    assert len(there.manifest.workers) == 2 and there.manifest.finished


def test_a_worker_that_leaves_is_named(page, qtbot):
    with cluster("one") as on:
        old = on.add_worker("other", "old")
        on.wait_for(2)
        begin_on(qtbot, page, f"dask://{on.address}")
        ended(qtbot, page)
        assert old.poll() is None
    assert "left: Another version: glyphscope 0.0.9" in page.view.notice.label.text()
    assert len(page.result_presenter.result.samples) == 40
