"""Branches on the playground, without a model: from a token to a run, their tree, masked tokens, and texts."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from fake_context import scripted
from glyphscope.events import Answer, BranchPoint, PrefixPart, Relaxed, RunRequest, RunStarted, Token
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.models.interface import Vocabulary
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_tree, end_of, run_state
from glyphscope.store.history import kin_of
from glyphscope_gui.playground import MAX_INDENT, BranchPanel
from glyphscope_gui.playground.branches.words import (
    LOOKING,
    NO_CONSTRAINT,
    OWN_GRAMMAR,
    constraint_words,
    incomplete_words,
    mask_reason,
    outcome_line,
    pieces_words,
    place_words,
    relaxation_words,
    replacement_words,
    shared_bytes,
)
from glyphscope_gui.runs import ModelStatus, Phase
from glyphscope_gui.runs.alternatives_table import REASON_ROLE
from glyphscope_gui.runs.model_queries import Typed, pieces_of
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId

CALL = '{action="search" query="AI news" max_results=10}'
REGISTRY = default_registry()
REQUEST = RunRequest(prompt="p", registry=REGISTRY.to_document())
MASKED = bundled_run("search-mask.jsonl")


@pytest.fixture
def open_record(open_playground, qtbot):
    """Make the playground with a record shown in it; its model writes the script `says`, or is that model."""

    def build(events=MASKED, says=CALL):
        model = ScriptedModel(says) if isinstance(says, str) else says
        page = open_playground(lambda _name, **_options: model)
        ended(qtbot, page, lambda: page.context.runs.show_record(events))
        return page

    return build


def ended(qtbot, page, begin):
    runs = page.context.runs
    with qtbot.waitSignal(runs.ended):
        begin()
    qtbot.waitUntil(lambda: not runs.is_busy)
    return runs.state


def choose(page, token, text=None):
    """Choose a token, and one of its alternatives once its constraint is found."""
    page.view.tokens.choose(token)
    if text is None:
        return
    evidence = page.evidence
    reported = page.context.runs.state.tokens[token].step.alternatives
    row = next(place for place, one in enumerate(reported) if one.text == text)
    if row >= evidence.alternatives_model.rowCount():
        evidence.all_button.click()
    evidence.alternatives.selectRow(row)


def stream_place(page, token):
    """The place of a token in the stream."""
    stream, shown = page.view.stream, page.context.runs.state.tokens[token]
    box = stream._boxes(shown.start, shown.end)[0]
    return box.translated(0, -stream.verticalScrollBar().value()).center().toPoint()


def masked_place(events):
    """Return a token with an alternative that a constraint masks, and that alternative's text."""
    for event in events:
        if isinstance(event, Token) and not event.step.forced:
            for one in event.step.alternatives:
                if one.allowed is False and one.text == "0":
                    return event.step.index, one
    raise AssertionError("the record has none")


def rows(page):
    model, found = page.view.branches.model, []

    def look(parent, depth):
        for row in range(model.rowCount(parent)):
            index = model.index(row, 0, parent)
            found.append((depth, model.data(index), model.data(index.siblingAtColumn(1))))
            look(index, depth + 1)

    look(QModelIndex(), 0)
    return found


