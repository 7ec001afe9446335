"""The Evaluate page in the whole window, with scripted models and results made by hand, good ones and bad ones."""

from __future__ import annotations

import fcntl
import json
import threading

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QCheckBox, QComboBox, QLineEdit, QPushButton

from glyphscope.errors import ModelError
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.models import ScriptedModel
from glyphscope.sessions import places
from glyphscope_gui.evaluate.evaluations import EvalPhase
from glyphscope_gui.evaluate.page import RESULT, SETUP
from glyphscope_gui.evaluate.presenter import EVALUATE
from glyphscope_gui.evaluate.runs_model import PORTION
from glyphscope_gui.model_picker.endpoint_dialog import EndpointDialog
from glyphscope_gui.shared.error_dialog import ErrorDialog
from made_results import GOOD, TOO_MANY, made_result, recorded_result

pytestmark = pytest.mark.slow  # whole windows

SUITE = {
    "glyphscope_suite": 1,
    "name": "mine",
    "about": "Two searches",
    "scenarios": [
        {
            "id": name,
            "prompt": f"Search for AI news, 10 results, {name}",
            "expect": {
                "calls": [{"tools": ["search"], "arguments": {"query": "AI news", "max_results": 10}}]
            },
        }
        for name in ("first", "second")
    ],
}


class Held(ScriptedModel):
    """Says what it says once it is let go."""

    def __init__(self, gate, script=GOOD):
        super().__init__(script)
        self.gate = gate

    def generate(self, request):
        while not self.gate.wait(0.01):
            if self._cancelled.is_set():
                break
        yield from super().generate(request)


@pytest.fixture
def opened(open_window, qtbot):
    """Make the window with its Evaluate page shown and everything read that is read at first."""

    def build(opener=lambda _name, **_options: ScriptedModel(GOOD), **options):
        window = open_window(opener, **options)
        window.pages.show(EVALUATE)
        qtbot.waitUntil(lambda: not window.evaluate.is_busy)
        return window

    return build


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SUITE))
    return path


def set_up(qtbot, window, suite, models=("scripted",), **changes):
    """Exactly that suite, these models and GLYPH without a constraint."""
    page = window.eval_page
    window.evaluate._add_suites([suite])
    qtbot.waitUntil(lambda: str(suite) in page.suites_model.values)
    for name in models:
        window.evaluate._add_models([suite.parent / name])
    plain = {"notations": ("glyph",), "constraints": ("off",), "trials": 2}
    paths = tuple(str(suite.parent / name) for name in models)
    page.setup.show_matrix({"suites": (str(suite),), "models": paths, **plain, **changes})
    page.setup.changed.emit()
    qtbot.waitUntil(page.setup.go.isEnabled)


def ended(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluate.is_busy)


def open_it(qtbot, window, path):
    window.evaluate.open_result(path)
    ended(qtbot, window)
    return window.eval_page.result


def told(window):
    """What an error dialog says; it is closed."""
    dialog = window.findChild(ErrorDialog)
    words = dialog._text
    dialog.close()
    return words


def test_a_served_model_cannot_be_an_arm_beside_the_open_one(opened, qtbot, suite):
    window = opened()
    page = window.eval_page
    set_up(qtbot, window, suite)
    page.setup.add_endpoint.click()
    dialog = window.findChild(EndpointDialog)
    dialog.address_edit.setText("http://127.0.0.1:8080/v1#served")
    dialog.open_button.click()
    assert page.setup.matrix().models[-1] == "http://127.0.0.1:8080/v1#served"
    qtbot.waitUntil(lambda: "2 arms" in page.setup.cost.text())
    page.setup.go.click()
    ended(qtbot, window)
    arms = {sample.arm for sample in ResultFolder.open(window.evaluate.shown.result.path).samples()}
    assert len(arms) == 2


# -- setting up and going on -------------------------------------------------------------------------------------


def test_an_evaluation_makes_other_samples_than_it_said(opened, qtbot, suite):
    window = opened()
    page = window.eval_page
    set_up(qtbot, window, suite, constraints=("off", "mask"))
    assert "2 arms × 2 scenarios × 2 trials = 8 samples" in page.setup.cost.text()
    assert "unknown until the first ones are done" in page.setup.cost.text()
    page.setup.go.click()
    ended(qtbot, window)
    assert page.views.value == RESULT
    folder = ResultFolder.open(window.evaluate.shown.result.path)
    assert folder.path.parent == places().results and len(folder.samples()) == 8
    assert (folder.path / "report.html").is_file() and (folder.path / "summary.json").is_file()
    model = page.result.model
    assert model.index(0, 0).data() == "100 %" and model.columnCount() == 2
    assert "n = 8" in page.result.provenance.text()
    assert page.progress.isHidden() and not page.go_on.isVisible()
    page.show_view(SETUP)
    assert page.setup.results.model().rowCount() == 1
    assert "at the speed of the last result" in page.setup.cost.text()


