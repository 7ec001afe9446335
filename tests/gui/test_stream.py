"""An answer of several parts in the views of a run: collapsible reasoning, calls as cards, and tables by call."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible, QTextCursor, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel

from glyphscope.base.figures import percent
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import (
    Answer,
    RunRequest,
    SegmentClosed,
    SegmentOpened,
    Token,
    TokenStep,
    ToolsSearched,
)
from glyphscope.explain.retokenization import BoundaryDiff, TokenBoundaries
from glyphscope.explain.segments import reasoning_tokens
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import StageState, end_of, run_state
from glyphscope.runs.strategies import run
from glyphscope_gui.runs import ShownStage, StreamView, stage_text
from glyphscope_gui.runs.field_table import (
    CONSTRAINT,
    DECIDED,
    FIELD,
    NARROW,
    TOKENS,
    VALUE,
    FieldTable,
    FieldTableModel,
)
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.runs.token_table import COLUMNS, PART, RULE, TOKEN, TokenTable, TokenTableModel
from glyphscope_gui.shared import stops
from glyphscope_gui.shared.run_words import step_text
from glyphscope_gui.shared.text_places import MAX_LINE, TextPlaces
from made_runs import GOOD, THOUGHT, parts_run
from shown_stages import feed
from talks import talk

LONG_THOUGHT = THOUGHT * (280 // len(THOUGHT) + 1)


@pytest.fixture
def view(qtbot):
    made = StreamView()
    qtbot.addWidget(made)
    made.resize(760, 700)
    made.show()
    return made


def headers(view):
    """Return the visible headers, from the top."""
    found = [header for header in view.findChildren(QAbstractButton) if header.isVisible()]
    return sorted(found, key=lambda header: header.y())


def names(view):
    return [header.accessibleName() for header in headers(view)]


def shown_characters(view, state):
    """Return the document's character at each place of the text."""
    text, places = view.toPlainText(), view.shown.places
    return "".join(text[places.position(n)] for n in range(len(state.text)))


# -- the stream ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_the_stream_is_the_same_however_the_events_are_cut(view, size):
    state = feed(view, parts_run(), size)
    assert shown_characters(view, state).replace("⏎", "\n") == state.text
    assert view.decided_characters == (state.violations[0].char,)
    first, second, third = names(view)
    assert first.startswith("Reasoning, 32 of 256 tokens · ")
    assert second == "Call 1 of 2, search, ✓ valid"
    assert third.startswith("Call 2 of 2, search, ✕ max_results is at most 100")
    view.grab()


def test_an_answer_of_parts_looks_the_same_when_it_is_shown_later(view, qtbot):
    state = feed(view, parts_run(LONG_THOUGHT))
    before = (view.toPlainText(), [header.geometry() for header in headers(view)], names(view))
    view.show_stage(ShownStage())
    view.show_stage(ShownStage(state, state.present, over=True))
    assert (view.toPlainText(), [header.geometry() for header in headers(view)], names(view)) == before


def test_the_headers_at_the_top_are_shown_where_line_ends_between_calls_are_hidden(view):
    state = run_state(bundled_run("native-tags.jsonl"))
    stage = state.stages[0]
    view.resize(760, 200)
    view.show_stage(ShownStage(state, stage, over=True))
    view.verticalScrollBar().setValue(0)
    assert names(view)[0].startswith("Reasoning, ") and headers(view)[0].y() > 0
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    assert names(view)[-1].startswith("Call 2 of 2, ")


def test_a_part_whose_end_is_known_late_moves_there(view):
    pieces = ["so", "</", "think", ">", "{}"]
    events, at = [], 0
    for index, piece in enumerate(pieces):
        step = TokenStep(index=index, id=index, data=piece.encode(), text=piece)
        events.append(Token(step=step, start=at, end=at + len(piece)))
        at += len(piece)
        if piece == "so":
            events.append(SegmentOpened(kind="reasoning", start=0))
        if piece == ">":
            events.append(SegmentClosed(kind="reasoning", start=0, end=2))
    events.append(SegmentOpened(kind="call", start=10))
    state = feed(view, events, 1)
    blocks = [line for line in view.toPlainText().splitlines() if line]
    assert blocks == ["so", "</think>", "{}"]
    assert shown_characters(view, state) == state.text


