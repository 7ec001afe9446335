"""The timeline of a run: its rows, their texts, the visible stage, and that a long run costs no more."""

from __future__ import annotations

import json

import msgspec
import pytest
from PySide6.QtCore import Qt, QUrl

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
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import RunState, reduce_event, run_state
from glyphscope.runs.strategies import run
from glyphscope_gui.calls.call_texts import MAX_LENGTH, claim_words
from glyphscope_gui.playground import MAX_ROWS, TIME, WORDS, NotesView, TimelineModel, budgets, notes_of
from glyphscope_gui.runs import ShownRun, ShownStage, StageChoice
from glyphscope_gui.runs.field_table import FieldTableModel
from glyphscope_gui.shared import PageId, WholeTextDialog
from made_runs import BAD, GOOD, NEEDED, Maker, loop_request, loop_run
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
    ("Answer", "holds"),
]


def model_of(events, *, batch=1000, over=True):
    """Return the model after the events, in batches of so many."""
    model, state = TimelineModel(), RunState()
    for at in range(0, len(events), batch):
        for event in events[at : at + batch]:
            reduce_event(state, event)
        model.show_run(state)
    if over:
        model.show_run(state, over=True)
    return model, state


def rows(model):
    return [(model.row(n).title, model.row(n).mark) for n in range(model.rowCount())]


# -- rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_rows_are_the_same_however_events_are_batched(batch, qapp):
    model, _ = model_of(loop_run(), batch=batch)
    assert rows(model) == MARKS
    whole, _ = model_of(loop_run())
    for n in range(model.rowCount()):
        assert [model.index(n, c).data() for c in range(4)] == [whole.index(n, c).data() for c in range(4)]


def test_a_batch_changes_only_the_rows_that_changed(qapp):
    events = loop_run()
    model, state = TimelineModel(), RunState()
    resets, changed = [], []
    model.modelReset.connect(lambda: resets.append(1))
    for event in events[:-1]:
        reduce_event(state, event)
    model.show_run(state)
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    model.show_run(state)
    assert resets == [1], "the run is another one than before"
    assert changed == [(10, 11)]


def test_an_answer_without_a_call_is_marked_valid_only_where_tools_are_disabled(qapp):
    for changes, mark in (({}, "note"), ({"tool_use": "disabled"}, "holds")):
        model, _ = model_of(talk("Hello.", **changes))
        assert (rows(model)[0][1], rows(model)[-1]) == (mark, ("Answer", mark))


def test_the_time_that_the_user_takes_is_shown_only_in_the_row_of_the_approval(qapp):
    made = Maker(loop_request())
    made.enter("turn", "Turn 1", "turn", 1).text(GOOD).done()
    made.enter("tool", "search", "tool", 1).add(NEEDED)
    made._t += 61
    made.add(ApprovalGiven(call="call-1", action="allow", arguments=NEEDED.arguments))
    made.add(ToolStarted(call="call-1", tool="search", source="demo", arguments={}))
    model, state = model_of(tuple(made.events), over=False)
    titles = [model.row(n).title for n in range(model.rowCount())]
    stage, approval = (model.row(titles.index(title)) for title in ("search", "Approval"))
    assert stage.ms.used == pytest.approx(200) and approval.ms.used == pytest.approx(61_100)
    assert model.index(titles.index("Approval"), TIME).data() == "61.1 s"
    assert "limits do not include" in model.index(titles.index("Approval"), TIME).data(
        Qt.ItemDataRole.ToolTipRole
    )
    assert any("waited 61.1 s" in block.text for block in notes_of(approval.events))
    (time,) = [each for each in budgets(state, made.events[-1].t) if each.name == "max_seconds"]
    assert time.used == pytest.approx(made.events[-1].t - 61.1)


def test_every_figure_is_shown_with_its_budget(qapp):
    model, _ = model_of(loop_run())
    turn, result = model.row(0), model.row(5)
    assert (turn.tokens.used, turn.tokens.most) == (14, 512)
    assert (turn.bytes.used, turn.bytes.most) == (48, None)  # no call: nothing to compare with the limit
    assert (model.row(1).bytes.used, model.row(1).bytes.most) == (48, 200_000)
    assert (result.bytes.used, result.bytes.most) == (60, 200_000)
    assert turn.ms.most == 20_000
    assert turn.prompt == "170 of 184"
    assert "184 prompt tokens, 170 from the cache" in turn.tip
    shown = model.index(0, WORDS).data()
    assert shown == "stopped at character 47: CONSTRAINT_MAX · mask from the cache"