@pytest.mark.slow
def test_chosen_typed_and_deleted_tokens_branch_and_the_way_back_is_there(qtbot, open_record):
    page = open_record()
    bar, tokens, card = page.evidence.branch_bar, page.view.tokens, page.view.branches
    first = page.context.runs.state.started.run
    assert card.isHidden() and not card.back_action.isEnabled()
    step = page.context.runs.state.tokens[7].step
    other = next(one for one in step.alternatives if one.allowed and one.id != step.id)
    choose(page, 7, other.text)
    assert bar.take_button.text().startswith("Continue with ")
    state = ended(qtbot, page, lambda: QTest.keyClick(page.evidence.alternatives, Qt.Key.Key_Return))
    second = state.started.run
    assert state.started.request.branch_of == BranchPoint(first, 7)
    assert state.started.request.written[-1] == PrefixPart(other.data, other.id)
    assert card.isVisible() and not card.forward_action.isEnabled()
    assert "7 kept, 1 written" in page.evidence.branch_panel.usage.text()
    assert page.view.current_token().step.index == 7
    qtbot.waitUntil(
        lambda: len(page.context.services.history.rows()) == 2
    )  # and the run it branches from, which came from a file

    page.view.window().activateWindow()
    page.view.focus_tokens()
    qtbot.waitUntil(tokens.hasFocus)
    QTest.keyClick(tokens, Qt.Key.Key_T)
    assert bar.field.edit.hasFocus()
    QTest.keyClick(bar.field.edit, Qt.Key.Key_Escape)
    assert bar.field.isHidden()
    bar.link_buttons[0].click()
    QTest.keyClicks(bar.field.edit, "weather")
    qtbot.waitUntil(lambda: "1 token" in bar.field.pieces.text())
    state = ended(qtbot, page, lambda: QTest.keyClick(bar.field.edit, Qt.Key.Key_Return))
    assert state.started.request.written[-1] == PrefixPart(b"weather")
    third, hidden = state.started.run, bar.field.isHidden()
    assert hidden
    menu = page.view.stream.menu_at(stream_place(page, 3))
    assert bar.actions_["delete"] in menu.actions() and page.view.current_token().step.index == 3
    menu.deleteLater()
    state = ended(qtbot, page, bar.actions_["delete"].trigger)
    assert (len(state.started.request.written), state.started.request.branch_of) == (3, BranchPoint(third, 3))
    choose(page, 3)
    state = ended(qtbot, page, bar.actions_["keep"].trigger)
    assert len(state.started.request.written) == 4
    assert [depth for depth, *_ in rows(page)] == [0, 1, 2, 3, 4]
    assert rows(page)[2][1] == "7  “weather”"
    assert rows(page)[3][1] == "3  deleted: the model continues"

    tree = card.tree
    tree.setCurrentIndex(card.model.index_of(second))
    state = ended(qtbot, page, lambda: QTest.keyClick(tree, Qt.Key.Key_Return))
    assert state.started.run == second and page.view.current_token().step.index == 7
    assert ended(qtbot, page, card.back_action.trigger).started.run == first
    assert page.view.current_token().step.index == 7
    assert [name[:1] == "▸" for _, name, _ in rows(page)] == [True, False, False, False, False]
    choose(page, 9)
    newest = ended(qtbot, page, bar.actions_["delete"].trigger).started.run
    ended(qtbot, page, card.back_action.trigger)
    assert ended(qtbot, page, card.forward_action.trigger).started.run == newest


@pytest.mark.slow
def test_a_cell_that_is_painted_again_leaves_the_reason_below_it(qtbot, open_record):
    page = open_record()
    choose(page, masked_place(MASKED)[0], "0")
    table = page.evidence.alternatives
    qtbot.waitUntil(lambda: bool(table.currentIndex().data(REASON_ROLE)))
    cell = table.visualRect(table.currentIndex().siblingAtColumn(0))
    qtbot.waitUntil(lambda: table.viewport().rect().contains(cell))
    before = table.viewport().grab().toImage()
    again = before.copy()
    table.viewport().render(again, cell.topLeft(), QRegion(cell))
    assert again == before


@pytest.mark.slow
def test_a_masked_alternative_shows_why_and_can_be_allowed(qtbot, open_record):
    page = open_record()
    bar = page.evidence.branch_bar
    token, other = masked_place(MASKED)
    choose(page, token, "0")
    assert bar.box.isVisible() and bar.take_button.isHidden()
    qtbot.waitUntil(bar.box.relax_button.isVisible)
    words = bar.box.reason.text()
    assert "0 is masked" in words and "max_results" in words
    assert "Blocked by minimum: search, /properties/max_results/minimum is 1" in words
    assert "The grammar: " in words
    QTest.keyClick(page.evidence.alternatives, Qt.Key.Key_Return)
    assert page.context.runs.phase.value == "idle"  # Enter moves to the choice, and does not confirm it
    before = page.context.runs.state.started.run
    request = ended(qtbot, page, bar.box.relax_button.click).started.request
    assert request.relaxed == (Relaxed("search", "/properties/max_results/minimum"),)
    assert (request.constraint, request.written[-1].id) == ("mask", other.id)
    panel = page.evidence.branch_panel
    qtbot.waitUntil(panel.cost.isVisible)
    assert panel.cost_words.startswith("From this token on: without minimum of max_results.")
    assert "of the raw probability" in panel.cost_words
    assert rows(page)[1][1].endswith("0  ·  without minimum of max_results")
    ended(qtbot, page, page.view.branches.back_action.trigger)
    assert panel.cost.isHidden()
    choose(page, token)
    bar.open_field()
    bar.field.edit.setText("50")
    qtbot.waitUntil(lambda: "1 token" in bar.field.pieces.text())
    assert bar.typed_box.isHidden()
    bar.field.edit.setText("500")
    qtbot.waitUntil(bar.typed_box.isVisible)
    assert "Blocked by maximum: search, /properties/max_results/maximum is 100" in bar.typed_box.reason.text()
    QTest.keyClick(bar.field.edit, Qt.Key.Key_Return)
    assert page.context.runs.phase.value == "idle"  # a masked text is not tried
    request = ended(qtbot, page, bar.typed_box.relax_button.click).started.request
    assert request.relaxed == (Relaxed("search", "/properties/max_results/maximum"),)
    assert request.written[-1] == PrefixPart(b"500")
    ended(qtbot, page, page.view.branches.back_action.trigger)
    choose(page, token, "0")
    request = ended(qtbot, page, bar.box.unconstrained_button.click).started.request
    assert (request.constraint, request.relaxed) == ("off", ())
    assert request.branch_of == BranchPoint(before, token)
    qtbot.waitUntil(panel.cost.isVisible)
    assert panel.cost_words.startswith("From this token on: without a constraint.")