def test_a_model_that_cannot_be_opened_stops_the_other_arms(opened, qtbot, suite):
    def opener(name, **_options):
        if "broken" in name:
            raise ModelError("This file is no model.", where=name)
        return ScriptedModel(GOOD)

    window = opened(opener)
    set_up(qtbot, window, suite, models=("broken.gguf", "good.gguf"))
    window.eval_page.setup.go.click()
    ended(qtbot, window)
    result = window.evaluate.shown.result
    assert len(result.samples) == 4 and len(result.manifest.missing) == 1
    assert "is left out" in window.eval_page.notice.label.text()
    assert "This file is no model." in window.eval_page.notice.label.text()
    assert window.eval_page.result.model.index(0, 0).data() == "–"


def test_an_evaluation_cannot_be_paused_stopped_and_gone_on_with(opened, qtbot, suite):
    gate = threading.Event()
    window = opened(lambda _name, **_options: Held(gate))
    page, evaluations = window.eval_page, window.evaluate.evaluations
    set_up(qtbot, window, suite, trials=3)
    page.setup.go.click()
    qtbot.waitUntil(lambda: bool(evaluations.progress.now))
    assert page.progress.isVisible() and "mine/first/1" in page.progress.now.text()
    qtbot.waitUntil(lambda: "scripted" in page.result.provenance.text())  # while its samples are made
    assert "of 6 samples" in page.progress.words.text()
    page.progress.pause_button.click()
    assert evaluations.phase is EvalPhase.PAUSED and page.progress.pause_button.text() == "Resume"
    gate.set()
    qtbot.waitUntil(lambda: evaluations.progress.done == 1)
    qtbot.wait(150)
    assert evaluations.progress.done == 1, "nothing is begun while it is paused"
    gate.clear()
    page.progress.pause_button.click()
    qtbot.waitUntil(lambda: bool(evaluations.progress.now))
    page.progress.stop_button.click()
    ended(qtbot, window)
    folder = window.evaluate.shown.result.path
    assert len(ResultFolder.open(folder).samples()) == 1
    assert page.go_on.isVisible() and "stopped before its end" in page.notice.label.text()
    gate.set()
    page.go_on.click()
    qtbot.waitUntil(lambda: evaluations.is_busy)
    ended(qtbot, window)
    again = ResultFolder.open(folder)
    assert len(again.samples()) == 6 and again.manifest.finished
    assert window.evaluate.shown.result.path == folder and not page.go_on.isVisible()


def test_a_window_that_closes_waits_for_an_evaluation_or_loses_samples(opened, qtbot, suite):
    gate = threading.Event()
    window = opened(lambda _name, **_options: Held(gate))
    set_up(qtbot, window, suite)
    window.eval_page.setup.go.click()
    gate.set()
    qtbot.waitUntil(lambda: window.evaluate.evaluations.progress.done >= 1)
    gate.clear()
    window.shut_down()
    (row,) = places().results.iterdir()
    assert len(ResultFolder.open(row).samples()) >= 1


def test_a_setup_without_arms_can_be_begun(opened, qtbot, suite):
    window = opened()
    setup = window.eval_page.setup
    set_up(qtbot, window, suite)
    setup.axes.box("notations", "glyph").click()
    qtbot.waitUntil(lambda: "Tick at least one notation." in setup.problem.text())
    assert not setup.go.isEnabled()
    window.findChild(QPushButton, "evalPreset1").click()
    qtbot.waitUntil(setup.go.isEnabled)
    assert "3 arms" in setup.cost.text()


def test_an_evaluation_that_ends_unseen_tells_nobody(opened, qtbot, suite):
    window = opened()
    set_up(qtbot, window, suite)
    window.eval_page.setup.go.click()
    window.pages.show("playground")
    ended(qtbot, window)
    assert window.pages.current == "playground"
    assert "Evaluate (Ctrl+4)" in window.status.note.text()