@pytest.mark.parametrize("answer", [Answer("choice", "yes\nno"), Answer("schema", '{"enum": ["yes"]}')])
def test_an_answer_that_is_not_a_call_is_one_row(qapp, answer):
    request = RunRequest(
        prompt="Yes?", registry={"glyphscope": 1, "tools": []}, answer=answer, constraint="off"
    )
    model, _state = model_of(list(run(request, ScriptedModel("yes"))))
    assert [(row.title, row.words, row.mark) for row in map(model.row, range(model.rowCount()))] == [
        ("Answer", "yes", "holds")
    ]


def test_a_run_stopped_in_a_question_ends_without_an_answer(qapp):
    made = Maker(loop_request(strategy="route-execute")).enter("router", "Router", "router")
    made.add(QuestionAsked(question="Which one?"))
    model, state = model_of(made.events, over=False)
    assert rows(model) == [("Router", "waits"), ("Question", "waits")]
    made.add(QuestionAnswered(answer=None))
    for event in made.events[-1:]:
        reduce_event(state, event)
    model.show_run(state, over=True)
    assert model.row(1).words == "“Which one?” → no answer"
    assert rows(model) == [("Router", "note"), ("Question", "impossible")]


def test_thousands_of_progress_reports_are_one_row_and_rows_have_a_limit(qapp):
    made = Maker(loop_request()).enter("tool", "search", "tool", 1)
    made.add(*(ToolProgressed(call="call-1", done=n) for n in range(3000)))
    model, _ = model_of(made.events, over=False, batch=260)
    assert rows(model) == [("search", "running"), ("Result", "running")]
    assert model.row(1).words == "2999"
    assert len(model.row(1).events) == 1
    made.add(*(TransformActed(name="t", surface="call", what="x") for _ in range(3000)))
    model, _ = model_of(made.events, over=False)
    assert model.rowCount() == MAX_ROWS


def result(fault, message):
    return ToolResult(call="call-1", tool="search", source="demo", ok=False, fault=fault, message=message)


DENIED = ApprovalGiven(call="call-1", action="deny", arguments={}, by="nobody")