@pytest.mark.slow
def test_a_run_is_named_in_the_tree_and_the_history_alone_and_the_tree_is_found_there(qtbot, open_record):
    page = open_record()
    page.context.project.set_options(constraint="off")
    bar = page.evidence.branch_bar
    page.step()
    qtbot.waitUntil(lambda: len(page.context.runs.state.tokens) >= 1)
    page.view.tokens.choose(0)
    assert (
        bar.words.text() == "Stop the run, or wait until it finishes, to branch." and bar.links.isHidden()
    )  # no branches of a run in progress
    assert not any(action.isEnabled() for action in bar.actions_.values())
    first = ended(qtbot, page, page.run).started.run
    choose(page, 3)
    second = ended(qtbot, page, page.evidence.branch_bar.actions_["delete"].trigger).started.run
    qtbot.waitUntil(lambda: len(page.context.services.history.rows()) == 2)
    model = page.view.branches.model
    assert model.setData(model.index_of(second), "without the action")
    assert model.setData(model.index_of(first), "  the   run ")
    qtbot.waitUntil(
        lambda: (
            {row.name for row in page.context.services.history.rows()} == {"without the action", "the run"}
        )
    )
    ended(qtbot, page, lambda: page.context.runs.show_record(MASKED))
    assert page.view.branches.isHidden() and len(page.branches.branches.kin) == 1

    ended(qtbot, page, lambda: page.context.recorder.open(second, page.context.runs.show_record))
    qtbot.waitUntil(lambda: len(page.branches.branches.kin) == 2)
    assert rows(page)[0][1] == "the run"
    assert rows(page)[1][1].startswith("▸ without the action  ·  3  ")
    page.context.services.history.describe(second, name="from the history panel", note="seen")
    page.context.recorder.described.emit(second)
    qtbot.waitUntil(lambda: rows(page)[1][1].startswith("▸ from the history panel  ·  3  "))
    tip = model.index_of(second).data(Qt.ItemDataRole.ToolTipRole)
    assert "seen" in tip and not page.evidence.branch_panel.findChildren(QLineEdit), "they are in one place"
    assert ended(qtbot, page, page.view.branches.back_action.trigger).started.run == first


@pytest.mark.slow
def test_the_name_of_a_branch_is_whole_where_there_is_room_beside_its_text(open_window, qtbot):
    window = open_window(scripted)
    view = window.page(PageId.PLAYGROUND).view
    for events in (MASKED, bundled_run("search-relaxed.jsonl")):
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(events)
    tree = view.branches.tree
    qtbot.waitUntil(tree.isVisible)
    words = tree.model().index(0, 0, tree.model().index(0, 0)).data()
    assert words.endswith("without minimum of max_results")
    assert tree.columnWidth(0) >= tree.sizeHintForColumn(0)


@pytest.mark.slow
def test_a_run_without_a_token_cannot_be_branched(qtbot, open_record):
    page = open_record()
    bar = page.evidence.branch_bar
    choose(page, 3)
    assert bar.can_branch
    ended(qtbot, page, lambda: page.context.runs.show_record(MASKED[:1]))
    assert not bar.can_branch and bar.isHidden()


class Special(ScriptedModel):
    """Has a special token: the first alternative of the record's token 7."""

    def vocabulary(self):
        return Vocabulary(names={"<|end|>": run_state(MASKED).tokens[7].step.alternatives[0].id})


