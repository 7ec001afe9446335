"""The transcript of a run: its rows, their texts, the shown stage, and that a long run costs no more."""

from __future__ import annotations

import json

import msgspec
import pytest
from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtTest import QTest

from glyphscope.events import (
    Answer,
    ApprovalGiven,
    LimitReached,
    QuestionAnswered,
    QuestionAsked,
    RunFailed,
    RunRequest,
    StageStarted,
    ToolContent,
    ToolProgressed,
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import RunState, reduce_event, run_state
from glyphscope.runs.strategies import run
from glyphscope_gui import slices
from glyphscope_gui.calls.call_texts import MAX_LENGTH, claim_words
from glyphscope_gui.playground import MAX_SHOWN, Transcript, budgets, notes_of
from glyphscope_gui.playground.stage_rows import MAX_ROWS, RunRows, cost_words, spoken, tip
from glyphscope_gui.runs import ShownRun, ShownStage, StageChoice, stage_text
from glyphscope_gui.runs.field_table import FieldTableModel
from glyphscope_gui.shared import WholeTextDialog
from glyphscope_gui.shared.page_ids import PageId
from made_runs import BAD, GOOD, NEEDED, Maker, loop_request, loop_run, parts_run
from shown_stages import feed as feed_view
from talks import talk

MARKS = [
    ("Turn 1", "impossible"),
    ("Repair", "holds"),
    ("Difference", "holds"),
    ("search", "holds"),
    ("Approval", "holds"),
    ("Result", "holds"),
    ("Turn 2", "impossible"),
    ("Transform", "note"),
    ("Extracted", "impossible"),
    ("Limit", "impossible"),
    ("Final answer", "holds"),
    ("Answer", "note"),
]


def rows_of(events, *, batch=1000, over=True):
    """Return the rows after the events, in batches of so many, and the state of the run."""
    read, state = RunRows(), RunState()
    for at in range(0, len(events), batch):
        for event in events[at : at + batch]:
            reduce_event(state, event)
        read.read(state)
    if over:
        read.read(state, over=True)
    return read, state


def marks(read):
    return [(row.title, row.mark) for row in read.rows]


def row_of(read, title):
    return next(row for row in read.rows if row.title == title)


# -- rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_rows_are_the_same_however_events_are_batched(batch):
    read, _ = rows_of(loop_run(), batch=batch)
    assert marks(read) == MARKS
    whole, _ = rows_of(loop_run())
    assert list(map(spoken, read.rows)) == list(map(spoken, whole.rows))


def test_a_batch_reads_only_the_last_stage_and_new_ones():
    events = loop_run()
    read, state = RunRows(), RunState()
    for event in events[:-1]:
        reduce_event(state, event)
    assert read.read(state) == 0, "the run is another one than before"
    assert read.read(state) == len(state.stages) - 1


def test_an_answer_without_a_call_is_marked_valid_only_where_tools_are_disabled():
    for changes, mark in (({}, "note"), ({"tool_use": "disabled"}, "holds")):
        read, _ = rows_of(talk("Hello.", **changes))
        assert (marks(read)[0][1], marks(read)[-1]) == (mark, ("Answer", "note"))


def test_the_time_that_the_user_takes_is_shown_only_in_the_row_of_the_approval():
    made = Maker(loop_request())
    made.enter("turn", "Turn 1", "turn", 1).text(GOOD).done()
    made.enter("tool", "search", "tool", 1).add(NEEDED)
    made._t += 61
    made.add(ApprovalGiven(call="call-1", action="allow", arguments=NEEDED.arguments))
    made.add(ToolStarted(call="call-1", tool="search", source="demo", arguments={}))
    read, state = rows_of(tuple(made.events), over=False)
    stage, approval = row_of(read, "search"), row_of(read, "Approval")
    assert stage.ms.used == pytest.approx(200) and approval.ms.used == pytest.approx(61_100)
    assert cost_words(approval) == "61.1 s" and "limits do not include" in tip(approval)
    assert any("waited 61.1 s" in block.text for block in notes_of(approval.events))
    (time,) = [each for each in budgets(state, made.events[-1].t) if each.name == "max_seconds"]
    assert time.used == pytest.approx(made.events[-1].t - 61.1)


def test_every_figure_is_shown_with_its_budget():
    rows = rows_of(loop_run())[0].rows
    turn, result = rows[0], rows[5]
    assert (turn.tokens.used, turn.tokens.most) == (14, 512)
    assert (turn.bytes.used, turn.bytes.most) == (48, None)  # no call: nothing to compare with the limit
    assert (rows[1].bytes.used, rows[1].bytes.most) == (48, 200_000)
    assert (result.bytes.used, result.bytes.most) == (60, 200_000)
    assert turn.ms.most == 20_000
    assert turn.prompt == "170 of 184"
    assert "184 prompt tokens, 170 from the cache" in turn.tip
    assert tip(turn).startswith("stopped at character 47: CONSTRAINT_MAX · mask from the cache\n")
    assert "Generated tokens: 14 of 512" in tip(turn) and "60 of 200,000" in tip(result)


@pytest.mark.parametrize("answer", [Answer("choice", "yes\nno"), Answer("schema", '{"enum": ["yes"]}')])
def test_an_answer_that_is_not_a_call_is_one_row(answer):
    request = RunRequest(
        prompt="Yes?", registry={"glyphscope": 1, "tools": []}, answer=answer, constraint="off"
    )
    read, _state = rows_of(list(run(request, ScriptedModel("yes"))))
    assert [(row.title, row.words, row.mark) for row in read.rows] == [("Answer", "yes", "holds")]


def test_a_run_stopped_in_a_question_ends_without_an_answer():
    made = Maker(loop_request(strategy="route-execute")).enter("router", "Router", "router")
    made.add(QuestionAsked(question="Which one?"))
    read, state = rows_of(made.events, over=False)
    assert marks(read) == [("Router", "waits"), ("Question", "waits")]
    made.add(QuestionAnswered(answer=None))
    for event in made.events[-1:]:
        reduce_event(state, event)
    read.read(state, over=True)
    assert read.rows[1].words == "“Which one?” → no answer"
    assert marks(read) == [("Router", "note"), ("Question", "impossible")]


def test_thousands_of_progress_reports_are_one_row_and_rows_have_a_limit():
    made = Maker(loop_request()).enter("tool", "search", "tool", 1)
    made.add(*(ToolProgressed(call="call-1", done=n) for n in range(3000)))
    read, _ = rows_of(made.events, over=False, batch=260)
    assert marks(read) == [("search", "running"), ("Result", "running")]
    assert read.rows[1].words == "2999"
    assert len(read.rows[1].events) == 1
    made.add(*(TransformActed(name="t", surface="call", what="x") for _ in range(3000)))
    assert len(rows_of(made.events, over=False)[0].rows) == MAX_ROWS


def result(fault, message):
    return ToolResult(call="call-1", tool="search", source="demo", ok=False, fault=fault, message=message)


DENIED = ApprovalGiven(call="call-1", action="deny", arguments={}, by="nobody")


@pytest.mark.parametrize(
    ("kind", "events", "reason", "expected", "words"),
    [
        ("tool", (NEEDED, DENIED, result("denied", "no")), "denied",
         [("search", "impossible"), ("Approval", "impossible"), ("Result", "impossible")], "denied: no answer"),
        ("tool", (result("cancelled", "stopped"),), "cancelled",
         [("search", "note"), ("Result", "impossible")], "stopped"),
        ("turn", (RunFailed(code="MODEL_FAILED", message="The model died."),), "",
         [("Turn 1", "impossible")], "The model died."),
        ("turn", (), "cancelled", [("Turn 1", "note")], "stopped by the user"),
    ],
    ids=["denied", "stopped call", "failed", "stopped"],
)  # fmt: skip
def test_a_stage_says_how_it_ended(kind, events, reason, expected, words):
    made = Maker(loop_request()).enter(kind, "search" if kind == "tool" else "Turn 1", kind, 1)
    made.add(*events)
    if reason:
        made.done(valid=False, reason=reason)
    read, _ = rows_of(made.events)
    assert marks(read) == expected
    assert words in [row.words for row in read.rows]


def test_a_record_without_names_of_stages_is_shown():
    events = [msgspec.structs.replace(event, stage="") for event in loop_run()]
    choice, state = StageChoice(), RunState()
    feed(choice, state, events, 5)
    assert choice.stage in state.stages


def test_the_limit_that_fired_is_a_gauge():
    read, state = rows_of(loop_run())
    assert set(read.limits) == {"max_turns"}
    found = {b.name: b for b in budgets(state, 12.0, read.limits)}
    assert (found["max_turns"].words, found["max_turns"].fired) == ("Turns 3 of 3", True)
    assert found["max_total_tokens"].words == "Tokens 43 of 200"
    assert found["max_seconds"].words == "Time 12 s of 20 s"
    assert found["attempts"].words == "Repairs 1 of 2"
    assert not found["attempts"].fired


# -- notes ---------------------------------------------------------------------------------------------------------


def blocks_of(read):
    return [block for row in read.rows for block in notes_of(row.events)]


def test_notes_include_every_event():
    blocks = blocks_of(rows_of(loop_run())[0])
    text = "\n".join(block.text or "".join(piece for _, piece in block.pieces) for block in blocks)
    for reported in (
        "read-only",
        "not verified",
        "Arguments executed",
        "A model that fits on a phone",
        '"results": 2',
        "max_results is at most 100",
        "the fence around it was taken away",
        "max_turns allows 3; the run used 3",
    ):
        assert reported in text


def test_a_difference_shows_removed_and_added_text():
    block = next(block for block in blocks_of(rows_of(loop_run())[0]) if block.kind == "difference")
    assert "".join(text for kind, text in block.pieces if kind != "new") == BAD
    assert "".join(text for kind, text in block.pieces if kind != "gone") == GOOD


def test_claims_are_listed_as_claims():
    words = claim_words({"readOnlyHint": False, "destructiveHint": True, "title": "Nice", "x": 1})
    assert words == ["not read-only", "destructive", "title “Nice”", "x: 1"]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/hosts"/></svg>'
"""A picture that names a file of this computer."""


@pytest.fixture
def transcript(qtbot):
    made = Transcript()
    qtbot.addWidget(made)
    made.resize(700, 500)
    made.show()
    return made


def shown(view, events, *, size=1000, place=-1):
    """Show a run in batches; return its state."""
    state = feed_view(view, events, size)
    view.show_stage(ShownStage(state, state.stages[place], over=True))
    return state


def results(*content, **changes):
    """The events of a run with these contents of a tool's result."""
    made = Maker(loop_request()).enter("tool", "search", "tool", 1)
    made.add(ToolResult(call="c", tool="t", source="s", ok=True, content=content, **changes))
    return made.events


def test_markup_and_pictures_of_other_formats_are_text(transcript):
    content = (
        ToolContent(text="<img src='file:///etc/passwd'><b>bold</b>" + "x" * MAX_SHOWN),
        ToolContent(kind="image", data=b"no picture", mime="image/png", size=10),
        ToolContent(kind="image", data=SVG, mime="image/svg+xml", size=len(SVG)),
    )
    shown(transcript, results(*content))
    text = transcript.toPlainText()
    assert "<b>bold</b>" in text
    assert text.count("Show all") == 1
    assert text.count("Not an image in a supported format") == 2


@pytest.mark.slow
def test_a_long_result_opens_whole(transcript, qtbot):
    big = {"rows": list(range(3 * MAX_LENGTH))}
    shown(transcript, results(ToolContent(text="y" * (2 * MAX_LENGTH)), structured=big))
    assert transcript.toPlainText().count("Show all") == 2
    assert len(transcript.toPlainText()) < 3 * MAX_SHOWN
    for number, length in enumerate((2 * MAX_LENGTH, len(json.dumps(big, indent=2)))):
        transcript.anchorClicked.emit(QUrl(f"block:{number}"))
        dialog = transcript.findChildren(WholeTextDialog)[-1]
        qtbot.waitUntil(lambda dialog=dialog: dialog.is_ready and not dialog.is_busy)
        assert len(dialog.text) == length and "recorded" in dialog.note.text()
        dialog.close()
    transcript.anchorClicked.emit(QUrl("file:///etc/passwd"))
    transcript.anchorClicked.emit(QUrl("block:99"))


# -- the document --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("events", [loop_run, parts_run], ids=["loop", "parts"])
def test_the_transcript_is_the_same_however_the_events_are_cut(transcript, events, size):
    state = shown(transcript, events(), size=size)
    found = transcript.toPlainText()
    shown(transcript, events())
    assert transcript.toPlainText() == found
    for text in transcript.texts:
        stage = state.stages[text.place]
        assert (
            "".join(found[text.places.position(n)] for n in range(len(stage.text))).replace("⏎", "\n")
            == stage.text
        )
    transcript.grab()


def test_the_texts_and_what_the_strategy_did_are_in_the_order_of_the_run(transcript):
    shown(transcript, loop_run())
    text = transcript.toPlainText()
    order = [
        BAD[:-1],
        GOOD,
        "Changes",
        "Arguments executed",
        "A model that fits",
        "Two things",
        "max_turns allows 3",
    ]
    places = [text.index(each) for each in order if each in text]
    assert places == sorted(places) and len(places) >= 6
    spoken_rows = transcript.accessibleDescription().splitlines()
    assert len(spoken_rows) == len(MARKS) and spoken_rows[0].startswith(
        "Turn 1, failed, stopped at character 47"
    )


def test_another_theme_and_another_run_leave_the_same_text(transcript):
    shown(transcript, loop_run())
    before = transcript.toPlainText()
    transcript.changeEvent(QEvent(QEvent.Type.PaletteChange))
    assert transcript.toPlainText() == before
    shown(transcript, parts_run())
    shown(transcript, loop_run())
    assert transcript.toPlainText() == before


def test_a_long_text_is_written_again_in_slices_and_stays_where_it_was(transcript, qtbot, monkeypatch):
    monkeypatch.setattr(slices, "SLICE_MS", 0)
    monkeypatch.setattr(stage_text, "_AT_ONCE", 20)
    state = shown(transcript, parts_run("So the user wants news. " * 40, calls=(GOOD,) * 40))
    text, bar = transcript.toPlainText(), transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    place = bar.value()
    transcript.write_again()
    part = transcript.toPlainText()
    assert len(part) < len(text) and text.startswith(part[:-20]) and not transcript.updatesEnabled()
    transcript.show_stage(ShownStage(state, state.present, over=True))  # such as a choice of the same stage
    assert transcript.toPlainText() == part
    qtbot.waitUntil(lambda: transcript.toPlainText() == text)
    assert bar.value() == place and transcript.updatesEnabled()
    transcript.write_again()
    shown(transcript, loop_run())
    assert transcript.toPlainText() != text and transcript.updatesEnabled(), "another run is shown at once"


def test_a_click_and_the_keys_choose_the_stage_and_the_token(transcript, qtbot):
    state = shown(transcript, loop_run())
    transcript.verticalScrollBar().setValue(0)
    first = transcript.texts[0]
    token = state.stages[0].tokens[3]
    place = first.boxes(token.start, token.end)[0].center().toPoint()
    chosen = []
    transcript.stageChosen.connect(lambda place: chosen.append(("stage", place)))
    transcript.tokenChosen.connect(lambda index: chosen.append(("token", index)))
    QTest.mouseClick(transcript.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert list(dict.fromkeys(chosen)) == [("stage", 0), ("token", 3)]
    transcript.show_stage(ShownStage(state, state.stages[0], over=True))
    with qtbot.waitSignal(transcript.stageChosen) as moved:
        transcript.setFocus()
        QTest.keyClick(transcript, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert moved.args[0] == len(state.stages) - 1
    cursor = transcript.textCursor()
    cursor.setPosition(first.places.position(token.start))
    transcript.setTextCursor(cursor)
    with qtbot.waitSignal(transcript.tokenChosen) as entered:
        QTest.keyClick(transcript, Qt.Key.Key_Return)
    assert entered.args[0] == 3


def test_what_is_copied_is_the_result_at_the_cursor_or_the_shown_text(transcript):
    state = shown(transcript, loop_run(), place=0)
    cursor = transcript.textCursor()
    cursor.setPosition(0)
    transcript.setTextCursor(cursor)
    assert transcript.copied_text() == state.stages[0].text
    cursor.setPosition(transcript.toPlainText().index("A model that fits"))
    transcript.setTextCursor(cursor)
    assert transcript.copied_text().startswith("1. A model that fits on a phone")


# -- which stage is in sight -----------------------------------------------------------------------------------------


def titles_of(choice):
    """The titles of the stages that are shown from now on."""
    titles = []
    choice.shown.connect(lambda shown: titles.append(shown.stage.title))
    return titles


def feed(choice, state, events, batch):
    for at in range(0, len(events), batch):
        for event in events[at : at + batch]:
            reduce_event(state, event)
        choice.show_run(ShownRun(state))


def test_the_views_follow_every_turn_and_no_tool():
    choice, state = StageChoice(), RunState()
    titles = titles_of(choice)
    feed(choice, state, loop_run(), 1)
    assert list(dict.fromkeys(titles)) == ["", "Turn 1", "Repair", "Turn 2", "Final answer"]
    assert choice.stage.title == "Final answer"


def test_a_stage_chosen_by_the_user_stays_while_the_run_continues():
    choice, state, events = StageChoice(), RunState(), loop_run()
    second = next(n for n, e in enumerate(events) if isinstance(e, StageStarted) and e.kind == "repair")
    feed(choice, state, events[: second + 4], 3)
    choice.choose(0)
    titles = titles_of(choice)
    feed(choice, state, events[second + 4 :], 3)
    assert set(titles) == {"Turn 1"}
    choice.follow()
    assert titles[-1] == "Final answer"


def test_choosing_a_tool_shows_the_text_before_it():
    choice, state = StageChoice(), RunState()
    feed(choice, state, loop_run(), 50)
    choice.choose(2)
    assert choice.stage.title == "Repair"


# -- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stage_that_is_clicked_is_shown_in_the_other_views(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND)
    view, runs = page.view, page.context.runs
    with qtbot.waitSignal(runs.ended):
        runs.replay(loop_run(), 0)
    assert view.stage.title == "Final answer"
    view.stream.stageChosen.emit(0)
    assert view.stage.title == "Turn 1"
    assert view.tokens_model.rowCount() == 14
    assert view.fields_model.rowCount() == 4  # with the missing one
    view.show_detail("steps")
    qtbot.waitUntil(lambda: len(view.steps.chart.table()) == 1 + len(view.stage.tokens))
    request = RunRequest(prompt="x", registry=default_registry().to_document(), constraint="off")
    plain = tuple(run(request, ScriptedModel(GOOD)))
    with qtbot.waitSignal(runs.ended):
        runs.replay(plain, 0)
    assert view.stream.toPlainText() == GOOD


def test_a_limit_is_shown_in_words():
    row = row_of(rows_of(loop_run())[0], "Limit")
    assert spoken(row) == "Limit, failed, max_turns: 3 of 3"
    assert isinstance(row.events[0], LimitReached)


def test_the_arguments_of_two_stages_have_their_constraints(qtbot):
    request = RunRequest(
        prompt="x",
        registry=default_registry().to_document(),
        constraint="off",
        strategy="two-stage",
        shape="tool-args",
    )
    model = ScriptedModel(turns=['"search"', '{query="x" max_results=7}'])
    state = run_state(run(request, model))
    name, arguments = state.stages
    table = FieldTableModel()
    table.show_stage(ShownStage(state, arguments, over=True))
    found = {table.row(n).path: table.row(n).constraint for n in range(table.rowCount())}
    assert name.tool.name == "search"
    assert found["/args/max_results"].startswith("integer 1")
    assert "/args/sources" in found


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ('{"n": 1}', ["Message to the model"]),
        ('{"ok": true, "result": {"n": 1}}', ["Message to the model"]),
        ('{"n": 2}', ["Structured content", "Message to the model"]),
        ("n is 1", ["Structured content", "Message to the model"]),
        ("", ["Structured content"]),
    ],
)
def test_structured_content_is_shown_only_where_the_message_to_the_model_does_not_have_it(sent, shown):
    result = ToolResult(call="c", tool="t", source="demo", ok=True, structured={"n": 1}, sent=sent)
    headings = [block.text for block in notes_of((result,)) if block.kind == "heading"]
    assert headings[1:] == shown


def test_fields_say_why_there_are_none_once_the_answer_is_complete(open_playground, qtbot):
    page = open_playground(lambda _name, **_options: ScriptedModel("Hello, I am well."))
    page.context.project.set_options(constraint="off", tool_choice="auto", stop_on="never")
    fields = page.view.fields
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    assert not page.view.fields_model.rowCount() and "No fields" in fields.accessibleDescription()
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.replay(loop_run(), 0)
    page.stages.choice.choose(0)
    assert page.view.fields_model.rowCount() and fields.accessibleDescription() == ""
