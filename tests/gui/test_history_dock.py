"""The history: found, opened, pinned, deleted and restored."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QStyle, QStyleOptionFrame

from bundled import BAD, GOOD, run_of
from glyphscope.base import resources
from glyphscope.base.errors import StorageError
from glyphscope.base.figures import pluralize
from glyphscope.evals.suites import load_suite
from glyphscope.events import (
    Aborted,
    CallReady,
    FinalAnswer,
    LimitReached,
    LoopSettings,
    ModelInfo,
    RepairSettings,
    RunFailed,
    RunRequest,
    RunStarted,
    Sampling,
    StageStarted,
    Token,
    ToolKnown,
    decode_event,
)
from glyphscope.runs import end_of, outcome_words, run_state, status_of
from glyphscope.store import History, kin_of
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports import run_page as pages
from glyphscope_gui.history import dock as history_dock
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.history.model import facts, sampled, when
from glyphscope_gui.history.presenter import HistoryPresenter, SuiteDialog
from glyphscope_gui.runs import bundled_run
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.run_words import opened_name
from glyphscope_gui.shared.verdict import VERDICTS
from glyphscope_gui.theme import ThemeManager
from made_runs import finished, loop_request, loop_run, parts_run
from page_text import PageText

SERIES = (
    Sampling(),
    Sampling(temperature=0.7),
    Sampling(temperature=0.7, seed=2),
    Sampling(temperature=0.7, seed=2, top_k=5),
)


def run(number, prompt, *, valid=True):
    started = RunStarted(
        run=f"run{number}",
        request=RunRequest(prompt=prompt, registry={}),
        model=ModelInfo(name="SmolLM2"),
        versions={},
        time=f"2026-11-21T08:0{number}:00+00:00",
    )
    end = finished("complete" if valid else "aborted", valid=valid, tokens=17)
    middle = [] if valid else [
        Aborted(code="CONSTRAINT_MAX", message="", path="", char=1, token=1, tokens_decoded=9)
    ]  # fmt: skip
    return [started, ToolKnown(name="search", allowed=True, char=3), *middle, end]


@pytest.fixture
def history(tmp_path):
    history = History(tmp_path / "history.sqlite3")
    for number, prompt in enumerate(("AI news", "Delete the database", "Weather")):
        history.add(run(number, prompt, valid=number != 1))
    return history


@pytest.fixture
def dock(history, qtbot):
    dock = HistoryDock(history)
    qtbot.addWidget(dock)
    dock.resize(280, 500)
    dock.show()
    qtbot.waitUntil(lambda: dock.model.rowCount() == 3)
    yield dock
    dock.shut_down()


def titles(dock):
    return [dock.model.index(row, 0).data() for row in range(dock.model.rowCount())]


def test_runs_are_listed_newest_first(dock):
    assert titles(dock) == ["Weather", "Delete the database", "AI news"]
    assert dock.list.accessibleName()
    spoken = dock.model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "stopped early: CONSTRAINT_MAX" in spoken and "search" in spoken and "17 tokens" in spoken


def test_runs_of_a_series_differ_in_their_rows_tips_and_accessible_texts(dock, history, qtbot):
    """One prompt in one minute: the sampling is what differs. At the default there is nothing to show."""
    history.clear(keep_pinned=False)
    for number, sampling in enumerate(SERIES):
        (started, *rest) = run(0, "AI news")
        request = msgspec.structs.replace(started.request, sampling=sampling)
        history.add([msgspec.structs.replace(started, run=f"s{number}", request=request), *rest])
    dock.refresh()
    qtbot.waitUntil(lambda: dock.model.rowCount() == len(SERIES))
    dock.resize(280, 1200)
    QApplication.processEvents()
    rows = [dock.model.index(row, 0) for row in range(len(SERIES))]
    for role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
        assert len({index.data(role) for index in rows}) == len(SERIES)
    places = [dock.list.visualRect(index) for index in rows]
    pictures = [dock.list.viewport().grab(place).toImage() for place in places]
    assert all(first != other for first, other in combinations(pictures, 2))
    assert [sampled(row, short=True) for row in dock.model.rows] == [
        "", "temp 0.7, seed 1", "temp 0.7, seed 2", "temp 0.7, seed 2, top-k 5"
    ]  # fmt: skip
    assert "temperature 0, " in rows[0].data(Qt.ItemDataRole.AccessibleTextRole)


def test_a_run_under_a_custom_grammar_says_so(dock, history, qtbot):
    (started, *rest) = run(0, "City")
    request = msgspec.structs.replace(started.request, constraint="mask", grammar='root ::= "x"')
    history.add([msgspec.structs.replace(started, run="own", request=request), *rest])
    dock.refresh()
    qtbot.waitUntil(lambda: dock.model.rowCount() == 4)
    spoken = [dock.model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(4)]
    assert sum("mask (custom grammar)" in words for words in spoken) == 1


@pytest.mark.slow
def test_a_run_is_found_by_a_word(dock, qtbot):
    qtbot.keyClicks(dock.search_edit, "database")
    qtbot.waitUntil(lambda: titles(dock) == ["Delete the database"])
    qtbot.keyClicks(dock.search_edit, "xx")
    qtbot.waitUntil(dock.empty.isVisible)
    assert "databasexx" in dock.empty.text()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_a_run_opens_by_keyboard(dock, qtbot, key):
    dock.list.setFocus()
    dock.list.setCurrentIndex(dock.model.index(1, 0))
    with qtbot.waitSignal(dock.runOpened) as opened:
        qtbot.keyClick(dock.list, key)
    assert opened.args == ["run1"]


def test_a_click_opens_one_run(dock, qtbot):
    seen = []
    dock.runOpened.connect(seen.append)
    place = dock.list.visualRect(dock.model.index(2, 0)).center()
    qtbot.mouseClick(dock.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert seen == ["run0"]


def test_a_deleted_run_can_be_restored(dock, history, qtbot):
    dock.list.setCurrentIndex(dock.model.index(0, 0))
    dock.delete_current()
    assert titles(dock) == ["Delete the database", "AI news"]
    assert len(history.rows()) == 3
    dock.undo_button.click()
    qtbot.waitUntil(lambda: dock.model.rowCount() == 3)
    assert len(history.rows()) == 3


def test_a_deleted_run_is_gone_at_the_next_start(dock, history, qtbot):
    dock.list.setCurrentIndex(dock.model.index(0, 0))
    dock.delete_current()
    dock.refresh()
    qtbot.wait(50)
    assert dock.model.rowCount() == 2
    dock.shut_down()
    assert [row.title for row in history.rows()] == ["Delete the database", "AI news"]


def test_a_run_that_could_not_be_deleted_returns_to_the_list(dock, history, qtbot, monkeypatch):
    def refused(*_runs):
        raise StorageError("The history is locked.")

    monkeypatch.setattr(history, "delete", refused)
    reported = []
    dock.notified.connect(reported.append)
    dock.list.setCurrentIndex(dock.model.index(0, 0))
    dock.delete_current()
    dock._undo_timer.timeout.emit()
    qtbot.waitUntil(lambda: bool(reported) and dock.model.rowCount() == 3)
    assert "locked" in reported[0]


def test_a_pinned_run_is_at_the_top(dock, qtbot):
    dock.list.setCurrentIndex(dock.model.index(2, 0))
    dock.pin_current()
    qtbot.waitUntil(lambda: titles(dock)[0] == "AI news")


def test_an_empty_history_says_how_to_fill_it(qtbot, tmp_path, monkeypatch):
    dock = HistoryDock(History(tmp_path / "none" / "history.sqlite3"))
    qtbot.addWidget(dock)
    dock.show()
    qtbot.waitUntil(dock.empty.isVisible)
    assert "Press Run" in dock.empty.text()
    dock.shut_down()


def test_a_history_that_cannot_be_read_is_reported(qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    dock = HistoryDock(History(tmp_path / "file" / "history.sqlite3"))
    qtbot.addWidget(dock)
    with qtbot.waitSignal(dock.notified) as signal:
        pass
    assert signal.args[0]
    dock.shut_down()


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ("2026-11-21T08:04:00+00:00", 5),
        ("2026-11-19T08:04:00+00:00", 9),
        ("2025-01-02T08:04:00", 10),
        ("odd", 3),
    ],
)
def test_a_time_is_written_for_its_day(time, words):
    assert len(when(time, now=datetime(2026, 11, 21, 12, tzinfo=UTC))) == words


ENDS = {
    "valid": "valid call", "judged": "verdict", "answered": "answered", "no-call": "answered without a call",
    "cut-off": "the answer was cut off", "no-tool": "no tool was", "unanswered": "question", "aborted": "stopped early",
    "failed": "failed", "unfinished": "not finished", "invalid": "valid call", "cancelled": "stopped", "limit": "limit",
    "refused": "constraint not met", "length": "token limit", "end-of-text": "the model", "stop-string": "stop string",
}  # fmt: skip
"""The word that every text of an end has."""


def ended(events, reason, *, valid=False, **changes):
    """Return the events with another end."""
    return [*events[:-1], msgspec.structs.replace(events[-1], reason=reason, valid=valid, **changes)]


def recorded(path):
    _header, *lines = resources.read_text(path).splitlines()
    return [decode_event(line) for line in lines]


def kinds_of_runs():
    """Return runs of all kinds, by name: bundled ones, and those that end in another way."""
    runs = {
        f"{folder}/{name}": recorded(f"{folder}/{name}")
        for folder in ("runs", "lessons/runs")
        for name in resources.names(folder, ".jsonl")
    }
    good, answer = run_of(GOOD), loop_run()
    failed = RunFailed(
        run="r", code="MODEL_FAILED", message="The model's process ended.", hint="Run it again."
    )
    runs |= {
        "masked": run_of(GOOD, constraint="mask", sampling=Sampling(temperature=0.7, seed=3)),
        "stopped early": run_of(BAD),
        "judged to the end": run_of(BAD, stop_on="never"),
        "repaired": run_of(BAD, GOOD, repair=RepairSettings(attempts=2)),
        "not repaired": run_of(BAD, BAD, repair=RepairSettings(attempts=1)),
        "two stages": run_of(GOOD, GOOD, strategy="two-stage"),
        "no valid call": run_of("I will search.", stop_on="never", free_text=True),
        "several parts": list(parts_run()),
        "a loop": list(answer),
        "an answer": ended(answer, "answered", valid=True),
        "an answer without tools": [
            msgspec.structs.replace(answer[0], request=loop_request(loop=LoopSettings(tool_use="disabled"))),
            FinalAnswer(text="Two things are new."),
            ended(answer, "answered", valid=True)[-1],
        ],
        "an answer that was cut off": [
            answer[0],
            CallReady(tool="search", arguments={"query": "AI"}, text=GOOD),
            LimitReached(limit="max_tokens", allowed=3, used=3, message="The answer is cut off."),
            FinalAnswer(text="Two things are"),
            ended(answer, "answered", valid=True)[-1],
        ],
        "a verdict of a judge": [
            good[0], StageStarted(title="Judge", kind="judge"), ended(good, "complete", valid=True)[-1]
        ],
        "failed after some tokens": [*good[: len(good) // 2], failed],
        "failed at once": [good[0], failed],
        "a record that is cut off": good[: len(good) // 2],
        "pieces of an endpoint": ended(good, "complete", valid=True, tokens=99),
    }  # fmt: skip
    for reason in ("cancelled", "limit", "refused", "unanswered", "length", "end-of-text", "stop-string"):
        runs[reason] = [event for event in ended(good, reason) if not isinstance(event, CallReady)]
    runs["no-tool"] = ended(runs["limit"], "no-tool", valid=True)
    return runs


RUNS = kinds_of_runs()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_history_the_page_and_the_record_of_a_run_agree(tmp_path, monkeypatch, name):
    monkeypatch.setattr(pages, "masked_reasons", lambda *_of_the_run: {})  # which take most of the time
    events, history = RUNS[name], History(tmp_path / "h.sqlite")
    run, state = RecordedRun(events), run_state(events)
    history.add(events)
    (row,) = history.rows()
    data, page = pages.run_data(run, state), PageText(pages.html_page([run]))
    shown, settings = " ".join("".join(page.shown).split()), dict(data["settings"])

    model = opened_name(state.started.model)
    assert row.model == data["model"] == model.name and settings["Model"] == " ".join(model).strip()
    assert row.time == state.started.time and row.time in shown
    assert row.title == data["name"][:200]
    assert pluralize(row.tokens, "token") in shown and pluralize(row.tokens, "token") in facts(row)
    if state.finished is None:
        assert row.tokens == sum(isinstance(event, Token) for event in events)
    notation, _, form = settings["Notation"].partition(" ")
    assert row.notation == (notation if form == "(template)" else f"{notation} {form.strip('()')}".strip())
    constraint, _, custom = settings["Constraint"].partition(", ")
    assert row.constraint == f"{constraint} {custom.removesuffix(' grammar')}".strip()
    assert settings["Seed"] == str(row.sampling.seed)
    for words in (settings["Sampling"], sampled(row)):
        assert f"{row.sampling.temperature:g}" in words or row.sampling.temperature == 0
    assert ("Branch of" in shown) == bool(row.parent) and row.parent in shown

    kind, _, code = row.outcome.partition(" ")
    if row.outcome == "valid relaxed":
        assert "holds" not in (data["status"], status_of(row.outcome))
    else:
        assert data["status"] == status_of(row.outcome)
    assert f"{VERDICTS[data['status']].sign} {data['words']}" in shown
    for words in (data["words"], outcome_words(row.outcome), end_of(state).words):
        assert ENDS[kind] in words.lower()
        if kind == "aborted":
            assert code in words
    if kind == "valid" and row.tool:
        assert row.tool in shown


def test_a_row_is_drawn(dock):
    pixmap: QPixmap = dock.grab()
    assert not pixmap.isNull()
    assert history_dock.UNDO_MS > 3000


def test_a_stored_run_is_listed_and_opens(context, qtbot):
    dock = HistoryDock(context.services.history)
    qtbot.addWidget(dock, before_close_func=HistoryDock.shut_down)
    HistoryPresenter(context, dock)
    for number in (1, 2):
        context.recorder.keep(tuple(run(number, f"Prompt {number}")))
    qtbot.waitUntil(lambda: titles(dock) == ["Prompt 2", "Prompt 1"])
    dock.list.setCurrentIndex(dock.model.index(1, 0))
    with qtbot.waitSignal(context.runs.ended):
        dock.open_current()
    assert context.runs.state.started.request.prompt == "Prompt 1"
    dock.notified.emit("a note")
    assert context.status.notes == ["a note"]


@pytest.mark.parametrize(
    ("native", "notation", "words"),
    [
        ("", "glyph", "GLYPH"),
        ("", "json", "JSON"),
        ("auto", "json", "native"),
        ("template", "json", "native"),
        ("hermes", "json", "native (hermes)"),
    ],
)
def test_a_run_is_listed_with_its_requested_notation_also_where_it_failed(native, notation, words):
    started, *_ = run(1, "x")
    request = RunRequest(prompt="x", registry={}, native=native, notation=notation)
    failed = RunFailed(code="PROMPT_FAILED", message="This model's template has no place for tools.")
    row = kin_of([msgspec.structs.replace(started, request=request), failed]).row
    assert facts(row).split(" · ")[-1] == f"{words}, mask"


def test_a_run_becomes_a_scenario_of_a_suite_of_the_user(context, qtbot):
    dock = HistoryDock(context.services.history)
    qtbot.addWidget(dock, before_close_func=HistoryDock.shut_down)
    presenter = HistoryPresenter(context, dock)
    context.recorder.keep(bundled_run("search-mask.jsonl"))
    qtbot.waitUntil(lambda: dock.model.rowCount() == 1)
    dock.list.setCurrentIndex(dock.model.index(0, 0))
    dock.ask_with_current(dock.suiteRequested)
    (dialog,) = context.window.findChildren(SuiteDialog)
    dialog.name_box.setEditText("starter")
    assert not dialog.add_button.isEnabled() and "bundled" in dialog.problem.text()
    dialog.name_box.setEditText("Mine")
    dialog.add_button.click()
    qtbot.waitUntil(lambda: bool(context.offers))
    suite = load_suite(context.services.places.suites / "Mine.json")
    assert [each.expect.calls[0].tools for each in suite.scenarios] == [("search",)]
    assert "Mine" in context.offers[-1][0] and suite.scenarios[0].id == "search"
    end_work(presenter)


def test_the_name_of_a_suite_is_not_cut_by_its_field(qtbot, qapp, tmp_path):
    dialog = SuiteDialog(tmp_path)
    ThemeManager(qapp, "light", parent=dialog)
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    field, option = dialog.name_box.lineEdit(), QStyleOptionFrame()
    field.initStyleOption(option)
    place = field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, field)
    assert place.height() >= field.fontMetrics().height()


@pytest.mark.slow
def test_a_run_gets_a_name_tags_a_score_and_a_note_that_the_search_finds(dock, history, qtbot):
    assert dock.details.isHidden()
    dock.list.setCurrentIndex(dock.model.index(dock.model.row_of("run1"), 0))
    details = dock.details
    assert details.isVisible()
    with qtbot.waitSignal(dock.described):
        details.score.button("4").click()
    for edit, text in (
        (details.tags_edit, "#Slow, bug"),
        (details.name_edit, " Broken "),
        (details.note_edit, "why"),
    ):
        edit.setFocus()
        edit.clear()
        qtbot.keyClicks(edit, text)
        with qtbot.waitSignal(dock.described):
            qtbot.keyClick(edit, Qt.Key.Key_Return)
    row = history.find("run1")
    assert (row.name, row.tags, row.score, row.note) == ("Broken", ("slow", "bug"), 4, "why")
    assert facts(row).startswith("★★★★ #slow #bug")
    dock.search_edit.setText("#slow score>3 broken")
    qtbot.waitUntil(lambda: dock.model.rowCount() == 1)


def test_an_unsaved_note_survives_a_refresh_and_another_choice(dock, history, qtbot):
    details = dock.details
    dock.list.setCurrentIndex(dock.model.index(dock.model.row_of("run1"), 0))
    details.note_edit.setFocus()
    qtbot.keyClicks(details.note_edit, "half")
    history.pin("run0")
    dock.refresh()
    qtbot.waitUntil(lambda: dock.model.row_of("run0") == 0)
    assert details.note_edit.text() == "half"
    with qtbot.waitSignal(dock.described):
        dock.list.setCurrentIndex(dock.model.index(dock.model.row_of("run2"), 0))
    assert details.note_edit.text() == "" and history.find("run1").note == "half"