@pytest.mark.slow
def test_special_tokens_are_marked_only_in_runs_of_the_open_model(qtbot, open_record):
    own = MASKED[0].model
    other = msgspec.structs.replace(own, path="other.gguf", sha256="other")
    of_other = (msgspec.structs.replace(MASKED[0], model=other), *MASKED[1:])
    page = open_record(says=Special(CALL))
    runs, model = page.context.runs, page.evidence.alternatives_model
    for info, events, marked in (
        (other, MASKED, False),
        (own, MASKED, True),
        (own, of_other, False),
        (other, of_other, True),
        (own, MASKED, True),
    ):
        runs.modelStatusChanged.emit(ModelStatus("opening", "m"))
        runs.model = ModelStatus("ready", "m", info=info)
        runs.modelStatusChanged.emit(runs.model)
        ended(qtbot, page, lambda events=events: runs.show_record(events))
        choose(page, 0)
        choose(page, 7)
        with qtbot.waitCallback() as answered:  # and so is the earlier question
            runs.queries.ask("last", lambda _model: None, answered)
        assert model.index(0, 0).data().startswith("⟨") is marked


@pytest.mark.slow
def test_a_branch_that_cannot_start_says_why_and_is_no_internal_error(qtbot, open_record):
    gone = msgspec.structs.replace(MASKED[0].model, path="/nowhere/gone.gguf")
    asked = msgspec.structs.replace(MASKED[0].request, model="")
    page = open_record((msgspec.structs.replace(MASKED[0], model=gone, request=asked), *MASKED[1:]))
    page.context.project.set_options(constraint="off")
    runs, bar = page.context.runs, page.evidence.branch_bar
    ready = lambda: qtbot.waitUntil(lambda: not page.branches.branches._background.is_busy)  # noqa: E731
    runs.model = ModelStatus("ready", "m", info=gone)  # the model that wrote the record
    choose(page, 3)
    bar.actions_["keep"].trigger()
    runs.model = ModelStatus("ready", "o", info=msgspec.structs.replace(gone, path="o.gguf", sha256="other"))
    ready()
    qtbot.waitUntil(lambda: "which is not available" in bar.words.text())
    assert not runs.is_busy
    runs.model = ModelStatus("ready", "m", info=gone)
    choose(page, 4)
    bar.actions_["keep"].trigger()
    page.step()  # so that it does not end earlier
    ready()
    assert (
        bar.words.text() == "Stop the run, or wait until it finishes, to branch."
        and runs.phase is Phase.STEPPING
    )
    assert ended(qtbot, page, page.run).started.request.branch_of is None
    assert not page.context.errors


@pytest.mark.slow
def test_a_run_that_cannot_be_branched_says_so_in_the_place_of_the_buttons(qtbot, open_record):
    started = MASKED[0]
    assert isinstance(started, RunStarted)
    request = msgspec.structs.replace(started.request, model="/nowhere/big.gguf")
    page = open_record((msgspec.structs.replace(started, request=request), *MASKED[1:]))
    bar = page.evidence.branch_bar
    choose(page, 3)
    bar.actions_["delete"].trigger()
    assert "which is not available" in bar.words.text() and not page.context.runs.is_busy
    ended(qtbot, page, lambda: page.context.runs.show_record(bundled_run("verbs-loop.jsonl")))
    qtbot.waitUntil(lambda: "strategy direct can be branched" in bar.words.text())
    page.view.tokens.choose(2)
    assert "strategy direct can be branched" in bar.words.text()
    assert bar.isVisible() and bar.links.isHidden() and bar.take_button.isHidden()
    ended(qtbot, page, lambda: page.context.runs.show_record(MASKED))
    page.view.tokens.choose(2)
    qtbot.waitUntil(bar.links.isVisible)


# -- words -----------------------------------------------------------------------------------------------------


def branch(*written, token=0):
    return msgspec.structs.replace(REQUEST, written=written, branch_of=BranchPoint("r", token))