def test_the_most_likely_earlier_call_is_shown_with_its_kind_of_probability(view, qtbot):
    feed(view, parts_run())
    qtbot.waitUntil(lambda: "a call here: at most 12.4% raw, token 4" in names(view)[0])
    feed(view, parts_run(early=None))
    assert "a call here" not in names(view)[0]


# -- folding -------------------------------------------------------------------------------------------------------


def test_long_reasoning_collapses_once_it_is_complete_and_expands_by_click_and_key(view):
    state = feed(view, parts_run(LONG_THOUGHT))
    high = view.document().size().height()
    header = headers(view)[0]
    assert header.accessibleName().endswith("collapsed") and not header.accessibleName().endswith("expanded")
    QTest.mouseClick(header, Qt.MouseButton.LeftButton)
    assert header.accessibleName().endswith("expanded")
    assert view.document().size().height() > high
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return):
        before = header.accessibleName()
        QTest.keyClick(header, key)
        assert header.accessibleName() != before
    assert shown_characters(view, state).replace("⏎", "\n") == state.text


def test_short_reasoning_stays_open_and_long_reasoning_does_while_it_is_written(view):
    feed(view, parts_run())
    assert names(view)[0].endswith("expanded")
    events = parts_run(LONG_THOUGHT)
    closing = next(n for n, event in enumerate(events) if isinstance(event, SegmentClosed))
    feed(view, events[:closing])
    assert names(view)[0].endswith("expanded")


def test_a_chosen_token_in_collapsed_reasoning_expands_it(view):
    state = feed(view, parts_run(LONG_THOUGHT))
    view.select_token(state.tokens[5])
    assert names(view)[0].endswith("expanded")


def test_reasoning_collapsed_by_the_user_stays_collapsed_in_another_theme(view):
    feed(view, parts_run())
    headers(view)[0].click()
    before = view.toPlainText()
    view.changeEvent(QEvent(QEvent.Type.PaletteChange))
    assert names(view)[0].endswith("collapsed") and not names(view)[0].endswith("expanded")
    assert view.toPlainText() == before


def test_only_reasoning_takes_the_focus_and_headers_are_named_for_screen_readers(view):
    feed(view, parts_run())
    focusable = [header for header in headers(view) if header.focusPolicy() != Qt.FocusPolicy.NoFocus]
    assert len(focusable) == 1
    assert list(stops(view)) == [view, focusable[0]]
    interface = QAccessible.queryAccessibleInterface(focusable[0])
    assert interface.text(QAccessible.Text.Name).startswith("Reasoning")
    assert "highest raw probability" in interface.text(QAccessible.Text.Description)


# -- clicks and bounds ---------------------------------------------------------------------------------------------


def test_a_click_chooses_the_token_under_it_in_every_part(view, qtbot):
    state = feed(view, parts_run())
    for token in state.tokens:
        boxes = view._boxes(token.start, token.end)
        if token.start == token.end or not boxes:
            continue
        place = boxes[0].center().toPoint() - QPoint(0, view.verticalScrollBar().value())
        with qtbot.waitSignal(view.tokenChosen) as chosen:
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert chosen.args[0] == token.step.index


@pytest.mark.slow
def test_a_thousand_calls_need_no_more_headers_than_fit_into_the_view(view):
    events, at = [], 0
    for index in range(1000):
        piece = "{} "
        step = TokenStep(index=index, id=1, data=piece.encode(), text=piece)
        events.append(Token(step=step, start=at, end=at + 3))
        events.append(SegmentOpened(kind="call", start=at, call_index=index))
        events.append(SegmentClosed(kind="call", start=at, end=at + 2, call_index=index))
        at += 3
    feed(view, events, 100)
    assert names(view)[-1] == "Call 1000 of 1000, ✓ valid"
    assert len(view.findChildren(QAbstractButton)) < 40
    view.verticalScrollBar().setValue(0)
    assert names(view)[0] == "Call 1 of 1000, ✓ valid"
    view.grab()


