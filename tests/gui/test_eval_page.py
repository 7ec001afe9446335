"""The Evaluate page by itself, with scripted models and hand-made results, good ones and bad ones."""

from __future__ import annotations

import fcntl
import json
import threading

import pytest
from PySide6.QtCore import QMimeData, QPoint, QRegularExpression, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPushButton,
    QWidget,
)

from evaluating import (
    SUITE,
    Gated,
    ended,
    good,
    open_it,
    open_it_while_busy,
    open_wrong_run,
    set_up,
    shown_error,
)
from glyphscope.base.errors import ModelError
from glyphscope.evals.results import ResultFolder
from glyphscope.models import ScriptedModel
from glyphscope.store import places
from glyphscope_gui.evaluate import PORTION, RESULT, SETUP, EvalPhase
from glyphscope_gui.history.model import when
from glyphscope_gui.model_picker import EndpointDialog
from glyphscope_gui.runs import TokenPlace
from glyphscope_gui.shared.page_ids import PageId
from made_results import GOOD, TOO_MANY, made_result, recorded_result, result_with_controls

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(open_page, qtbot):
    """Make the page with all its initial data read."""

    def build(opener=good, **options):
        page = open_page(PageId.EVALUATE, opener, **options)
        ended(qtbot, page)
        return page

    return build


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SUITE))
    return path


def test_a_page_that_is_left_while_it_is_made_is_made_once(open_page, qtbot):
    page = open_page(PageId.EVALUATE)
    navigator = page.context.navigator
    for shown in (PageId.PLAYGROUND, PageId.EVALUATE):
        navigator.show(shown)
    ended(qtbot, page)
    assert page.view.findChildren(QWidget, "evalSetup") == [page.view.setup]
    assert page.view.suites_model.ticked


def test_a_served_model_can_be_an_arm_beside_the_open_one(opened, qtbot, suite):
    page = opened()
    view = page.view
    set_up(qtbot, page, suite)
    view.setup.add_endpoint.click()
    dialog = page.context.window.findChild(EndpointDialog)
    dialog.address_edit.setText("http://127.0.0.1:8080/v1#served")
    dialog.open_button.click()
    assert view.setup.matrix().models[-1] == "http://127.0.0.1:8080/v1#served"
    qtbot.waitUntil(lambda: "2 arms" in view.setup.cost.text())
    view.setup.start.click()
    ended(qtbot, page)
    arms = {sample.arm for sample in ResultFolder.open(page.result_presenter.result.path).samples()}
    assert len(arms) == 2


def test_the_first_evaluation_is_the_starter_suite_without_a_constraint_and_under_the_mask(opened, qtbot):
    page = opened()
    setup = page.view.setup
    qtbot.waitUntil(setup.start.isEnabled)
    assert setup.matrix().suites == ("starter",) and setup.matrix().constraints == ("off", "mask")
    assert "2 arms × 12 scenarios × 1 trial = 24 samples" in setup.cost.text()
    assert setup.scenarios.model.rowCount() == 12
    assert "Search for AI news" in setup.scenarios.model.index(0, 0).data()


def test_scenarios_are_filtered_by_words_and_cut_to_the_first_ones(opened, qtbot):
    page = opened()
    setup = page.view.setup
    qtbot.keyClicks(setup.scenarios.search, "search")
    qtbot.waitUntil(lambda: "= 8 samples" in setup.cost.text())
    setup.scenarios.first.setValue(1)
    qtbot.waitUntil(lambda: "= 2 samples" in setup.cost.text())
    assert setup.scenarios.model.rowCount() == 1
    setup.scenarios.search.setText("no such words")
    qtbot.waitUntil(lambda: "No scenario matches" in setup.problem.text())
    assert not setup.scenarios.model.rowCount() and not setup.start.isEnabled()


