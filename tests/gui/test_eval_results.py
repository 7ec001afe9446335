"""Results on the Evaluate page: tables, runs, charts, two of them, and damaged ones."""

from __future__ import annotations

import fcntl
import json
import shutil
import threading

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt

from evaluating import ALIGNED, FAILURES, PAIRS, RUNS, TABLE, evaluate_page
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import SampleFailure
from glyphscope.evals.suites.suite import SuiteUsed
from glyphscope.store import places
from glyphscope_gui.evaluate import EvalResult
from glyphscope_gui.evaluate.table import PORTION
from glyphscope_gui.runs import TokenPlace
from glyphscope_gui.shared.page_ids import PageId
from made_results import TOO_MANY, made_result, recorded_result, result_with_controls

pytestmark = pytest.mark.slow
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def opened(open_page, qtbot):
    """Make the page with all its initial data read; gives what is on the screen."""
    return lambda: evaluate_page(open_page, qtbot)[1]


def changed(path, change):
    """Change the lines of a result's samples."""
    lines = [json.loads(line) for line in (path / "samples.jsonl").read_text().splitlines()]
    change(lines)
    (path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_all_tables_and_charts_of_a_result_with_controls_use_the_same_samples(opened, tmp_path):
    """The population is named above them."""
    screen = opened()
    screen.open(result_with_controls(tmp_path))
    for tab in ("Summary", "Charts", "Pairs", "Failures"):
        screen.press(tab)
    assert "12 scenarios, without 3 controls" in screen
    result = screen.page.result_presenter.result
    top = result.rows()[0]
    cells = [result.figure(top, arm, "ok") for arm in result.arms]
    assert {cell.of for cell in cells} == {12}
    wrong = sum(cell.of - cell.correct for cell in cells)
    assert sum(int(count) for _reason, count, *_ in screen.rows(FAILURES)) == wrong
    head = screen.find(FAILURES).model().headerData(0, Qt.Orientation.Horizontal)
    assert f"{wrong} of 48 failed" in head
    screen.press("Charts")
    _head, *shares = screen.find("Success of each configuration with its 95% interval").table()
    assert [(row[1], row[2]) for row in shares] == [(cell.correct, cell.of) for cell in cells]
    screen.press("Pairs")
    screen.until("12 pairs with the same scenario, trial and seed")


def test_a_cell_and_a_reason_lead_to_their_runs(opened, qtbot, tmp_path):
    screen = opened()
    screen.open(made_result(tmp_path))
    screen.cell(1, 1)
    runs = screen.rows(RUNS)
    assert len(runs) == 24 and "24 of made, GLYPH · mask" in screen
    verdicts = [row[3] for row in runs]
    assert "✕ incorrect" in verdicts and verdicts == sorted(verdicts, key="✕ incorrect".__ne__), "wrong first"
    screen.key(TABLE, "Return")
    qtbot.waitUntil(screen.find(RUNS).hasFocus)
    screen.choose("Measure shown in the cells", "Tokens decoded")
    screen.ended()
    assert "%" not in screen.rows(TABLE)[1][2]
    failures = screen.find(FAILURES)
    failures.expand(failures.model().index(0, 0))
    first = failures.model().index(0, 0)
    failures.clicked.emit(first)
    assert f"{screen.rows(FAILURES)[0][1]} of {failures.model().words(first)}" in screen
    screen.open(newest_of(tmp_path))
    assert failures.isExpanded(failures.model().index(0, 0)), "an open reason stays open"


def newest_of(folder):
    return next(folder.iterdir())


def test_a_result_that_is_read_again_keeps_its_groups_and_its_cell(opened, tmp_path):
    screen = opened()
    path = made_result(tmp_path, scenarios=100, trials=1)
    screen.open(path)
    names = [row[0] for row in screen.rows(TABLE)]
    assert len(names) == 6, "all, the suite and its four groups: of many scenarios they begin collapsed"
    screen.cell(names.index("browse"), 1)
    screen.key(TABLE, "Space")
    rows = len(screen.rows(TABLE))
    screen.cell(names.index("browse") + 3, 1)
    name = screen.rows(TABLE)[names.index("browse") + 3][0]
    screen.open(path)
    now = screen.find(TABLE).currentIndex()
    assert len(screen.rows(TABLE)) == rows > 6
    assert (screen.rows(TABLE)[now.row()][0], now.column()) == (name, 1) and f"1 of {name}" in screen


def test_a_run_is_shown_on_the_playground_with_its_bad_token_and_leads_back(opened, qtbot, tmp_path):
    screen = opened()
    context, shown, focused = screen.page.context, [], []
    context.runs.ended.connect(shown.append)
    context.actions.focus_tokens.triggered.connect(lambda _on: focused.append(True))
    screen.open(recorded_result(tmp_path))
    screen.open_wrong_run()
    qtbot.waitUntil(lambda: bool(context.offers))
    assert context.navigator.visits == [(PageId.PLAYGROUND, None)] and focused
    (record,) = shown
    assert record.kind == "replay" and record.run.text.startswith(TOO_MANY[:40])
    assert record.at == TokenPlace(0, record.run.aborted.token)
    words, button, back = context.offers[-1]
    assert "Recorded run of an evaluation" in words and button == "Back to the result"
    back()
    assert context.navigator.current is PageId.EVALUATE and screen.find(RUNS).hasFocus()
    assert screen.find(RUNS).currentIndex().row() == 0
    screen.cell(0, 0)
    screen.choose(RUNS, "✓ correct")
    screen.key(RUNS, "Return")
    qtbot.waitUntil(lambda: len(shown) == 2)
    assert shown[1].at is None and context.navigator.current is PageId.PLAYGROUND


def test_two_arms_are_compared_by_their_columns_and_aligned_by_field(opened, qtbot, tmp_path):
    screen = opened()
    screen.open(recorded_result(tmp_path))
    head = screen.find(TABLE).horizontalHeader()
    for column, keys in ((1, Qt.KeyboardModifier.NoModifier), (0, CONTROL)):
        at = QPoint(head.sectionViewportPosition(column) + 20, 10)
        qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, keys, at)
    screen.ended()
    chosen = {screen.read("First configuration"), screen.read("Second configuration")}
    assert chosen == {"GLYPH · no constraint", "GLYPH · mask"} and "In 1, only one is correct" in screen
    screen.find(PAIRS).setCurrentIndex(screen.find(PAIRS).model().index(0, 0))
    screen.ended()
    assert "max_results" in [row[1] for row in screen.rows(ALIGNED)]
    screen.choose("Second configuration", screen.read("First configuration"))
    assert "Choose two different configurations." in screen