# -- tables --------------------------------------------------------------------------------------------------------


def fields_of(events, size=1):
    model = FieldTableModel()
    return model, feed(model, events, size)


def rows_of(model):
    return [(model.index(n, FIELD).data(), model.index(n, VALUE).data()) for n in range(model.rowCount())]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_fields_of_several_calls_are_grouped_by_call_with_its_verdict(size, qtmodeltester):
    model, _ = fields_of(parts_run(), size)
    qtmodeltester.check(model)
    arguments = [("action", '"search"'), ("query", '"AI news"')]
    assert rows_of(model) == [
        ("Call 1", "search"), *arguments, ("max_results", "10"), ("sources", "not set"),
        ("Call 2", "search"), *arguments, ("max_results", "500"), ("sources", "not set"),
    ]  # fmt: skip
    assert [model.row(n).status for n in (0, 5)] == ["holds", "impossible"]
    assert "at most 100" in model.index(5, CONSTRAINT).data()


def test_tokens_name_their_part_and_the_column_is_there_only_with_parts(qtbot):
    model = TokenTableModel()
    table = TokenTable(model)
    qtbot.addWidget(table)
    table.resize(1200, 300)
    table.show()
    assert table.isColumnHidden(PART)
    state = run_state(parts_run())
    table.show_stage(ShownStage(state, state.present))
    assert not table.isColumnHidden(PART) and table.isColumnHidden(RULE)
    parts = [model.index(n, PART).data() for n in range(model.rowCount())]
    assert list(dict.fromkeys(parts)) == ["reasoning", "marker", "text", "call 1", "call 2"]
    assert model.index(0, PART).data(Qt.ItemDataRole.AccessibleTextRole) == "part: reasoning"


# -- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_text_that_turns_out_to_be_reasoning_is_shown_as_reasoning(view, size):
    events = [
        msgspec.structs.replace(event, kind="text")
        if isinstance(event, SegmentOpened) and event.kind == "reasoning"
        else event
        for event in parts_run(calls=(GOOD,))
    ]
    state = feed(view, events, size)
    assert [part.kind for part in state.present.segments] == ["reasoning", "text", "call"]
    found = (view.toPlainText(), [header.geometry() for header in headers(view)], names(view))
    feed(view, parts_run(calls=(GOOD,)), size)
    assert (view.toPlainText(), [header.geometry() for header in headers(view)], names(view)) == found
    assert found[2][0].startswith("Reasoning, ")


@pytest.mark.slow
@pytest.mark.parametrize("record", ["native-tags.jsonl", "native-channels.jsonl"])
def test_the_sizes_of_calls_leave_out_the_reasoning_of_their_own_turn(open_playground, qtbot, record):
    page = open_playground()
    runs, sizes = page.context.runs, page.view.sizes
    with qtbot.waitSignal(runs.ended):
        runs.replay(bundled_run(record), 0)
    qtbot.waitUntil(lambda: not sizes.title.isHidden())
    *_, called = (reasoning_tokens(stage) for stage in runs.state.stages if stage.calls)
    assert f"Not counted: {called} tokens of reasoning." in sizes.note.text()