def test_all_tables_and_charts_of_a_result_with_controls_use_the_same_samples(opened, qtbot, tmp_path):
    """The population is named above them."""
    page = opened()
    page.open_result(result_with_controls(tmp_path))
    ended(qtbot, page)
    page.view.show_view(RESULT)
    view, result = page.view.result, page.result_presenter.result
    for place in range(view.tabs.count()):
        view.tabs.setCurrentIndex(place)
        qtbot.wait(1)
    assert view.population.text() == "12 scenarios, without 3 controls"
    top = result.rows()[0]
    cells = [result.figure(top, arm, "ok") for arm in result.arms]
    assert {cell.of for cell in cells} == {12}
    wrong = sum(cell.of - cell.correct for cell in cells)
    failures = view.failures_model
    counts = [int(failures.index(row, 1).data()) for row in range(failures.rowCount())]
    assert sum(counts) == wrong and f"{wrong} of 48 failed" in failures.headerData(
        0, Qt.Orientation.Horizontal
    )
    _head, *shares = view.charts.success.table()
    assert [(row[1], row[2]) for row in shares] == [(cell.correct, cell.of) for cell in cells]
    assert view.pair.counted.text().startswith("12 pairs ")


def test_progress_is_shown_from_the_first_token(opened, qtbot, suite):
    gate = threading.Event()

    class PausedAfterOneToken(ScriptedModel):
        def generate(self, request):
            for number, output in enumerate(super().generate(request)):
                if number > 2:
                    gate.wait(10)
                yield output

    page = opened(lambda _name, **_options: PausedAfterOneToken(GOOD))
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    qtbot.waitUntil(lambda: "token" in page.view.progress.now.text())
    assert page.evaluations.progress.done == 0 and "{" in page.view.progress.now.text()
    assert "no model was loaded" not in page.view.result.provenance.text()
    gate.set()
    ended(qtbot, page)


# -- setting up and resuming -----------------------------------------------------------------------------------------


def test_an_evaluation_makes_the_samples_it_announced(opened, qtbot, suite):
    page = opened()
    view = page.view
    set_up(qtbot, page, suite, constraints=("off", "mask"))
    assert "2 arms × 2 scenarios × 2 trials = 8 samples" in view.setup.cost.text()
    assert "unknown until the first samples are done" in view.setup.cost.text()
    view.setup.start.click()
    ended(qtbot, page)
    assert view.views.value == RESULT
    folder = ResultFolder.open(page.result_presenter.result.path)
    assert view.title.text() == f"{when(folder.manifest.started)}  ·  {folder.manifest.suites[0].name}"
    assert folder.path.parent == places().results and len(folder.samples()) == 8
    assert (folder.path / "report.html").is_file() and (folder.path / "summary.json").is_file()
    model = view.result.model
    assert model.index(0, 0).data() == "100%" and model.columnCount() == 2
    assert "n = 8" in view.result.provenance.text()
    assert view.progress.isHidden() and not view.resume_button.isVisible()
    view.show_view(SETUP)
    assert view.setup.results.model().rowCount() == 1
    assert "based on the last result" in view.setup.cost.text()


def test_a_model_that_cannot_be_opened_is_skipped_and_the_other_arms_run(opened, qtbot, suite):
    def opener(name, **_options):
        if "broken" in name:
            raise ModelError("This file is no model.", where=name)
        return ScriptedModel(GOOD)

    page = opened(opener)
    set_up(qtbot, page, suite, models=("broken.gguf", "good.gguf"))
    page.view.setup.start.click()
    ended(qtbot, page)
    outcome = page.result_presenter.result
    assert len(outcome.samples) == 4 and len(outcome.manifest.missing) == 1
    assert "was skipped" in page.view.notice.label.text()
    assert "This file is no model." in page.view.notice.label.text()
    assert page.view.result.model.index(0, 0).data() == "–"