@pytest.mark.parametrize(
    ("kind", "events", "reason", "marks", "words"),
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
def test_a_stage_says_how_it_ended(qapp, kind, events, reason, marks, words):
    made = Maker(loop_request()).enter(kind, "search" if kind == "tool" else "Turn 1", kind, 1)
    made.add(*events)
    if reason:
        made.done(valid=False, reason=reason)
    model, _ = model_of(made.events)
    assert rows(model) == marks
    assert words in [model.row(n).words for n in range(model.rowCount())]


def test_a_record_without_names_of_stages_is_shown():
    events = [msgspec.structs.replace(event, stage="") for event in loop_run()]
    choice, state = StageChoice(), RunState()
    feed(choice, state, events, 5)
    assert choice.stage in state.stages


def test_the_limit_that_fired_is_a_gauge(qapp):
    events = loop_run()
    model, state = model_of(events)
    assert set(model.limits) == {"max_turns"}
    found = {b.name: b for b in budgets(state, 12.0, model.limits)}
    assert (found["max_turns"].words, found["max_turns"].fired) == ("Turns 3 of 3", True)
    assert found["max_total_tokens"].words == "Tokens 43 of 200"
    assert found["max_seconds"].words == "Time 12 s of 20 s"
    assert found["attempts"].words == "Repairs 1 of 2"
    assert not found["attempts"].fired


# -- notes ---------------------------------------------------------------------------------------------------------


def test_notes_include_every_event(qapp):
    model, _ = model_of(loop_run())
    text = "\n".join(
        block.text or "".join(piece for _, piece in block.pieces)
        for n in range(model.rowCount())
        for block in notes_of(model.row(n).events)
    )
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


def test_a_difference_shows_removed_and_added_text(qapp):
    model, _ = model_of(loop_run())
    block = next(b for b in notes_of(model.row(2).events) if b.kind == "difference")
    assert "".join(text for kind, text in block.pieces if kind != "new") == BAD
    assert "".join(text for kind, text in block.pieces if kind != "gone") == GOOD


def test_claims_are_listed_as_claims():
    words = claim_words({"readOnlyHint": False, "destructiveHint": True, "title": "Nice", "x": 1})
    assert words == ["not read-only", "destructive", "title “Nice”", "x: 1"]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/hosts"/></svg>'
"""A picture that names a file of this computer."""


def test_markup_and_pictures_of_other_formats_are_text(qtbot):
    view = NotesView()
    qtbot.addWidget(view)
    result = ToolResult(
        call="c",
        tool="t",
        source="s",
        ok=True,
        content=(
            ToolContent(text="<img src='file:///etc/passwd'><b>bold</b>" + "x" * (MAX_LENGTH + 5)),
            ToolContent(kind="image", data=b"no picture", mime="image/png", size=10),
            ToolContent(kind="image", data=SVG, mime="image/svg+xml", size=len(SVG)),
        ),
    )
    view.show_blocks(notes_of((result,)))
    text = view.toPlainText()
    assert "<b>bold</b>" in text
    assert "The record has the whole text." in text
    assert text.count("Not an image in a supported format") == 2


@pytest.mark.slow
def test_a_result_opens_whole_from_its_notes(qtbot):
    view = NotesView()
    qtbot.addWidget(view)
    sent = ToolContent(text="y" * (2 * MAX_LENGTH))
    big = {"rows": list(range(3 * MAX_LENGTH))}
    view.show_blocks(
        notes_of((ToolResult(call="c", tool="t", source="s", ok=True, content=(sent,), structured=big),))
    )
    links = [number for number, block in enumerate(view._blocks) if block.kind == "link"]
    for number, length in zip(links, (2 * MAX_LENGTH, len(json.dumps(big, indent=2))), strict=True):
        view.anchorClicked.emit(QUrl(f"block:{number}"))
        dialog = view.findChildren(WholeTextDialog)[-1]
        qtbot.waitUntil(lambda dialog=dialog: dialog.is_ready and not dialog.is_busy)
        assert len(dialog.text) == length and "recorded" in dialog.note.text()
        dialog.close()
    view.anchorClicked.emit(QUrl("file:///etc/passwd"))
    view.anchorClicked.emit(QUrl("block:99"))


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
def test_a_row_shows_its_own_stage(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND)
    view, runs = page.view, page.context.runs
    assert view.timeline.isHidden()
    with qtbot.waitSignal(runs.ended):
        runs.replay(loop_run(), 0)
    assert view.timeline.isVisible()
    table, model = view.timeline.table, view.timeline.model
    assert rows(model) == MARKS
    assert model.row(table.currentIndex().row()).title == "Final answer"
    table.setFocus()
    for _ in range(10):
        qtbot.keyClick(table, Qt.Key.Key_Up)
    assert model.row(table.currentIndex().row()).title == "Turn 1"
    assert view.stream.toPlainText() == BAD[:-1]
    assert view.banner.isVisible()
    assert not view.banner.button.isVisible()
    assert view.tokens_model.rowCount() == 14
    assert view.fields_model.rowCount() == 4  # with the missing one
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert view.stream.toPlainText() == GOOD
    assert not view.banner.isVisible()
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert model.row(table.currentIndex().row()).title == "Difference"
    assert "Changes" in view.notes.toPlainText()
    assert view.field_card.isHidden()
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert view.field_card.isVisible()
    assert len(page.evidence.step_chart.table()) == 1 + len(view.stage.tokens)
    request = RunRequest(prompt="x", registry=default_registry().to_document(), constraint="off")
    plain = tuple(run(request, ScriptedModel(GOOD)))
    with qtbot.waitSignal(runs.ended):
        runs.replay(plain, 0)
    assert view.timeline.isHidden()
    assert view.stream.toPlainText() == GOOD


def test_a_limit_is_shown_in_words(qapp):
    model, _ = model_of(loop_run())
    row = next(n for n in range(model.rowCount()) if model.row(n).title == "Limit")
    reported = model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert reported == "Limit, failed, max_turns: 3 of 3"
    assert isinstance(model.row(row).events[0], LimitReached)


def test_the_arguments_of_two_stages_have_their_constraints(qtbot):
    request = RunRequest(
        prompt="x",
        registry=default_registry().to_document(),
        constraint="off",
        strategy="two-stage",
        shape="tool-args",
    )
    model = ScriptedModel(turns=['"search"', '{query="x" max_results=10}'])
    state = run_state(run(request, model))
    name, arguments = state.stages
    table = FieldTableModel()
    table.show_stage(ShownStage(state, arguments, over=True))
    found = {table.row(n).path: table.row(n).constraint for n in range(table.rowCount())}
    assert name.tool.name == "search"
    assert found["/args/max_results"].startswith("integer 1")
    assert "/args/sources" in found
