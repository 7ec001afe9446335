"""The history: found, opened, pinned, deleted and restored."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStyle, QStyleOptionFrame

from bundled import BAD, GOOD, run_of
from glyphscope.base import resources
from glyphscope.base.errors import StorageError
from glyphscope.base.figures import pluralize
from glyphscope.evals.suites.reading import load_suite
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
from glyphscope.store import History
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports import run_page as pages
from glyphscope.store.history import kin_of
from glyphscope_gui.history import dock as history_dock
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.history.model import facts, sampled, when
from glyphscope_gui.history.presenter import HistoryPresenter, SuiteDialog
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.run_words import opened_name
from glyphscope_gui.shared.verdict import VERDICTS
from made_runs import finished, loop_request, loop_run, parts_run
from on_screen import Screen
from page_text import PageText

LIST = "Runs, newest first"
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
def show(qtbot):
    """Show the history; gives what is on the screen."""
    docks = []

    def build(history, dock=None):
        docks.append(dock or HistoryDock(history))
        qtbot.addWidget(docks[-1])
        docks[-1].resize(280, 1200)
        docks[-1].show()
        return Screen(qtbot, docks[-1])

    yield build
    for dock in docks:
        dock.shut_down()


@pytest.fixture
def screen(show, history, qtbot):
    screen = show(history)
    qtbot.waitUntil(lambda: titles(screen) == ["Weather", "Delete the database", "AI news"])
    return screen


def titles(screen):
    return [row[0] for row in screen.rows(LIST)] if screen.named(LIST) else []


def added(history, number, changes, prompt="AI news"):
    """Add a run whose request has other members."""
    (started, *rest) = run(number, prompt)
    request = msgspec.structs.replace(started.request, **changes)
    history.add([msgspec.structs.replace(started, run=f"more{number}", request=request), *rest])


def test_runs_are_read_with_their_end_tool_and_tokens(screen):
    spoken = screen.spoken(LIST)[1][0]
    assert "stopped early: CONSTRAINT_MAX" in spoken and "search" in spoken and "17 tokens" in spoken


def test_runs_of_a_series_differ_in_their_rows_tips_and_accessible_texts(show, history, qtbot):
    """One prompt in one minute: the sampling is what differs. At the default there is nothing to show."""
    history.clear(keep_pinned=False)
    for number, sampling in enumerate(SERIES):
        added(history, number, {"sampling": sampling})
    screen = show(history)
    qtbot.waitUntil(lambda: len(titles(screen)) == len(SERIES))
    qtbot.wait(1)
    for role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
        assert len({row[0] for row in screen.rows(LIST, role)}) == len(SERIES)
    view = screen.find(LIST)
    places = [view.visualRect(view.model().index(row, 0)) for row in range(len(SERIES))]
    pictures = [view.viewport().grab(place).toImage() for place in places]
    assert all(first != other for first, other in combinations(pictures, 2))
    assert [sampled(row, short=True) for row in history.rows()][::-1] == [
        "", "temp 0.7, seed 1", "temp 0.7, seed 2", "temp 0.7, seed 2, top-k 5"
    ]  # fmt: skip


def test_a_run_under_a_custom_grammar_says_so(show, history, qtbot):
    added(history, 9, {"constraint": "mask", "grammar": 'root ::= "x"'}, "City")
    screen = show(history)
    qtbot.waitUntil(lambda: len(titles(screen)) == 4)
    assert sum("mask (custom grammar)" in words for (words,) in screen.spoken(LIST)) == 1


@pytest.mark.slow
def test_a_run_is_found_by_a_word(screen, qtbot):
    screen.type("Find runs", "database")
    qtbot.waitUntil(lambda: titles(screen) == ["Delete the database"])
    screen.type("Find runs", "xx")
    screen.until("No run matches “databasexx”")


def test_a_run_opens_by_keyboard_and_by_a_click(screen, qtbot):
    opened = []
    screen.root.runOpened.connect(opened.append)
    screen.choose(LIST, "Delete the database")
    screen.key(LIST, "Return", "Enter")
    view = screen.find(LIST)
    place = view.visualRect(view.model().index(2, 0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == ["run1", "run1", "run0"]


def test_a_deleted_run_can_be_restored_and_is_otherwise_gone_at_the_next_start(screen, history, qtbot):
    for _ in range(2):
        screen.choose(LIST, "Weather")
        screen.key(LIST, "Del")
        assert titles(screen) == ["Delete the database", "AI news"] and len(history.rows()) == 3
        assert history_dock.UNDO_MS > 3000
        screen.press("Undo")
        qtbot.waitUntil(lambda: len(titles(screen)) == 3)
    screen.choose(LIST, "Weather")
    screen.key(LIST, "Del")
    screen.root.refresh()
    qtbot.wait(50)
    assert len(titles(screen)) == 2
    screen.root.shut_down()
    assert [row.title for row in history.rows()] == ["Delete the database", "AI news"]


def test_a_run_that_could_not_be_deleted_returns_to_the_list(show, history, qtbot, monkeypatch):
    def refused(*_runs):
        raise StorageError("The history is locked.")

    monkeypatch.setattr(history, "delete", refused)
    monkeypatch.setattr(history_dock, "UNDO_MS", 10)
    screen = show(history)
    qtbot.waitUntil(lambda: len(titles(screen)) == 3)
    screen.choose(LIST, "Weather")
    with qtbot.waitSignal(screen.root.notified) as reported:
        screen.key(LIST, "Del")
    assert "locked" in reported.args[0]
    qtbot.waitUntil(lambda: len(titles(screen)) == 3)


def test_a_pinned_run_is_at_the_top(screen, qtbot):
    screen.choose(LIST, "AI news")
    screen.key(LIST, "P")
    qtbot.waitUntil(lambda: titles(screen)[0] == "AI news")


def test_an_empty_history_says_how_to_fill_it_and_one_that_cannot_be_read_is_reported(show, qtbot, tmp_path):
    show(History(tmp_path / "none" / "history.sqlite3")).until("Press Run")
    (tmp_path / "file").write_text("")
    dock = HistoryDock(History(tmp_path / "file" / "history.sqlite3"))
    with qtbot.waitSignal(dock.notified) as signal:
        show(None, dock)
    assert signal.args[0]


@pytest.mark.slow
def test_a_run_gets_a_name_tags_a_score_and_a_note_that_the_search_finds(screen, history, qtbot):
    assert not screen.named("Name of the run")
    screen.choose(LIST, "Delete the database")
    with qtbot.waitSignal(screen.root.described):
        screen.choose("Score of the run, 1 (bad) to 5 (good)", "4")
    for name, text in (("Tags", "#Slow, bug"), ("Name", " Broken "), ("Note", "why")):
        with qtbot.waitSignal(screen.root.described):
            screen.write(f"{name} o", text)
    row = history.find("run1")
    assert (row.name, row.tags, row.score, row.note) == ("Broken", ("slow", "bug"), 4, "why")
    assert facts(row).startswith("★★★★ #slow #bug")
    screen.write("Find runs", "#slow score>3 broken")
    qtbot.waitUntil(lambda: titles(screen) == ["Broken"])


def test_an_unsaved_note_survives_a_refresh_and_another_choice(screen, history, qtbot):
    screen.choose(LIST, "Delete the database")
    screen.type("Note on the run", "half")
    history.pin("run0")
    screen.root.refresh()
    qtbot.waitUntil(lambda: titles(screen)[0] == "AI news")
    assert screen.read("Note on the run") == "half"
    with qtbot.waitSignal(screen.root.described):
        screen.choose(LIST, "Weather")
    assert screen.read("Note on the run") == "" and history.find("run1").note == "half"


@pytest.fixture
def stored(context, show):
    """The history of a context, as the window shows it."""
    dock = HistoryDock(context.services.history)
    HistoryPresenter(context, dock)
    return show(None, dock)


def test_several_selected_runs_are_compared_and_none_is_opened_or_run(context, stored, qtbot):
    for number in (1, 2, 3):
        context.recorder.keep(tuple(run(number, f"Prompt {number}")))
    qtbot.waitUntil(lambda: titles(stored) == ["Prompt 3", "Prompt 2", "Prompt 1"])
    view = stored.find(LIST)
    view.setFocus()
    rows = [view.visualRect(view.model().index(row, 0)).center() for row in range(3)]
    assert not stored.can("Compare")
    left, control = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier
    view.setCurrentIndex(view.model().index(0, 0))
    assert not stored.can("Compare"), "one run has nothing beside it"
    qtbot.mouseClick(view.viewport(), left, control, rows[2])
    assert stored.can("Compare") and not context.runs.is_busy
    view.actions()[-2].trigger()
    qtbot.waitUntil(lambda: bool(context.navigator.visits))
    ((page, place),) = context.navigator.visits
    assert page is PageId.COMPARE
    assert [events[0].request.prompt for events in place.runs] == ["Prompt 3", "Prompt 1"]
    assert context.runs.state.started is None


def test_a_stored_run_is_listed_and_opens(context, stored, qtbot):
    for number in (1, 2):
        context.recorder.keep(tuple(run(number, f"Prompt {number}")))
    qtbot.waitUntil(lambda: titles(stored) == ["Prompt 2", "Prompt 1"])
    stored.choose(LIST, "Prompt 1")
    with qtbot.waitSignal(context.runs.ended):
        stored.key(LIST, "Return")
    assert context.runs.state.started.request.prompt == "Prompt 1"
    stored.root.notified.emit("a note")
    assert context.status.notes == ["a note"]


def test_a_run_becomes_a_scenario_of_a_suite_of_the_user(context, stored, qtbot):
    context.recorder.keep(bundled_run("search-mask.jsonl"))
    qtbot.waitUntil(lambda: len(titles(stored)) == 1)
    stored.find(LIST).setCurrentIndex(stored.find(LIST).model().index(0, 0))
    stored.key(LIST, "A")
    dialog = stored.dialog(SuiteDialog)
    field, option = dialog.root.name_box.lineEdit(), QStyleOptionFrame()
    field.initStyleOption(option)
    place = field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, field)
    assert place.height() >= field.fontMetrics().height(), "the name is not cut by its field"
    dialog.write("Suite", "starter")
    assert not dialog.can("Add") and "bundled" in dialog
    dialog.write("Suite", "Mine")
    dialog.press("Add")
    qtbot.waitUntil(lambda: bool(context.offers))
    suite = load_suite(context.services.places.suites / "Mine.json")
    assert [each.expect.calls[0].tools for each in suite.scenarios] == [("search",)]
    assert "Mine" in context.offers[-1][0] and suite.scenarios[0].id == "search"


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
    "valid": "valid call", "valid answer": "valid answer",
    "judged": "verdict", "answered": "answered", "no-call": "answered without a call",
    "cut-off": "the answer was cut off", "call-failed": "failed", "no-tool": "no tool was", "unanswered": "question",
    "aborted": "stopped early",
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
        assert ENDS.get(row.outcome, ENDS[kind]) in words.lower()
        if kind == "aborted":
            assert code in words
    if kind == "valid" and row.tool:
        assert row.tool in shown


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