def test_an_evaluation_can_be_paused_stopped_and_resumed(opened, qtbot, suite):
    gate = threading.Event()
    page = opened(lambda _name, **_options: Gated(gate))
    view, evaluations = page.view, page.evaluations
    set_up(qtbot, page, suite, trials=3)
    view.setup.start.click()
    qtbot.waitUntil(lambda: bool(evaluations.progress.now))
    assert view.progress.isVisible() and "first · trial 1: reading the prompt" in view.progress.now.text()
    qtbot.waitUntil(lambda: "scripted" in view.result.provenance.text())  # while its samples are produced
    assert "of 6 samples" in view.progress.words.text()
    view.progress.pause_button.click()
    assert evaluations.phase is EvalPhase.PAUSED and view.progress.pause_button.text() == "Resume"
    gate.set()
    qtbot.waitUntil(lambda: evaluations.progress.done == 1)
    qtbot.wait(150)
    assert evaluations.progress.done == 1, "no sample starts while it is paused"
    gate.clear()
    view.progress.pause_button.click()
    qtbot.waitUntil(lambda: bool(evaluations.progress.now))
    view.progress.stop_button.click()
    ended(qtbot, page)
    folder = page.result_presenter.result.path
    assert len(ResultFolder.open(folder).samples()) == 1
    assert view.resume_button.isVisible() and "Incomplete" in view.notice.label.text()
    gate.set()
    view.resume_button.click()
    qtbot.waitUntil(lambda: evaluations.is_busy)
    ended(qtbot, page)
    again = ResultFolder.open(folder)
    assert len(again.samples()) == 6 and again.manifest.finished
    assert page.result_presenter.result.path == folder and not view.resume_button.isVisible()


def test_closing_the_window_ends_an_evaluation_and_keeps_its_samples(opened, qtbot, suite):
    gate = threading.Event()
    page = opened(lambda _name, **_options: Gated(gate))
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    gate.set()
    qtbot.waitUntil(lambda: page.evaluations.progress.done >= 1)
    gate.clear()
    page.close()
    (row,) = places().results.iterdir()
    assert len(ResultFolder.open(row).samples()) >= 1


def test_a_setup_without_arms_cannot_be_started(opened, qtbot, suite):
    page = opened()
    setup = page.view.setup
    set_up(qtbot, page, suite)
    setup.axes.box("notations", "glyph").click()
    qtbot.waitUntil(lambda: "Select at least one value of “Notation”." in setup.problem.text())
    assert not setup.start.isEnabled()
    questions = page.view.findChildren(QPushButton, QRegularExpression("^evalQuestion-"))
    for question in questions:
        question.click()
        qtbot.waitUntil(setup.start.isEnabled)
        assert int(setup.cost.text().split(" arms")[0]) >= 2
    qtbot.waitUntil(lambda: "3 arms" in setup.cost.text())  # of the last one


def test_an_evaluation_that_ends_on_another_page_is_shown_in_the_status_line(opened, qtbot, suite):
    page = opened()
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    page.context.navigator.show(PageId.PLAYGROUND)
    ended(qtbot, page)
    assert page.context.navigator.current is PageId.PLAYGROUND
    assert "Evaluate page (Ctrl+4)" in page.context.status.notes[-1]


def test_an_evaluation_that_ends_leaves_the_setup_in_sight(opened, qtbot, suite):
    gate = threading.Event()
    page = opened(lambda _name, **_options: Gated(gate))
    view = page.view
    set_up(qtbot, page, suite)
    view.setup.start.click()
    qtbot.waitUntil(lambda: bool(page.evaluations.progress.now))
    view.show_view(SETUP)
    view.setup.numbers["trials"].setFocus()
    gate.set()
    ended(qtbot, page)
    assert view.views.value == SETUP and view.setup.numbers["trials"].hasFocus()
    assert view.result.model.index(0, 0).data() == "100%" and page.result_presenter.result.summary is not None


def test_a_result_that_is_read_again_keeps_its_groups_and_its_cell(opened, qtbot, tmp_path):
    page = opened()
    path = made_result(tmp_path, scenarios=100, trials=1)
    result = open_it(qtbot, page, path)
    group = next(place for place in range(result.model.rowCount()) if result.model.row(place).kind == "group")
    result.table.toggle(group)
    result.table.choose(group + 3, 1)
    row, rows = result.model.row(group + 3), result.model.rowCount()
    assert row.kind == "scenario"
    result = open_it(qtbot, page, path)
    assert result.model.rowCount() == rows
    now = result.table.currentIndex()
    assert (result.model.row(now.row()), now.column()) == (row, 1)
    assert row.name in result.runs_card.heading.hint.text()