def test_the_playground_shows_an_answer_of_parts(open_playground, qtbot):
    page = open_playground()
    runs, view, evidence = page.context.runs, page.view, page.evidence
    assert evidence.boxes["turn"].isHidden()
    with qtbot.waitSignal(runs.ended):
        runs.replay(tuple(map(_narrowed, parts_run(calls=(GOOD, GOOD)))), 0)
    qtbot.waitUntil(lambda: not view.sizes.title.isHidden())
    assert end_of(runs.state).words == "2 valid calls"
    view.focus_tokens()
    assert not view.tokens.isColumnHidden(PART)
    turn = evidence.sections["turn"]
    assert turn.isVisible() and turn.hint.text().startswith("tokens: reasoning 32, text ")
    turn.button.click()
    shown = [label.accessibleName() for label in evidence.turn.findChildren(QLabel) if label.isVisible()]
    assert "reasoning, tokens: 32" in shown and "markers, forced: 9" in shown
    assert "From token 3 on, the mask makes sure that the answer fits" in evidence.turn.note.text()
    assert view.sizes.title.text() == "Size of these calls"
    assert "Not counted: 32 tokens of reasoning." in view.sizes.note.text()
    assert view.current_token().end <= runs.state.call_at(1).part.end


def _narrowed(event):
    """The event, with a mask narrowed by the budget of tokens from token 3 on."""
    if not isinstance(event, Token) or event.step.index < 3:
        return event
    return msgspec.structs.replace(event, step=msgspec.structs.replace(event.step, narrowed="tokens"))


# -- a text without parts -------------------------------------------------------------------------------------------


STOPPED = '{action="search" query="AI 🤖 news" max_results=500}'


def events_of(text, **changes):
    document = default_registry().to_document()
    request = RunRequest(**{"prompt": "x", "registry": document, "constraint": "off", **changes})
    return list(run(request, ScriptedModel(text)))


# -- places --------------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.text(st.sampled_from("ab\n\r\x00🤖é\u2028\ufdd0"), max_size=9), max_size=12)