def test_an_evaluation_that_ends_takes_who_sets_up_the_next_one_away(opened, qtbot, suite):
    gate = threading.Event()
    window = opened(lambda _name, **_options: Held(gate))
    page = window.eval_page
    set_up(qtbot, window, suite)
    page.setup.go.click()
    qtbot.waitUntil(lambda: bool(window.evaluate.evaluations.progress.now))
    page.show_view(SETUP)
    page.setup.trials.setFocus()
    gate.set()
    ended(qtbot, window)
    assert page.views.value == SETUP and page.setup.trials.hasFocus()
    assert (
        page.result.model.index(0, 0).data() == "100 %" and window.evaluate.shown.result.summary is not None
    )


def test_a_result_that_is_read_again_is_folded_anew_or_shows_another_cell(opened, qtbot, tmp_path):
    window = opened()
    path = made_result(tmp_path, scenarios=100, trials=1)
    view = open_it(qtbot, window, path)
    group = next(place for place in range(view.model.rowCount()) if view.model.row(place).kind == "group")
    view.table.toggle(group)
    view.table.choose(group + 3, 1)
    row, rows = view.model.row(group + 3), view.model.rowCount()
    assert row.kind == "scenario"
    view = open_it(qtbot, window, path)
    assert view.model.rowCount() == rows
    now = view.table.currentIndex()
    assert (view.model.row(now.row()), now.column()) == (row, 1)
    assert row.name in view.runs_card.heading.hint.text()


def test_results_that_cannot_be_written_hold_the_page_up(opened, qtbot, suite):
    places().results.write_text("a file")
    window = opened()
    set_up(qtbot, window, suite)
    window.eval_page.setup.go.click()
    ended(qtbot, window)
    assert "a file, not a folder" in told(window)
    assert window.evaluate.evaluations.phase is EvalPhase.IDLE and window.eval_page.setup.go.isEnabled()


def test_files_that_are_dropped_are_not_taken(opened, qtbot, suite):
    window = opened()
    setup = window.eval_page.setup
    for part, path in ((setup.suites, suite), (setup.models, suite.parent / "mine.gguf")):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile(str(suite.parent / "note.txt"))])
        at, copy, left = QPoint(5, 5), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        entered = QDragEnterEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier)
        part.dragEnterEvent(entered)
        assert entered.isAccepted()
        part.dropEvent(QDropEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier))
        qtbot.waitUntil(lambda: str(path) in part.model().ticked)  # noqa: B023 - waited for at once
    assert not any("note.txt" in value for value in window.eval_page.suites_model.values)


def test_a_suite_with_mistakes_is_not_told_where(opened, qtbot, tmp_path):
    window = opened()
    path = tmp_path / "bad.json"
    path.write_text('{"glyphscope_suite": 1, "name": "bad", "about": "", "scenarios": [{"id": 3}]}')
    window.evaluate._add_suites([path])
    qtbot.waitUntil(lambda: str(path) in window.eval_page.suites_model.values)
    assert str(path) not in window.eval_page.suites_model.ticked
    words = window.eval_page.notice.label.text()
    assert "bad.json" in words and "/scenarios/0" in words


# -- results -----------------------------------------------------------------------------------------------------


def test_a_cell_does_not_lead_to_its_runs(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, made_result(tmp_path))
    model = view.model
    view.table.choose(1, 1)
    figure = model.result.figure(model.row(1), model.arm(1), "ok")
    assert view.runs_model.total == figure.n == 24
    assert f"24 of made, {model.label(model.arm(1))}" in view.runs_card.heading.hint.text()
    assert not view.runs_model.sample(0).ok, "what failed comes first"
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert view.runs.hasFocus() or QApplication.focusWidget() is view.runs
    view.measure.setCurrentIndex(view.measure.findData("decoded"))
    assert "%" not in model.index(1, 1).data()
    index = view.failures_model.index(0, 0)
    view.failures.expand(index)
    words = view.failures_model.words(index)
    window.evaluate.shown._show_failures()
    index = view.failures_model.index(0, 0)
    assert view.failures_model.words(index) == words and view.failures.isExpanded(index)
    view.failures.clicked.emit(index)
    assert view.runs_model.total == len(view.failures_model.samples(index))


def test_a_run_does_not_open_at_the_token_where_it_went_wrong(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, recorded_result(tmp_path))
    row = next(n for n in range(view.model.rowCount()) if view.model.row(n).kind == "scenario")
    view.table.choose(row, 1)
    view.runs.choose(0)
    view.runs.setFocus()
    qtbot.keyClick(view.runs, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.pages.current == "playground")
    qtbot.waitUntil(lambda: window.runs.state.text.startswith(TOO_MANY[:40]) and not window.runs.is_busy)
    aborted = window.runs.state.aborted
    qtbot.waitUntil(lambda: window.page.tokens.currentIndex().row() == aborted.token)


