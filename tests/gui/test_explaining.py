"""Explanations of a run on the playground: expected and actual values by field, links to settings, token boundaries."""

import math
from dataclasses import replace

import msgspec
import pytest
from PySide6.QtCore import Qt

from glyphscope.events import Alternative, RunRequest, Token
from glyphscope.explain.impact import mask_impact
from glyphscope.explain.retokenization import BoundaryDiff, TokenBoundaries
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope_gui.playground.mask_impact_view import FIELD, MASKED, TAKEN, MaskImpactModel, MaskImpactTable
from glyphscope_gui.runs.model_queries import Answered, token_boundaries
from glyphscope_gui.runs.token_table import CUT_ROLE, TOKEN

PIECES = ['{action="', 'search"', " query", '="', "AI", '"', " max_results=", "10", "}"]
CALL = "".join(PIECES)


def masked_row(text, raw, allowed):
    return Alternative(900, text.encode(), text, raw, raw if allowed else 0.0, allowed)


CONFLICT = {
    "feasible": 0.2,
    "logprob": math.log(0.1),
    "alternatives": (masked_row("1", 0.7, False), masked_row("}", 0.1, True)),
}


def made(place=8, **changes):
    asked = RunRequest(
        **{"prompt": "x", "registry": default_registry().to_document(), "constraint": "mask", **changes}
    )
    reported = []
    for event in run(asked, ScriptedModel(PIECES)):
        if isinstance(event, Token):
            more = CONFLICT if event.step.index == place else {"feasible": 1.0, "logprob": math.log(0.9)}
            event = msgspec.structs.replace(event, step=msgspec.structs.replace(event.step, **more))
        reported.append(event)
    return tuple(reported)


@pytest.fixture
def shown(open_playground, qtbot):
    """Show a run on the playground, with all its explanations."""

    def show(events, page=None):
        page = page or open_playground(lambda _name, **_options: ScriptedModel(CALL))
        with qtbot.waitSignal(page.context.runs.ended):
            page.context.runs.replay(events, 0)
        qtbot.waitUntil(lambda: not page.stages.explain.is_busy)
        return page

    return show


def rows(view):
    return [
        [view.model.index(row, column).data() for column in range(3)] for row in range(view.model.rowCount())
    ]


@pytest.mark.slow
def test_the_view_shows_the_field_and_keyword_and_leads_to_its_description(shown, qtbot):
    page = shown(made())
    view = page.view.impact
    page.view.show_detail("impact")
    assert "max_results" in view.words.text()
    assert rows(view) == [
        ["(outside fields)", "0 of 4", ""],
        ["action", "0 of 1", ""],
        ["query", "0 of 2", ""],
        ["max_results", "0.80 of 2", "1 → }"],
    ]
    assert view.table.currentIndex().row() == 3  # the worst one is selected
    assert view.worst.text().startswith('Token 8: preferred 10▸"1" (raw 70.0%)')
    assert "maximum 100 (search:/properties/max_results/maximum)" in view.detail.text()
    assert view.model.index(3, TAKEN).data(Qt.ItemDataRole.AccessibleTextRole) == "masked tokens: 0.80 of 2"
    assert "expected number" in view.model.index(3, MASKED).data(Qt.ItemDataRole.ToolTipRole)
    assert view.boundaries.text().startswith("Token boundaries are unknown: a scripted model")
    # a field leads to its token, its place to the description
    view.table.setFocus()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert page.view.tokens.currentIndex().row() == 8
    assert view.place.text() == "Show the description of max_results"
    view.place.click()
    assert page.context.panels.revealed == [("search", "max_results")]