@pytest.mark.slow
@given(TEXTS, st.integers(0, 40))
def test_a_character_is_found_at_its_place_in_the_document(pieces, repeat):
    pieces = [*pieces, "long🤖" * repeat * 10]
    document, places = QTextDocument(), TextPlaces()
    cursor = QTextCursor(document)
    for piece in pieces:
        cursor.insertText(places.add(visible(piece, lines=True, single=True)))
    text = "".join(visible(piece, lines=True, single=True) for piece in pieces)
    step = max(len(text) // 50, 1)
    for index in range(0, len(text), step):
        cursor.setPosition(places.position(index))
        wide = ord(text[index]) > 0xFFFF
        cursor.setPosition(places.position(index) + 1 + wide, QTextCursor.MoveMode.KeepAnchor)
        assert cursor.selectedText().replace("\u2029", "\n") == text[index]
        assert places.character(places.position(index)) == index


def test_one_very_long_line_is_several_blocks():
    places = TextPlaces()
    assert places.add("x" * (MAX_LINE * 3)).count("\n") == 2


# -- the stream ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_the_stream_is_the_same_however_events_are_batched(view, size):
    view.resize(600, 200)
    events = events_of(STOPPED)
    state = feed(view, events, size)
    assert view.toPlainText() == state.text
    assert view.decided_characters == (state.aborted.char,)
    view.grab()


def test_the_deciding_character_stays_marked_when_more_text_is_added(view):
    state = feed(view, events_of(STOPPED))
    view.show_continuation(" and so on")
    marks = view.extraSelections()
    assert [mark.cursor.selectedText() for mark in marks] == [state.text[state.aborted.char]]
    assert view.toPlainText() == f"{state.text}\n and so on"


def test_only_the_visible_part_of_a_long_field_is_painted(view, monkeypatch):
    view.resize(600, 200)
    feed(view, events_of(f'{{action="search" query="{"word " * 4000}"}}', max_tokens=30_000), size=500)
    painted, paint = [], stage_text.paint_line
    monkeypatch.setattr(stage_text, "paint_line", lambda *args: painted.append(args) or paint(*args))
    bar = view.verticalScrollBar()
    for place in (0, bar.maximum() // 2, bar.maximum()):
        bar.setValue(place)
        painted.clear()
        view.grab()
        assert 2 <= len(painted) < 60


def test_a_smaller_stream_has_the_chosen_token_in_sight(view):
    view.resize(900, 400)
    state = feed(view, events_of(f'{{action="search" query="{"word " * 200}"}}', max_tokens=30_000))
    view.select_token(state.tokens[-1])
    view.resize(300, 100)
    cursor = QTextCursor(view.document())
    cursor.setPosition(state.tokens[-1].start)
    assert view.viewport().rect().contains(view.cursorRect(cursor).center())


def test_a_stream_that_scrolls_to_a_character_begins_with_a_whole_line(view):
    view.resize(300, 110)
    state = feed(view, events_of(f'{{action="search" query="{"word " * 200}"}}', max_tokens=30_000))
    cursor = QTextCursor(view.document())
    view.select_token(state.tokens[0])
    for token in state.tokens:
        view.select_token(token)
        cursor.setPosition(view.sight()[0])
        assert not view.cursorRect(cursor).top() < 0 < view.cursorRect(cursor).bottom()
        cursor.setPosition(token.start)
        assert view.viewport().rect().contains(view.cursorRect(cursor).center())


def test_a_smaller_stream_still_follows_the_text(view):
    view.resize(900, 400)
    view.show_continuation("word " * 4000)
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum())
    view.resize(300, 100)
    assert bar.maximum() and bar.value() == bar.maximum()


def test_another_theme_leaves_token_boundaries_marked(view):
    state = feed(view, events_of(STOPPED))
    view.set_boundaries(
        TokenBoundaries(
            tokens=len(state.tokens), differences=(BoundaryDiff(0, 1, ("{",), ("{a",), "written"),)
        )
    )
    assert "Not the model's own" in view.tip(state.tokens[0])
    view.changeEvent(QEvent(QEvent.Type.PaletteChange))
    assert "Not the model's own" in view.tip(state.tokens[0])
    view.show_stage(ShownStage())
    assert "Not the model's own" not in view.tip(state.tokens[0])


# -- tokens --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b" news", "·news"),
        (b"\n", "⏎"),
        (b"\xe2\x80", "⟨E2 80⟩"),
        (b"\x94 x", "⟨94⟩·x"),
        ("é".encode(), "é"),
        (b"a\xff\xfeb", "a⟨FF⟩⟨FE⟩b"),
        (b"", "⟨⟩"),
    ],
)
def test_a_token_is_shown_with_visible_characters(data, seen):
    assert token_text(data) == seen


def test_an_end_token_is_visible():
    assert step_text(TokenStep(index=0, id=2, data=b"", text="", end=True)) == "⟨end⟩"


def test_unmeasured_figures_are_shown_as_a_dash(qtbot, qtmodeltester):
    model = TokenTableModel()
    qtmodeltester.check(model)
    token = Token(step=TokenStep(index=0, id=1, data=b"a", text="a"), start=0, end=1)
    model.show_stage(ShownStage(stage=StageState(tokens=[token])))
    shown_words = {c.title: model.index(0, place).data() for place, c in enumerate(COLUMNS)}
    assert shown_words["raw p"] == shown_words["rank"] == shown_words["feasible"] == "–"
    assert percent(0.0001) == "<0.1%"


def test_rows_of_a_batch_are_inserted_together(qtbot):
    model = TokenTableModel()
    table = TokenTable(model)
    qtbot.addWidget(table)
    inserts = []
    model.rowsInserted.connect(lambda _parent, first, last: inserts.append((first, last)))
    tokens = [e for e in events_of(STOPPED) if isinstance(e, Token)]
    shown = ShownStage(stage=StageState(tokens=tokens[:5]))
    model.show_stage(shown)
    shown.stage.tokens += tokens[5:]
    model.show_stage(shown)
    assert inserts == [(0, 4), (5, len(tokens) - 1)]
    with qtbot.waitSignal(table.tokenChosen) as chosen:
        table.choose(2)
    assert chosen.args[0] == 2
    assert model.index(2, TOKEN).data() == step_text(tokens[2].step)