def test_a_chart_is_saved_and_shows_only_what_was_measured(opened, tmp_path):
    screen = opened()
    screen.open(made_result(tmp_path))
    screen.press("Charts")
    success = screen.find("Success of each configuration with its 95% interval")
    first = screen.page.result_presenter.result.summary.arms[0].tools.ok
    assert success.table()[1][1:4] == (first.correct, first.n, first.share)
    for name, chart in (
        ("a.csv", success),
        ("a.png", screen.find("Tokens of each configuration")),
        ("a.svg", screen.find("Tokens saved by early aborts")),
    ):
        chart.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    screen.open(recorded_result(tmp_path))
    assert not screen.named("Tokens saved by early aborts"), "no abort was continued: nothing is known of it"


def test_ten_thousand_samples_are_listed_in_portions(opened, qtbot, tmp_path):
    screen = opened()
    screen.open(made_result(tmp_path, scenarios=100, trials=25))
    screen.cell(0, 0)
    runs = screen.find(RUNS)
    assert "2,500 of All scenarios" in screen and runs.model().rowCount() <= 2 * PORTION
    runs.scrollToBottom()
    qtbot.waitUntil(lambda: runs.model().rowCount() > PORTION)


def test_figures_by_another_measure_are_computed_in_the_background_also_while_a_result_grows(
    opened, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr("glyphscope_gui.evaluate.result.AT_ONCE", 1)
    screen = opened()
    screen.open(made_result(tmp_path))
    here, figure, computed = threading.current_thread(), EvalResult._figure, []

    def noted(self, row, arm, measure):
        computed.append((threading.current_thread() is here, row.kind))
        return figure(self, row, arm, measure)

    monkeypatch.setattr(EvalResult, "_figure", noted)
    screen.choose("Measure shown in the cells", "Tokens decoded")
    assert "%" in screen.rows(TABLE)[0][1], "not yet"
    screen.ended()
    assert "%" not in screen.rows(TABLE)[0][1]
    shown, model = screen.page.result_presenter, screen.find(TABLE).model()
    before = shown.result
    shown.grow(EvalResult(before.path, before.manifest, before.table))
    assert model.result is before
    qtbot.waitUntil(lambda: model.result is shown.result is not before)
    assert {kind for in_window, kind in computed if in_window} <= {"scenario"}


# -- two results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "rows", "said"),
    [
        (
            lambda lines: next(line for line in lines if line.get("ok")).update(
                ok=False, failures=[{"reason": "WRONG_TOOL"}]
            ),
            [["✕ regression", "✓ correct", "Wrong tool"]],
            "1 regression, 0 fixed",
        ),
        (
            lambda lines: lines[0].update(ok=not lines[0]["ok"], text=7),
            [["", "", "cannot be read"]],
            "",
        ),
        (lambda lines: None, None, "Every scenario has the same verdict in both results."),
    ],
    ids=["regression", "unreadable", "same"],
)  # fmt: skip
def test_a_result_is_compared_with_an_earlier_one(opened, qtbot, change, rows, said):
    made_result(places().results, scenarios=4, trials=1)
    after = changed(made_result(places().results, scenarios=4, trials=1), change)
    screen = opened()
    screen.open(after)
    screen.choose("Compare with…", "")
    dialog = screen.dialog()
    assert said in dialog
    if rows is None:
        assert not dialog.named("Changes, regressions first") and dialog.root.height() < 300, (
            "as high as its words"
        )
    else:
        found = [(row[0], row[3], row[4]) for row in dialog.rows("Changes, regressions first")]
        assert all(
            part in own for row, expected in zip(found, rows, strict=True) for own, part in zip(row, expected)
        )
        with qtbot.waitSignal(dialog.root.runRequested):
            dialog.key("Changes, regressions first", "Down", "Return")
    dialog.root.reject()
    screen.ended()


