"""A result beside an earlier one, by another measure, as a table, and with samples to make again."""

from __future__ import annotations

import json
import threading

import msgspec
import pytest
from PySide6.QtCore import Qt

from evaluating import ended, good, open_it
from glyphscope.evals.results import ResultFolder, ResultRow, SampleFailure
from glyphscope.store import places
from glyphscope_gui.evaluate import AFTER, ChangesDialog, EvalResult
from glyphscope_gui.shared.page_ids import PageId
from made_results import made_result

pytestmark = pytest.mark.slow


@pytest.fixture
def page(open_page, qtbot):
    """The page with all its initial data read."""
    page = open_page(PageId.EVALUATE, good)
    ended(qtbot, page)
    return page


@pytest.fixture
def compare(page, qtbot):
    """Compare a result with its copy in which a function changed the samples, as JSON; gives the dialog."""

    def build(change):
        before, after = (made_result(places().results / name, scenarios=4, trials=1) for name in "ab")
        lines = [json.loads(line) for line in (after / "samples.jsonl").read_text().splitlines()]
        change(lines)
        (after / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        open_it(qtbot, page, after)
        page.comparing.fill()
        assert not page.view.compare_menu.actions()[0].isEnabled(), "no other result is listed"
        page._results.show_rows([ResultRow(before, ResultFolder.open(before).manifest)])
        page.comparing.fill()
        page.view.compare_menu.actions()[0].trigger()
        qtbot.waitUntil(lambda: bool(page.context.window.findChildren(ChangesDialog)))
        return page.context.window.findChildren(ChangesDialog)[0]

    return build


def test_a_result_is_compared_with_an_earlier_one(page, compare, qtbot):
    changed = []

    def spoil(lines):
        changed.append(next(line for line in lines if line.get("ok")))
        changed[0].update(ok=False, failures=[{"reason": "WRONG_TOOL"}])

    dialog = compare(spoil)
    model = dialog.table.model()
    assert [model.index(0, column).data() for column in (0, 1)] == ["✕ regression", changed[0]["scenario"]]
    assert "1 regression, 0 fixed" in dialog.summary.text()
    with qtbot.waitSignal(dialog.runRequested) as signal:
        qtbot.keyClick(dialog.table, Qt.Key.Key_Return)
    assert signal.args[0].id == changed[0]["id"]
    ended(qtbot, page)


def test_changes_whose_samples_cannot_be_read_show_the_reason(page, compare, qtbot):
    dialog = compare(lambda lines: lines[0].update(ok=not lines[0]["ok"], text=7))
    model = dialog.table.model()
    assert model.rowCount() == 1 and "cannot be read" in model.index(0, AFTER).data()
    dialog.reject()
    ended(qtbot, page)


def test_two_results_with_the_same_verdicts_are_compared_without_an_empty_table(page, compare, qtbot):
    dialog = compare(lambda lines: None)
    assert "Every scenario has the same verdict in both results." in dialog.summary.text()
    assert not dialog.table.isVisible()
    dialog.reject()
    ended(qtbot, page)


def test_the_samples_of_a_result_are_exported_as_a_table(page, qtbot, tmp_path):
    open_it(qtbot, page, made_result(tmp_path))
    assert page.view.export_button.isEnabled()
    page.export(tmp_path / "samples.csv")
    ended(qtbot, page)
    assert "samples exported" in page.view.notice.label.text()
    lines = (tmp_path / "samples.csv").read_text().splitlines()
    assert len(lines) == 1 + len(page.result_presenter.result.samples)


@pytest.mark.slow  # inspect_ai is imported
def test_a_result_of_several_arms_is_exported_as_several_logs_of_inspect(page, qtbot, tmp_path):
    pytest.importorskip("inspect_ai")
    open_it(qtbot, page, made_result(tmp_path, scenarios=1, trials=1))
    page.export(tmp_path / "logs" / "log.eval")
    ended(qtbot, page)
    assert "4 samples exported to 4 files" in page.view.notice.label.text()
    assert len(list((tmp_path / "logs").iterdir())) == 4


def test_figures_by_another_measure_are_computed_in_the_background_also_while_a_result_grows(
    page, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr("glyphscope_gui.evaluate.result.AT_ONCE", 1)
    view = open_it(qtbot, page, made_result(tmp_path))
    here, figure, computed = threading.current_thread(), EvalResult._figure, []

    def noted(self, row, arm, measure):
        computed.append((threading.current_thread() is here, row.kind))
        return figure(self, row, arm, measure)

    monkeypatch.setattr(EvalResult, "_figure", noted)
    view.measure.setCurrentIndex(view.measure.findData("decoded"))
    assert view.model.measure.name == "ok", "not yet"
    ended(qtbot, page)
    assert view.model.measure.name == "decoded" and "%" not in view.model.index(0, 0).data()
    before = page.result_presenter.result
    page.result_presenter.grow(EvalResult(before.path, before.manifest, before.table))
    assert view.model.result is before
    qtbot.waitUntil(lambda: view.model.result is page.result_presenter.result is not before)
    assert {kind for in_window, kind in computed if in_window} <= {"scenario"}


def test_a_finished_result_with_samples_whose_process_was_ended_is_resumed(page, qtbot, tmp_path):
    path = made_result(tmp_path)
    open_it(qtbot, page, path)
    assert not page.view.resume_button.isVisible()
    samples = [*ResultFolder.open(path).samples()]
    failure = SampleFailure(reason="MODEL_FAILED", detail="The model's process was ended by SIGKILL. SIGKILL")
    samples[1] = msgspec.structs.replace(samples[1], ok=False, outcome="failed", failures=(failure,))
    (path / "samples.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in samples))
    open_it(qtbot, page, path)
    assert page.view.resume_button.isVisible()
    assert "process was ended: 1 sample. Resume" in page.view.notice.label.text()