def test_results_that_cannot_be_written_are_reported_and_the_page_stays_usable(opened, qtbot, suite):
    places().results.parent.mkdir(parents=True, exist_ok=True)
    places().results.write_text("a file")
    page = opened()
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    ended(qtbot, page)
    assert "a file, not a folder" in shown_error(page)
    assert page.evaluations.phase is EvalPhase.IDLE and page.view.setup.start.isEnabled()


def test_dropped_files_are_added_to_their_list(opened, qtbot, suite):
    page = opened()
    setup = page.view.setup
    for part, path in ((setup.suites, suite), (setup.models, suite.parent / "mine.gguf")):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile(str(suite.parent / "note.txt"))])
        at, copy, left = QPoint(5, 5), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        entered = QDragEnterEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier)
        part.dragEnterEvent(entered)
        assert entered.isAccepted()
        part.dropEvent(QDropEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier))
        qtbot.waitUntil(lambda: str(path) in part.model().ticked)  # noqa: B023 - waited for at once
    assert not any("note.txt" in value for value in page.view.suites_model.values)


def test_a_suite_with_errors_is_reported_with_their_place(opened, qtbot, tmp_path):
    page = opened()
    path = tmp_path / "bad.json"
    path.write_text('{"glyphscope_suite": 1, "name": "bad", "about": "", "scenarios": [{"id": 3}]}')
    page._add_suites([path])
    qtbot.waitUntil(lambda: str(path) in page.view.suites_model.values)
    assert str(path) not in page.view.suites_model.ticked
    words = page.view.notice.label.text()
    assert "bad.json" in words and "/scenarios/0" in words


# -- results -----------------------------------------------------------------------------------------------------


def test_a_cell_leads_to_its_runs(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, made_result(tmp_path))
    model = result.model
    result.table.choose(1, 1)
    figure = model.result.figure(model.row(1), model.arm(1), "ok")
    assert len(result.runs_model.rows) == figure.n == 24
    assert f"24 of made, {model.label(model.arm(1))}" in result.runs_card.heading.hint.text()
    assert not result.runs_model.rows[0].ok, "failed samples come first"
    qtbot.keyClick(result.table, Qt.Key.Key_Return)
    assert result.runs.hasFocus() or QApplication.focusWidget() is result.runs
    result.measure.setCurrentIndex(result.measure.findData("decoded"))
    assert "%" not in model.index(1, 1).data()
    index = result.failures_model.index(0, 0)
    result.failures.expand(index)
    words = result.failures_model.words(index)
    page.result_presenter._show_failures()
    index = result.failures_model.index(0, 0)
    assert result.failures_model.words(index) == words and result.failures.isExpanded(index)
    result.failures.clicked.emit(index)
    assert len(result.runs_model.rows) == len(result.failures_model.samples(index))


def test_a_run_is_shown_on_the_playground_with_its_bad_token(opened, qtbot, tmp_path):
    page = opened()
    shown, focused = [], []
    page.context.runs.ended.connect(shown.append)
    page.context.actions.focus_tokens.triggered.connect(lambda _on: focused.append(True))
    result = open_it(qtbot, page, recorded_result(tmp_path))
    open_wrong_run(qtbot, result)
    qtbot.waitUntil(lambda: bool(shown))
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)] and focused
    (record,) = shown
    assert record.kind == "replay" and record.run.text.startswith(TOO_MANY[:40])
    assert record.at == TokenPlace(0, record.run.aborted.token)


def test_a_run_that_was_opened_from_a_cell_leads_back_to_it(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, recorded_result(tmp_path))
    open_wrong_run(qtbot, result)
    qtbot.waitUntil(lambda: bool(page.context.offers))
    words, button, back = page.context.offers[-1]
    assert "Recorded run of an evaluation" in words and button == "Back to the result"
    back()
    assert page.context.navigator.current is PageId.EVALUATE
    assert page.view.views.value == RESULT and result.runs.hasFocus()
    assert result.runs.currentIndex().row() == 0