def test_a_result_without_another_one_of_its_suites_is_compared_with_none(opened, tmp_path):
    of_another = SuiteUsed(name="another", about="", digest="", scenarios=8)
    made_result(places().results, suites=(of_another,))
    screen = opened()
    screen.open(made_result(tmp_path))
    screen.find("Compare with…").menu().aboutToShow.emit()
    assert not screen.can("No other result has these suites")


def test_a_result_of_several_arms_is_exported_as_several_logs_of_inspect(opened, tmp_path):
    pytest.importorskip("inspect_ai")
    screen = opened()
    screen.open(made_result(tmp_path, scenarios=1, trials=1))
    screen.press("Export…")
    screen.pick_file(tmp_path / "logs" / "log.eval")
    screen.ended()
    assert "4 samples exported to 4 files" in screen
    assert len(list((tmp_path / "logs").iterdir())) == 4


def test_a_finished_result_with_samples_whose_process_was_ended_is_resumed(opened, tmp_path):
    path = made_result(tmp_path)
    screen = opened()
    screen.open(path)
    assert not screen.named("Resume")
    failure = SampleFailure(reason="MODEL_FAILED", detail="The model's process was ended by SIGKILL. SIGKILL")
    ended = {"ok": False, "outcome": "failed", "failures": [msgspec.to_builtins(failure)]}
    screen.open(changed(path, lambda lines: lines[1].update(ended)))
    assert screen.can("Resume") and "process was ended: 1 sample. Resume" in screen


# -- bad input -----------------------------------------------------------------------------------------------------


def damaged_line(path):
    lines = (path / "samples.jsonl").read_bytes().split(b"\n")
    lines[6] = lines[6][:30]
    (path / "samples.jsonl").write_bytes(b"\n".join(lines))


def of_newer_version(path):
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "glyphscope_eval": 99}))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: shutil.rmtree(path) or path.mkdir(), "Not an evaluation result"),
        (of_newer_version, "version 99"),
        (damaged_line, "Line 7"),
    ],
)
def test_a_folder_that_is_not_a_whole_result_is_reported(opened, tmp_path, damage, said):
    path = made_result(tmp_path)
    damage(path)
    screen = opened()
    screen.open(path)
    words = screen.error()
    assert said in words and str(path) in words and "Traceback" not in words
    assert "Export…" not in screen and f"Reading {path.name}…" not in screen


def test_an_incomplete_last_line_leaves_the_other_samples(opened, tmp_path):
    path = made_result(tmp_path)
    data = (path / "samples.jsonl").read_bytes()
    (path / "samples.jsonl").write_bytes(data[:-40])
    screen = opened()
    screen.open(path)
    assert "n = 95 of 96" in screen and "Resume" in screen


def test_a_result_that_another_process_writes_is_shown_and_cannot_be_resumed(opened, tmp_path):
    path = made_result(tmp_path, finished="")
    screen = opened()
    with open(path / "samples.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        screen.open(path)
        assert "Another evaluation is writing" in screen and not screen.named("Resume")
    screen.open(path)
    assert screen.can("Resume")
    screen.press("Resume")
    screen.ended()
    assert "made.json" in screen.error(), "the suite is not there any longer"


def test_a_missing_record_is_reported_and_the_page_stays(opened, tmp_path):
    path = recorded_result(tmp_path)
    for record in path.glob("runs/**/*.jsonl"):
        record.unlink()
    screen = opened()
    screen.open(path)
    screen.open_wrong_run()
    screen.ended()
    assert ".jsonl" in screen.error() and screen.page.context.navigator.current is PageId.EVALUATE
    screen.press("Pairs")
    screen.find(PAIRS).setCurrentIndex(screen.find(PAIRS).model().index(0, 0))
    screen.ended()
    assert ".jsonl" in screen.error()


def test_a_list_with_a_damaged_result_opens_the_others(opened):
    whole = made_result(places().results)
    broken = made_result(places().results)
    (broken / "manifest.json").write_text("{")
    screen = opened()
    rows = [row[0] for row in screen.rows("Earlier results")]
    place = next(n for n, words in enumerate(rows) if broken.name not in words)
    assert len(rows) == 2 and broken.name in rows[1 - place]
    results = screen.find("Earlier results")
    results.activated.emit(results.model().index(place, 0))
    screen.ended()
    assert "·  made" in screen and ResultFolder.open(whole)
