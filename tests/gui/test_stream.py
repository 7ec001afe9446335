"""The stream view and the tables below it: they show the events exactly, for any chunking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent
from PySide6.QtGui import QTextCursor, QTextDocument

from glyphscope.base.figures import percent
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import RunRequest, Token, TokenStep
from glyphscope.explain import Boundaries, BoundaryDiff
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import StageState, run_state
from glyphscope.runs.strategies import run
from glyphscope_gui.runs import ShownStage, StreamView, stream_view
from glyphscope_gui.runs.field_table import CONSTRAINT, DECIDED, FIELD, VALUE, FieldTable, FieldTableModel
from glyphscope_gui.runs.token_table import COLUMNS, TOKEN, TokenTable, TokenTableModel
from glyphscope_gui.shared.run_words import step_text
from glyphscope_gui.shared.text_places import MAX_LINE, TextPlaces
from shown_stages import feed

BAD = '{action="search" query="AI 🤖 news" max_results=500}'


def events_of(text, **changes):
    document = default_registry().to_document()
    request = RunRequest(**{"prompt": "x", "registry": document, "constraint": "off", **changes})
    return list(run(request, ScriptedModel(text)))


@pytest.fixture
def view(qtbot):
    made = StreamView()
    qtbot.addWidget(made)
    made.resize(600, 200)
    made.show()
    return made


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
    events = events_of(BAD)
    state = feed(view, events, size)
    assert view.toPlainText() == state.text
    assert view.decided_characters == (state.aborted.char,)
    view.grab()


def test_the_deciding_character_stays_marked_when_more_text_is_added(view):
    state = feed(view, events_of(BAD))
    view.show_continuation(" and so on")
    marks = view.extraSelections()
    assert [mark.cursor.selectedText() for mark in marks] == [state.text[state.aborted.char]]
    assert view.toPlainText() == f"{state.text}\n and so on"


def test_only_the_visible_part_of_a_long_field_is_painted(view, monkeypatch):
    view.resize(600, 200)
    feed(view, events_of(f'{{action="search" query="{"word " * 4000}"}}', max_tokens=30_000), size=500)
    painted, paint = [], stream_view.paint_line
    monkeypatch.setattr(stream_view, "paint_line", lambda *args: painted.append(args) or paint(*args))
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


def test_a_smaller_stream_still_follows_the_text(view):
    view.resize(900, 400)
    view.show_continuation("word " * 4000)
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum())
    view.resize(300, 100)
    assert bar.maximum() and bar.value() == bar.maximum()


def test_another_theme_leaves_token_boundaries_marked(view):
    state = feed(view, events_of(BAD))
    view.set_boundaries(
        Boundaries(tokens=len(state.tokens), differences=(BoundaryDiff(0, 1, ("{",), ("{a",), "written"),))
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
    tokens = [e for e in events_of(BAD) if isinstance(e, Token)]
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


def fields_of(events):
    model = FieldTableModel()
    feed(model, events, 1)
    rows = [
        [model.index(row, c).data() for c in (FIELD, VALUE, CONSTRAINT, DECIDED)]
        for row in range(model.rowCount())
    ]
    return rows, model


def test_a_field_shows_its_value_constraint_and_place(qtbot):
    rows, _ = fields_of(events_of(BAD))
    assert rows[0][:3] == ["action", '"search"', "allow list of 7"]
    assert rows[1][:2] == ["query", '"AI 🤖 news"']
    assert rows[2][0] == "max_results"
    assert "1..100" in rows[2][2]
    assert rows[2][3] == f"character {BAD.index('500') + 2}"
    assert rows[3][:2] == ["sources", "not set"]


def test_arguments_below_a_key_have_its_name(qtbot):
    text = '{"tool":"search","args":{"query":"x"}}'
    rows, model = fields_of(events_of(text, notation="json", shape="tool-args"))
    assert ["query", '"x"'] in [row[:2] for row in rows]
    table = FieldTable(model)
    qtbot.addWidget(table)
    table.resize(400, 200)
    table.show()
    table.grab()


@pytest.mark.parametrize(("text", "row"), [(BAD.replace("500", "50"), 0), (BAD, 2)])
def test_a_low_table_shows_the_first_impossible_field_of_a_run_else_the_first_field(qtbot, text, row):
    rows, model = fields_of(events_of(text, stop_on="never"))
    table = FieldTable(model)
    qtbot.addWidget(table)
    table.resize(600, table.height_of(1))
    table.show()
    table.scrollToBottom()
    state = run_state(events_of(text, stop_on="never"))
    table.show_stage(ShownStage(state, state.present, over=True))
    place = table.visualRect(model.index(row, 0))
    assert table.viewport().rect().contains(place), rows[row]


def test_the_place_of_a_verdict_is_not_cut_after_long_reasoning(qtbot):
    table = FieldTable(FieldTableModel())
    qtbot.addWidget(table)
    assert table.columnWidth(DECIDED) > table.fontMetrics().horizontalAdvance("character 2534")


# -- reasons -------------------------------------------------------------------------------------------------------