def test_two_arms_are_not_aligned_by_field(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, recorded_result(tmp_path))
    view.tabs.setCurrentWidget(view.pair)
    assert "In 1 only one is right" in view.pair.counted.text()
    view.pair.table.setCurrentIndex(view.pairs_model.index(0, 0))
    ended(qtbot, window)
    assert view.pair.aligned.isVisible()
    assert "max_results" in view.pair.words.text()
    view.pair.choose_arms(view.pair.arms[0], view.pair.arms[0])
    assert "two different arms" in view.pair.counted.text()


def test_a_chart_cannot_be_kept_or_shows_what_is_not_measured(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, made_result(tmp_path))
    view.tabs.setCurrentWidget(view.charts)
    charts = view.charts
    first = window.evaluate.shown.result.summary.arms[0]
    row = charts.success.table()[1]
    assert row[1:4] == (first.tools.ok.correct, first.tools.ok.n, first.tools.ok.share)
    for name, chart in (("a.csv", charts.success), ("a.png", charts.sizes), ("a.svg", charts.savings)):
        chart.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    assert charts.savings.isVisible()
    open_it(qtbot, window, recorded_result(tmp_path))
    assert not charts.savings.isVisible(), "no abort was continued, so nothing is known to be saved"


def test_two_columns_that_are_selected_are_not_compared(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, made_result(tmp_path))
    head = view.table.horizontalHeader()
    for column, keys in ((1, Qt.KeyboardModifier.NoModifier), (3, Qt.KeyboardModifier.ControlModifier)):
        at = head.sectionViewportPosition(column) + 20
        qtbot.mouseClick(
            head.viewport(), Qt.MouseButton.LeftButton, keys, head.rect().center().__class__(at, 10)
        )
    assert view.pair.arms == (view.model.arm(1), view.model.arm(3)) and view.pair.isVisible()


def test_a_result_that_grows_is_torn_from_the_result_that_is_read(opened, qtbot, suite, tmp_path):
    gate = threading.Event()
    window = opened(lambda _name, **_options: Held(gate))
    set_up(qtbot, window, suite)
    window.eval_page.setup.go.click()
    qtbot.waitUntil(lambda: bool(window.evaluate.evaluations.progress.now))
    view = open_it_while_busy(qtbot, window, made_result(tmp_path / "other"))
    before, rows = view.model.result, view.model.rowCount()
    gate.set()
    ended(qtbot, window)
    assert view.model.rowCount() == rows
    assert view.model.result is before, "the result that ended meanwhile does not take its place"


def open_it_while_busy(qtbot, window, path):
    window.evaluate.open_result(path)
    qtbot.waitUntil(lambda: window.evaluate.shown.result.path == path)
    return window.eval_page.result


def test_the_report_is_not_opened_or_not_made(opened, qtbot, monkeypatch, suite):
    shown = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url) or True)
    window = opened()
    set_up(qtbot, window, suite)
    window.eval_page.setup.go.click()
    ended(qtbot, window)
    report = window.evaluate.shown.result.path / "report.html"
    report.unlink()
    window.eval_page.report_button.click()
    ended(qtbot, window)
    assert shown == [QUrl.fromLocalFile(str(report))] and report.is_file()


def test_ten_thousand_samples_are_rows_at_once(opened, qtbot, tmp_path):
    window = opened()
    view = open_it(qtbot, window, made_result(tmp_path, scenarios=100, trials=25))
    assert len(window.evaluate.shown.result.samples) == 10_000
    assert view.model.rowCount() == 6, "all, the suite and its four groups"
    view.table.choose(0, 0)
    assert view.runs_model.total == 2500 and view.runs_model.rowCount() <= 2 * PORTION
    view.runs.scrollToBottom()
    qtbot.waitUntil(lambda: view.runs_model.rowCount() > PORTION)


# -- bad input ---------------------------------------------------------------------------------------------------


def test_a_folder_that_is_no_result_is_not_told(opened, qtbot, tmp_path):
    window = opened()
    window.evaluate.open_result(tmp_path)
    ended(qtbot, window)
    words = told(window)
    assert str(tmp_path) in words and "Traceback" not in words
    assert window.eval_page.title.text() == ""