@pytest.mark.parametrize("path", ["/query", "/arguments/english_name"])
@pytest.mark.parametrize(("room", "hidden"), [("", True), ("thirty characters for tokens  " * 2, False)])
def test_the_names_of_fields_are_not_cut(qtbot, path, room, hidden):
    model = MaskImpactModel()
    table = MaskImpactTable(model)
    qtbot.addWidget(table)
    table.show()
    state = run_state(made())
    fields = mask_impact(state, state.stages[0]).fields
    model.show_rows([*fields, replace(fields[0], path=path)])
    names = [model.index(row, FIELD).data() for row in range(model.rowCount())]
    assert "max_results" in names
    width = table.fontMetrics().horizontalAdvance
    widest = max(map(width, names))
    table.resize(widest + width("100%") + width(room) + 80, 160)
    model.modelReset.emit()
    assert widest < table.columnWidth(FIELD) and table.isColumnHidden(MASKED) == hidden
    assert sum(table.columnWidth(column) for column in range(3)) <= table.viewport().width()


def test_the_width_alone_decides_whether_tokens_are_shown_by_the_fields(qtbot):
    """Once hidden, their title had no width, so that every second layout showed them in too narrow a column."""
    model = MaskImpactModel()
    table = MaskImpactTable(model)
    qtbot.addWidget(table)
    table.show()
    model.show_rows(mask_impact(state := run_state(made()), state.stages[0]).fields)
    title = table.horizontalHeader().sectionSizeHint(MASKED)
    for width in range(160, 700, 10):
        table.resize(width, 160)
        shown = []
        for _ in range(3):
            model.modelReset.emit()
            shown.append(table.columnWidth(MASKED) >= title if not table.isColumnHidden(MASKED) else None)
        assert shown in ([None] * 3, [True] * 3), width
    assert shown == [True] * 3


@pytest.mark.slow
def test_an_explanation_belongs_to_its_token_and_is_cleared_with_the_next_run(shown, qtbot):
    page = shown(made())
    # only tokens that are not the model's own are marked
    model, view = page.view.tokens_model, page.view.impact
    cut = TokenBoundaries(9, 8, (BoundaryDiff(4, 6, ("AI", '"'), ('AI"',), "grammar"),))
    model.set_boundaries(cut)
    view.show_boundaries(cut)
    page.view.stream.set_boundaries(cut)
    hints = [page.view.stream.tip(model.row(row)) for row in (3, 4)]
    assert ["model's own tokenization" in hint for hint in hints] == [False, True]
    marked = [row for row in range(9) if model.index(row, TOKEN).data(CUT_ROLE) is not None]
    assert marked == [4, 5]
    tip = model.index(4, TOKEN).data(Qt.ItemDataRole.ToolTipRole)
    assert 'own tokenization is [AI"]' in tip
    assert "not the model's own token" in model.index(5, TOKEN).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "1 more than the model itself" in view.boundaries.text() and "Token 4:" in view.boundaries.text()
    assert not page.view.tokens.grab().isNull()
    page.context.runs.replay(made(), 0)
    qtbot.waitUntil(lambda: not page.stages.explain.is_busy and not page.context.runs.is_busy)
    assert all(model.index(row, TOKEN).data(CUT_ROLE) is None for row in range(model.rowCount()))
    shown(made(place=0, constraint="off"), page)
    assert view.words.text().startswith("No constraint") and view.table.isHidden()
    assert view.worst.isHidden() and view.place.isHidden()
    page.context.runs.run(made()[0].request)
    assert view.table.isHidden()
    qtbot.waitUntil(lambda: not page.context.runs.is_busy and not page.stages.explain.is_busy)
    assert "does not contain" in view.words.text()  # a scripted model has no probabilities


def test_the_boundaries_of_a_run_need_its_model():
    events = made()
    answered = Answered("r", "call", "", [e for e in events if isinstance(e, Token)], events[0].model)
    own = msgspec.structs.replace(answered.model, kind="llama.cpp", path="/m.gguf", bytes=5)
    asked = Answered("r", "call", "", answered.tokens, own)
    assert "is not open" in token_boundaries(ScriptedModel("x"), asked).unknown
    assert "is not open" in token_boundaries(None, asked).unknown