def test_a_correct_run_is_shown_without_a_token(opened, qtbot, tmp_path):
    page = opened()
    shown, focused = [], []
    page.context.runs.ended.connect(shown.append)
    page.context.actions.focus_tokens.triggered.connect(lambda _on: focused.append(True))
    result = open_it(qtbot, page, recorded_result(tmp_path))
    result.table.choose(0, 0)
    result.runs.openRequested.emit(result.runs_model.rows[0])
    qtbot.waitUntil(lambda: bool(shown))
    assert result.runs_model.rows[0].ok and shown[0].at is None
    assert page.context.navigator.current is PageId.PLAYGROUND and focused


def test_two_arms_are_aligned_by_field(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, recorded_result(tmp_path))
    result.tabs.setCurrentWidget(result.pair)
    assert "In 1, only one is correct" in result.pair.counted.text()
    result.pair.table.setCurrentIndex(result.pairs_model.index(0, 0))
    ended(qtbot, page)
    assert result.pair.aligned.isVisible()
    assert "max_results" in result.pair.words.text()
    result.pair.choose_arms(result.pair.arms[0], result.pair.arms[0])
    assert "two different arms" in result.pair.counted.text()


def test_a_chart_is_saved_and_shows_only_what_was_measured(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, made_result(tmp_path))
    result.tabs.setCurrentWidget(result.charts)
    charts = result.charts
    first = page.result_presenter.result.summary.arms[0]
    row = charts.success.table()[1]
    assert row[1:4] == (first.tools.ok.correct, first.tools.ok.n, first.tools.ok.share)
    for name, chart in (("a.csv", charts.success), ("a.png", charts.sizes), ("a.svg", charts.savings)):
        chart.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    assert charts.savings.isVisible()
    open_it(qtbot, page, recorded_result(tmp_path))
    assert not charts.savings.isVisible(), "no abort was continued, so nothing is known to be saved"


def test_two_selected_columns_are_compared(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, made_result(tmp_path))
    head = result.table.horizontalHeader()
    for column, keys in ((1, Qt.KeyboardModifier.NoModifier), (3, Qt.KeyboardModifier.ControlModifier)):
        at = head.sectionViewportPosition(column) + 20
        qtbot.mouseClick(
            head.viewport(), Qt.MouseButton.LeftButton, keys, head.rect().center().__class__(at, 10)
        )
    assert result.pair.arms == (result.model.arm(1), result.model.arm(3)) and result.pair.isVisible()


def test_a_running_evaluation_leaves_the_shown_result(opened, qtbot, suite, tmp_path):
    gate = threading.Event()
    page = opened(lambda _name, **_options: Gated(gate))
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    qtbot.waitUntil(lambda: bool(page.evaluations.progress.now))
    result = open_it_while_busy(qtbot, page, made_result(tmp_path / "other"))
    before, rows = result.model.result, result.model.rowCount()
    gate.set()
    ended(qtbot, page)
    assert result.model.rowCount() == rows
    assert result.model.result is before, "the result that ended meanwhile does not replace it"


def test_the_report_is_made_and_opened(opened, qtbot, monkeypatch, suite):
    shown = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url) or True)
    page = opened()
    set_up(qtbot, page, suite)
    page.view.setup.start.click()
    ended(qtbot, page)
    report = page.result_presenter.result.path / "report.html"
    report.unlink()
    page.view.report_button.click()
    ended(qtbot, page)
    assert shown == [QUrl.fromLocalFile(str(report))] and report.is_file()


def test_ten_thousand_samples_are_listed_in_portions(opened, qtbot, tmp_path):
    page = opened()
    result = open_it(qtbot, page, made_result(tmp_path, scenarios=100, trials=25))
    assert len(page.result_presenter.result.samples) == 10_000
    assert result.model.rowCount() == 6, "all, the suite and its four groups"
    result.table.choose(0, 0)
    assert len(result.runs_model.rows) == 2500 and result.runs_model.rowCount() <= 2 * PORTION
    result.runs.scrollToBottom()
    qtbot.waitUntil(lambda: result.runs_model.rowCount() > PORTION)


# -- bad input ---------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_a_result_is_reported(opened, qtbot, tmp_path):
    page = opened()
    page.open_result(tmp_path)
    ended(qtbot, page)
    words = shown_error(page)
    assert str(tmp_path) in words and "Traceback" not in words
    assert page.view.title.text() == ""