# -- fields --------------------------------------------------------------------------------------------------------


def table_of(events):
    model = FieldTableModel()
    feed(model, events, 1)
    rows = [
        [model.index(row, c).data() for c in (FIELD, VALUE, CONSTRAINT, DECIDED)]
        for row in range(model.rowCount())
    ]
    return rows, model


def test_a_field_shows_its_value_constraint_and_place(qtbot):
    rows, _ = table_of(events_of(STOPPED))
    assert rows[0][:3] == ["action", '"search"', "allow list of 7"]
    assert rows[1][:2] == ["query", '"AI 🤖 news"']
    assert rows[2][0] == "max_results"
    assert "1..100" in rows[2][2]
    assert rows[2][3] == f"character {STOPPED.index('500') + 2}"
    assert rows[3][:2] == ["sources", "not set"]


def test_a_field_of_an_answer_with_a_schema_shows_its_constraint(qtbot):
    schema = {
        "type": "object", "required": ["age"],
        "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 120}, "action": {"enum": ["a", "b"]}},
    }  # fmt: skip
    answer = Answer("schema", json.dumps(schema))
    rows, _ = table_of(events_of('{"age": 41}', notation="json", answer=answer, shape="tool-args"))
    assert [row[:3] for row in rows] == [
        ["age", "41", "integer 0..120"],
        ["action", "not set", '"a"|"b", optional'],
    ]


def test_a_turn_with_deferred_tools_shows_how_many_it_offered_and_the_bounds_of_the_search(qtbot):
    find, search = '{action="search_tools" query="calculate an expression"}', '{action="search" query="x"}'
    events = talk(find, search, "Done.", defer_tools=0.0, max_found_tools=2)
    first = events.index(next(event for event in events if isinstance(event, ToolsSearched)))
    rows, _ = table_of(events[: first + 1])
    assert [rows[0][2], rows[1][0], rows[1][2]] == ["one tool allowed", "query", "string of length 1..200"]


def test_arguments_below_a_key_have_its_name(qtbot):
    text = '{"tool":"search","args":{"query":"x"}}'
    rows, model = table_of(events_of(text, notation="json", shape="tool-args"))
    assert ["query", '"x"'] in [row[:2] for row in rows]
    table = FieldTable(model)
    qtbot.addWidget(table)
    table.resize(400, 200)
    table.show()
    table.grab()


@pytest.mark.parametrize(("text", "row"), [(STOPPED.replace("500", "50"), 0), (STOPPED, 2)])
def test_a_low_table_shows_the_first_impossible_field_of_a_run_else_the_first_field(qtbot, text, row):
    rows, model = table_of(events_of(text, stop_on="never"))
    table = FieldTable(model)
    qtbot.addWidget(table)
    table.resize(600, table.height_of(1))
    table.show()
    table.scrollToBottom()
    state = run_state(events_of(text, stop_on="never"))
    table.show_stage(ShownStage(state, state.present, over=True))
    place = table.visualRect(model.index(row, 0))
    assert table.viewport().rect().contains(place), rows[row]


def test_a_scroll_bar_hides_no_column(qtbot):
    _, model = table_of(events_of(STOPPED, stop_on="never"))
    table = FieldTable(model)
    qtbot.addWidget(table)
    table.show()
    room = NARROW * table.fontMetrics().averageCharWidth() + 2 * table.frameWidth()
    for height in (table.height_of(20), table.height_of(1)):
        table.resize(room + 4, height)
        table.grab()
        assert not table.isColumnHidden(TOKENS), height
    assert table.verticalScrollBar().isVisible()


def test_the_place_of_a_verdict_is_not_cut_after_long_reasoning(qtbot):
    table = FieldTable(FieldTableModel())
    qtbot.addWidget(table)
    assert table.columnWidth(DECIDED) > table.fontMetrics().horizontalAdvance("character 2534")


# -- reasons -------------------------------------------------------------------------------------------------------