def test_a_result_of_a_newer_version_is_read_wrongly(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "glyphscope_eval": 99}))
    window = opened()
    window.evaluate.open_result(path)
    ended(qtbot, window)
    assert "version 99" in told(window)


def test_a_torn_last_line_hides_the_other_samples(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    data = (path / "samples.jsonl").read_bytes()
    (path / "samples.jsonl").write_bytes(data[:-40])
    window = opened()
    open_it(qtbot, window, path)
    assert len(window.evaluate.shown.result.samples) == 95
    assert "torn" in window.eval_page.notice.label.text()


def test_a_damaged_line_is_not_told_by_its_number(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    lines = (path / "samples.jsonl").read_bytes().split(b"\n")
    lines[6] = lines[6][:30]
    (path / "samples.jsonl").write_bytes(b"\n".join(lines))
    window = opened()
    window.evaluate.open_result(path)
    ended(qtbot, window)
    assert "Line 7" in told(window)


def test_a_result_that_another_process_writes_is_held_up_or_not_told(opened, qtbot, tmp_path):
    path = made_result(tmp_path, finished="")
    window = opened()
    with open(path / "samples.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        open_it(qtbot, window, path)
        assert "Another evaluation is writing" in window.eval_page.notice.label.text()
        assert not window.eval_page.go_on.isVisible()
    open_it(qtbot, window, path)
    assert window.eval_page.go_on.isVisible()


def test_a_missing_record_is_a_dead_end(opened, qtbot, tmp_path):
    path = recorded_result(tmp_path)
    for record in path.glob("runs/**/*.jsonl"):
        record.unlink()
    window = opened()
    view = open_it(qtbot, window, path)
    view.runs.opened.emit(view.runs_model.sample(0))
    ended(qtbot, window)
    assert ".jsonl" in told(window) and window.pages.current == EVALUATE
    view.pair.pairChosen.emit(view.pairs_model.pair(0))
    ended(qtbot, window)
    assert ".jsonl" in told(window)


def test_a_changed_suite_is_gone_on_with(opened, qtbot, tmp_path):
    window = opened()
    open_it(qtbot, window, made_result(tmp_path, finished=""))
    window.eval_page.go_on.click()
    ended(qtbot, window)
    assert "made.json" in told(window)


def test_a_list_with_a_broken_result_opens_none(opened, qtbot):
    made_result(places().results)
    broken = made_result(places().results)
    (broken / "manifest.json").write_text("{")
    window = opened()
    results = window.eval_page.setup.results
    rows = [results.model().index(row, 0).data() for row in range(2)]
    assert any(broken.name in row for row in rows)
    window.evaluate._open_row(next(n for n, row in enumerate(rows) if broken.name not in row))
    ended(qtbot, window)
    assert window.evaluate.shown.result is not None


# -- for everybody -----------------------------------------------------------------------------------------------


def test_something_on_the_page_has_no_name_or_no_keys(opened, qtbot, tmp_path):
    window = opened(size=(1024, 700))
    open_it(qtbot, window, made_result(tmp_path))
    page = window.eval_page
    for kind in (QPushButton, QCheckBox, QComboBox, QAbstractSpinBox):
        for widget in page.findChildren(kind):
            if widget.parent() is page.notice:
                continue  # without words while there is nothing to do about it
            if widget.property("segment"):
                continue  # of a group, Tab goes to the one that was used last
            assert widget.accessibleName() or getattr(widget, "text", str)(), widget.objectName()
            assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
    names = "evalPage evalTable evalRunButton evalPauseButton evalStopButton evalSuites evalArms evalProgress"
    for name in f"{names} evalFailures evalRuns evalCompare".split():
        found = page if name == "evalPage" else page.findChild(object, name)
        assert found is not None, name
        assert found.accessibleName() or isinstance(found, QPushButton), name
    assert page.findChild(QLineEdit) is not None


def test_the_page_is_wider_than_the_smallest_window(opened, qtbot, tmp_path):
    window = opened(size=(1024, 700))
    open_it(qtbot, window, made_result(tmp_path))
    assert window.width() == 1024 and window.height() == 700
    assert window.eval_page.minimumSizeHint().width() <= 988
    window.eval_page.show_view(SETUP)
    assert window.eval_page.minimumSizeHint().height() <= 590


def test_ctrl_4_does_not_show_the_page(opened, qtbot):
    window = opened()
    window.pages.show("playground")
    assert window.rail.actions_[EVALUATE].shortcut().toString() == "Ctrl+4"
    window.rail.actions_[EVALUATE].trigger()
    assert window.pages.current == EVALUATE