def test_a_result_of_a_newer_version_is_rejected(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "glyphscope_eval": 99}))
    page = opened()
    page.open_result(path)
    ended(qtbot, page)
    assert "version 99" in shown_error(page)


def test_an_incomplete_last_line_leaves_the_other_samples(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    data = (path / "samples.jsonl").read_bytes()
    (path / "samples.jsonl").write_bytes(data[:-40])
    page = opened()
    open_it(qtbot, page, path)
    assert len(page.result_presenter.result.samples) == 95
    assert "Resume" in page.view.notice.label.text()


def test_a_damaged_line_is_reported_with_its_number(opened, qtbot, tmp_path):
    path = made_result(tmp_path)
    lines = (path / "samples.jsonl").read_bytes().split(b"\n")
    lines[6] = lines[6][:30]
    (path / "samples.jsonl").write_bytes(b"\n".join(lines))
    page = opened()
    page.open_result(path)
    ended(qtbot, page)
    assert "Line 7" in shown_error(page)


def test_a_result_that_another_process_writes_is_shown_and_cannot_be_resumed(opened, qtbot, tmp_path):
    path = made_result(tmp_path, finished="")
    page = opened()
    with open(path / "samples.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        open_it(qtbot, page, path)
        assert "Another evaluation is writing" in page.view.notice.label.text()
        assert not page.view.resume_button.isVisible()
    open_it(qtbot, page, path)
    assert page.view.resume_button.isVisible()


def test_a_missing_record_is_reported_and_the_page_stays(opened, qtbot, tmp_path):
    path = recorded_result(tmp_path)
    for record in path.glob("runs/**/*.jsonl"):
        record.unlink()
    page = opened()
    result = open_it(qtbot, page, path)
    result.runs.openRequested.emit(result.runs_model.rows[0])
    ended(qtbot, page)
    assert ".jsonl" in shown_error(page) and page.context.navigator.current is PageId.EVALUATE
    result.pair.pairChosen.emit(result.pairs_model.rows[0])
    ended(qtbot, page)
    assert ".jsonl" in shown_error(page)


def test_an_evaluation_of_a_changed_suite_is_not_resumed(opened, qtbot, tmp_path):
    page = opened()
    open_it(qtbot, page, made_result(tmp_path, finished=""))
    page.view.resume_button.click()
    ended(qtbot, page)
    assert "made.json" in shown_error(page)


def test_a_list_with_a_damaged_result_opens_the_others(opened, qtbot):
    made_result(places().results)
    broken = made_result(places().results)
    (broken / "manifest.json").write_text("{")
    page = opened()
    results = page.view.setup.results
    rows = [results.model().index(row, 0).data() for row in range(2)]
    assert any(broken.name in row for row in rows)
    whole = next(n for n, row in enumerate(rows) if broken.name not in row)
    results.activated.emit(results.model().index(whole, 0))
    ended(qtbot, page)
    assert page.result_presenter.result is not None


# -- for everybody -----------------------------------------------------------------------------------------------


def test_everything_on_the_page_has_a_name_and_can_be_reached_by_keyboard(opened, qtbot, tmp_path):
    page = opened(size=(1024, 700))
    open_it(qtbot, page, made_result(tmp_path))
    view = page.view
    for kind in (QPushButton, QCheckBox, QComboBox, QAbstractSpinBox):
        for widget in view.findChildren(kind):
            if widget.parent() is view.notice:
                continue  # without text while there is nothing to do about it
            if widget.property("segment"):
                continue  # Tab reaches the last used button of a group
            assert widget.accessibleName() or getattr(widget, "text", str)(), widget.objectName()
            assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
    names = "evalPage evalTable evalRunButton evalPauseButton evalStopButton evalSuites evalArms evalProgress"
    for name in f"{names} evalFailures evalRuns evalCompare".split():
        found = view if name == "evalPage" else view.findChild(object, name)
        assert found is not None, name
        assert found.accessibleName() or isinstance(found, QPushButton), name
    assert view.findChild(QLineEdit) is not None
