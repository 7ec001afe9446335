"""The place of an evaluation's samples, as the Evaluate page sets it: this computer, or a Dask cluster."""

from __future__ import annotations

import json
import socket
import threading

import pytest

pytest.importorskip("distributed")

from dask_process import cluster
from eval_suite import plain
from evaluating import SUITE, evaluate_page, newest
from glyphscope.store import places
from made_results import GOOD

pytestmark = pytest.mark.slow
PLACE, JOBS = "Run on", "Jobs"


@pytest.fixture
def screen(open_page, qtbot, tmp_path):
    """The page with a suite of two scenarios and a scripted model, which workers can open too."""
    suite = tmp_path / "mine.json"
    suite.write_text(json.dumps(SUITE))
    page, screen = evaluate_page(open_page, qtbot)
    page.context.project.choose_model(f"scripted:{GOOD}")
    screen.set_up(suite, models=(), trials=20)
    return screen


def begin_on(screen, text):
    screen.write(PLACE, text)
    screen.until_can("Evaluate")
    screen.press("Evaluate")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("dask://cluster", "Not a place for samples"),
        ("tcp://127.0.0.1:8786", "pip install 'glyphscope[dask]'"),
    ],
)
def test_an_invalid_place_and_a_cluster_without_dask_are_reported_before_the_start(
    screen, monkeypatch, place, said
):
    monkeypatch.setattr("glyphscope_plugins.dask.place.find_spec", lambda _name: None)
    screen.write(PLACE, place)
    screen.until(said)
    assert not screen.can("Evaluate")
    assert screen.find(PLACE).property("refused") or "pip" in said
    screen.write(PLACE, "")
    screen.until_can("Evaluate")
    assert said not in screen


def test_a_valid_place_is_saved_for_the_next_start(screen, open_page, qtbot):
    screen.write(PLACE, "dask://cluster.example:8786")
    screen.write(PLACE, "dask://cluster.example:")  # not valid: the last valid one stays
    screen.page.context.settings.close()
    page, other = evaluate_page(open_page, qtbot)
    assert other.read(PLACE) == "dask://cluster.example:8786" and not other.can(JOBS)
    other.write(PLACE, "")
    assert not page.context.settings.value.evaluate_on and other.can(JOBS)


def test_the_jobs_of_this_computer_can_be_part_of_the_place(screen):
    screen.write(JOBS, 2)
    begin_on(screen, "local:3")
    screen.ended()
    assert newest().manifest.jobs == 3
    screen.press("Set up")
    screen.write(PLACE, "")
    screen.until_can("Evaluate")
    assert screen.evaluate().manifest.jobs == 2


def test_several_sequences_are_for_models_that_have_them(screen):
    screen.write("Batch size", 4)
    screen.until("A scripted or recorded model decodes one sample at a time")
    assert not screen.can("Evaluate")
    screen.write("Batch size", 1)
    screen.until_can("Evaluate")


def test_a_scheduler_that_cannot_be_reached_is_an_error_and_nothing_is_written(screen):
    begin_on(screen, "dask://127.0.0.1:9")
    screen.ended()
    words = screen.error()
    assert "No Dask scheduler answers: Connection refused" in words and "dask://127.0.0.1:9" in words
    assert screen.can("Evaluate") and not places().results.exists()


def test_an_evaluation_is_stopped_while_its_scheduler_does_not_answer(screen, qtbot):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, socket.socket() as before:
        before.connect(silent.getsockname())  # the next one has no place in the queue
        begin_on(screen, f"dask://127.0.0.1:{silent.getsockname()[1]}")
        qtbot.waitUntil(lambda: "glyphscope-ask" in {thread.name for thread in threading.enumerate()})
        assert not screen.can("Evaluate")
        screen.press("Stop")
        qtbot.waitUntil(lambda: not screen.named("Stop"), timeout=6000)
    assert not screen.page.context.errors


def test_the_samples_of_a_cluster_are_those_of_this_computer(screen, qtbot):
    """They are stopped in the middle, and resumed."""
    here = screen.evaluate()
    with cluster("one", "two") as on:
        screen.press("Set up")
        begin_on(screen, f"dask://{on.address}")
        progress = screen.page.evaluations
        qtbot.waitUntil(lambda: progress.progress.done > 0)
        screen.until("2 workers")
        screen.press("Stop")
        screen.ended()
        some = newest().samples()
        screen.press("Resume")
        qtbot.waitUntil(lambda: progress.is_busy)
        screen.ended()
    there = newest()
    assert not screen.page.context.errors and 0 < len(some) < len(there.samples()) == 40
    assert plain(there.samples()) == plain(here.samples())
    assert len(there.manifest.workers) == 2 and there.manifest.finished


def test_a_worker_that_leaves_is_named(screen):
    with cluster("one") as on:
        old = on.add_worker("other", "old")
        on.wait_for(2)
        begin_on(screen, f"dask://{on.address}")
        screen.ended()
        assert old.poll() is None
    assert "left: Another version: glyphscope 0.0.9" in screen
    assert len(newest().samples()) == 40