PREFIX = PrefixPart(b"{", 5, kept=True)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ((PREFIX, PrefixPart(b"\xf0\x9f", 7)), "⟨F0 9F⟩"),
        ((PREFIX, PrefixPart(b"\xe2\x80\xae", 7)), "⟨U+202E⟩"),
        ((PREFIX, PrefixPart(b" a", 7), PrefixPart("b\u200b".encode())), "·a “b⟨U+200B⟩”"),
        ((PREFIX, PrefixPart(b"<|im_end|>", 2)), "⟨<|im_end|>⟩"),
        ((PREFIX,), ""),
    ],
)
def test_a_branch_shows_its_change_and_its_place(written, words):
    request = branch(*written, token=1)
    assert replacement_words(request, {2}) == words
    assert shared_bytes(request) == b"{"
    assert place_words(request) == "at token 1, after “{”"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a\xf0\x9f", "⟨F0 9F⟩"),
        (b"\xf0\x9f\xa6\x9c", ""),
        (b"\xe2\x82", "⟨E2 82⟩"),
        (b"a", ""),
        (b"", ""),
        (b"\xff", ""),
    ],
)
def test_an_incomplete_character_at_the_end_is_described(data, words):
    assert incomplete_words(data) == words


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/properties/max_results/minimum", "minimum of max_results"),
        ("/required/query", "required query of search"),
        ("/properties/required/minimum", "minimum of required"),
        ("/properties/a/properties/b~1c/pattern", "pattern of a.b/c"),
        ("/additionalProperties", "additionalProperties of search"),
        ("/properties/input/x-grammar/term", "rule term of input"),
        ("/properties/input/x-grammar", "x-grammar of input"),
    ],
)
def test_a_constraint_is_named_by_its_argument(pointer, words):
    assert constraint_words(pointer, "search") == words


def test_a_mask_reason_offers_only_constraints_that_can_be_relaxed():
    own = msgspec.structs.replace(REQUEST, grammar='root ::= "a"')
    assert mask_reason(own, REGISTRY, "", "", None, known=True).why == (OWN_GRAMMAR,)
    assert mask_reason(REQUEST, REGISTRY, "", "", None, known=False).why == (LOOKING,)
    assert mask_reason(REQUEST, REGISTRY, "bad", "", None, known=True).why == ("bad", NO_CONSTRAINT)
    found = mask_reason(
        REQUEST,
        REGISTRY,
        "",
        "",
        Attribution("search", "/properties/query/minLength", "minLength"),
        known=True,
    )
    assert found.relax == Relaxed("search", "/properties/query/minLength")
    assert found.why == ("Blocked by minLength: search, /properties/query/minLength is 1",)


def test_a_mask_reason_offers_the_rule_of_an_answer_that_can_be_relaxed():
    asked = msgspec.structs.replace(REQUEST, answer=Answer("lark", "start: A\nA: /a/"))
    found = mask_reason(asked, None, "", "", Attribution("answer", "/A", "rule A"), known=True)
    assert found.why == ("Blocked by rule A: answer, /A",)
    assert (found.relax, found.words) == (Relaxed("answer", "/A"), "rule A of answer")
    branch = msgspec.structs.replace(asked, relaxed=(Relaxed("answer", "/A"),))
    assert relaxation_words(branch, asked) == "without rule A of answer"


def test_a_valid_call_of_a_relaxed_branch_is_marked_as_relaxed():
    events = bundled_run("search-relaxed.jsonl")
    assert end_of(run_state(events)).words == "a valid call of search, with the schema relaxed"
    assert outcome_line(kin_of(events)) == "valid call, relaxed"
    assert outcome_line(kin_of(MASKED)) == "valid call"


def test_tokens_of_typed_text_are_counted_by_the_model_or_not_at_all():
    model = ScriptedModel("x")
    assert pieces_of(None, Typed(b"", "a")).count is None
    assert pieces_of(model, Typed(b"", "a b c")).count == 3
    assert pieces_words((b" a", b"\xf0\x9f"), 2) == "2 tokens: [·a]  [⟨F0 9F⟩]"


def test_branches_nested_deeply_stay_in_sight(qapp):
    card = BranchPanel()
    kin = {}
    for number in range(60):
        point = BranchPoint(f"r{number - 1}", 3) if number else None
        request = msgspec.structs.replace(REQUEST, branch_of=point)
        started = msgspec.structs.replace(
            MASKED[0], run=f"r{number}", request=request, time=f"2026-01-01T00:{number:02}"
        )
        kin[started.run] = kin_of((started,))
    card.model.show(branch_tree([one.started] for one in kin.values()), kin, "r59")
    card.show_tree(59)
    assert card.model.depth == 60 and card.tree.indentation() * 60 <= MAX_INDENT
    assert card.count.text() == "59 branches"
    index = card.model.index_of("r59")
    for _ in range(59):
        index = index.parent()
    assert card.model.run(index) == "r0" and not index.parent().isValid()
    card.deleteLater()
