"""The rule of each token of a run, its reason for masking one, the cost of masks, and the next possible tokens."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from PySide6.QtCore import Qt

from glyphscope.base import resources
from glyphscope.events import Alternative, Answer, Relaxed, RepairSettings, RunRequest, Token, TokenStep
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.explain.masked import masked_reasons
from glyphscope.models import RecordedModel
from glyphscope.models.interface import Vocabulary
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import prepare, run_state
from glyphscope.runs.relaxation import relaxed
from glyphscope.runs.strategies import run
from glyphscope.store.records import parse_record
from glyphscope_gui.context import RulePlace
from glyphscope_gui.grammar.page import MEAN, NOT_MEASURED, RuleCosts
from glyphscope_gui.runs.alternatives_table import (
    NUMBER_ROLE,
    REASON_ROLE,
    REFUSED_ROLE,
    TEXT,
    AlternativesModel,
    AlternativesTable,
)
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.runs.token_rules import LEFT, UNRELATED, RuleCost, RuleReader
from glyphscope_gui.runs.token_table import LEAST, MIN_TOKEN, RULE, TOKEN, TokenTable, TokenTableModel
from glyphscope_gui.shared import MIN_NAME
from glyphscope_gui.shared.page_ids import PageId

CALL = '{action="search" query="AI news" max_results=10}'
OWN = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
RECORD = "search-mask.jsonl"
VOCABULARY = Vocabulary(
    (*(bytes([code]) for code in range(32, 127)), b"10", b"100", b'0"', "é".encode()[:1], b"")
)


class WithVocabulary(ScriptedModel):
    def vocabulary(self):
        return VOCABULARY


request = partial(
    RunRequest, prompt="x", registry=default_registry().to_document(), constraint="mask", stop_on="never"
)


def tokens_of(pieces, asked):
    return [event for event in run(asked, ScriptedModel(pieces)) if isinstance(event, Token)]


def rules_of(pieces, **changes):
    asked = request(**changes)
    reader = RuleReader(asked, default_registry())
    return reader.read(tokens_of(pieces, asked), lambda: False), reader


def masked(text):
    return Alternative(id=0, data=text.encode(), text=text, raw=0.1, final=0.0, allowed=False)


def opener_of(model):
    return lambda _name, **_options: model


@pytest.fixture
def make(open_page):
    """Make the playground by itself."""
    return lambda model=None: open_page(PageId.PLAYGROUND, opener_of(model or ScriptedModel(CALL)))


@pytest.fixture
def make_window(open_window):
    return lambda model=None: open_window(opener_of(model or ScriptedModel(CALL)))


def shown(qtbot, context, events):
    """A run that is shown, with all its rules read. One that it replaces ends first, with other events."""
    events = tuple(events)
    with qtbot.waitSignal(context.runs.ended, check_params_cb=lambda ended: ended.events == events):
        context.runs.replay(events, 0)
    qtbot.waitUntil(lambda: not context.rules.is_busy)


def names(page):
    model = page.view.tokens_model
    return [model.index(row, RULE).data() for row in range(model.rowCount())]


# -- reading ------------------------------------------------------------------------------------------------------


def test_a_models_own_notation_has_its_spaces_in_the_rules_too():
    call = '{"name": "search", "arguments": {"query": "AI news"}}'
    asked = request(native="hermes", notation="json", shape="name-arguments")
    tokens = [
        Token(step=TokenStep(index=i, id=i, data=c.encode(), text=c), start=i, end=i + 1)
        for i, c in enumerate(call)
    ]
    rules = RuleReader(asked, default_registry()).read(tokens, lambda: False)
    assert len(rules) == len(call) and all(rule.rule for rule in rules)


def test_a_token_has_its_rule_and_its_argument():
    pieces = ['{action="', 'search"', " query", '="', "AI", ' news"', " max_results=", "1", "0}"]
    rules, _ = rules_of(pieces)
    assert [rule.rule for rule in rules] == [
        "root", "root", "search-args", "search-args-query", "search-args-query", "search-args-query",
        "search-args", "search-args-max-results", "search-args-max-results",
    ]  # fmt: skip
    assert rules[7].words == "search · max_results · minimum 1, maximum 100"
    assert (rules[7].argument, rules[7].constraint) == ("max_results", "minimum 1, maximum 100")


def test_tokens_in_batches_and_with_incomplete_characters_get_the_same_rules():
    asked = request()
    robot = "🤖".encode()
    pieces = ['{action="search" query="', robot[:2], robot[2:], 'x" max_results=', "10", "}"]
    tokens = tokens_of(pieces, asked)
    whole = RuleReader(asked, default_registry()).read(tokens, lambda: False)
    reader = RuleReader(asked, default_registry())
    assert [rule for token in tokens for rule in reader.read([token], lambda: False)] == whole
    assert [rule.rule for rule in whole[1:3]] == ["search-args-query"] * 2


def test_tokens_that_leave_the_grammar_have_no_rule():
    rules, _ = rules_of(["{action=", '"search"', " query=7", " max"])
    assert rules[0].rule == "root"
    assert [(rule.rule, rule.words) for rule in rules[2:4]] == [("", LEFT)] * 2


def test_a_custom_grammar_has_its_own_rules():
    rules, _ = rules_of(["{", "ab", "=1", "0", "}"], grammar=OWN, constraint="gbnf")
    assert [rule.rule for rule in rules[:5]] == ["root", "pair", "number", "number", "root"]
    assert not any(rule.words for rule in rules[:5])


@pytest.mark.parametrize(
    ("kind", "text"),
    [("gbnf", 'root ::= "<" word ">"\nword ::= [a-z]+\n'), ("lark", 'start: "<" word ">"\nword: /[a-z]+/\n')],
)
def test_the_rule_of_an_answer_that_masks_a_token_is_offered_to_be_relaxed(kind, text):
    asked = request(answer=Answer(kind, text))
    found = RuleReader(asked, default_registry()).refusals(
        tokens_of(["<", "ab", ">"], asked)[:2], (masked("7"), masked(">")), lambda: False
    )
    assert found.constraints == (Attribution("answer", "/word", "rule word"), None)


def test_a_token_that_a_grammar_names_by_its_number_is_inside_the_grammar():
    grammar = 'root ::= "a" <[1]> end\nend ::= "b"\n'
    rules, _ = rules_of(["a", "<think>", "b"], grammar=grammar, constraint="gbnf")
    assert [rule.rule for rule in rules[:3]] == ["root", "root", "end"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["runs/search-mask.jsonl", "lessons/runs/own-call.jsonl", "lessons/runs/gbnf-city.jsonl"]
)
def test_the_window_shows_the_reasons_that_pages_show(name):
    state = run_state(parse_record(resources.read_bytes(name)).events)
    asked, registry, tokens = state.started.request, state.registry, state.tokens
    page = masked_reasons(asked, registry, state.present)
    reader = RuleReader(asked, registry)
    for index, token in enumerate(tokens):
        rows = token.step.alternatives
        model = AlternativesModel()
        model.show_token(state.present, token, rows, asked, registry)
        found = reader.refusals(tokens[:index], rows, lambda: False, tokens[index : index + 100])
        model.set_refused(found.reasons, found.place)
        shown = tuple(row.reason or row.refusal for row in model.rows)
        assert shown == (page[token.step.index].texts if token.step.index in page else ("",) * len(rows))


def test_a_reason_of_several_alternatives_is_shown_once_with_a_number_that_leads_to_it():
    model = AlternativesModel()
    rows = tuple(Alternative(n, b"x", "x", 0.1, 0.0, False) for n in range(5))
    model.show(rows, ["too large", "given", "too large", "", ""], 9)
    model.set_refused(("", "", "", "in another order", "expects a name"), "expects a name")
    roles = (NUMBER_ROLE, REASON_ROLE, REFUSED_ROLE)
    assert [[model.index(row, TEXT).data(role) for role in roles] for row in range(5)] == [
        ["¹", "¹ too large", ""],
        ["", "given", ""],
        ["¹", "", ""],
        ["", "", "in another order"],
        ["", "", ""],
    ]
    assert "too large" in model.index(2, TEXT).data(Qt.ItemDataRole.ToolTipRole)


def test_reasons_that_differ_in_the_letters_of_their_tokens_are_one():
    model = AlternativesModel()
    texts = (" context", " results", " max", '";', " cat")
    rows = tuple(Alternative(n, text.encode(), text, 0.1, 0.0, False) for n, text in enumerate(texts))
    why = [f"no remaining argument begins with '{letter}'" for letter in "cr"]
    model.show(
        rows, [*why, "'max_results' is already given", "a key or '}' must come here, not ';'", why[0]], 9
    )
    roles = (NUMBER_ROLE, REASON_ROLE)
    assert [[model.index(row, TEXT).data(role) for role in roles] for row in range(5)] == [
        ["¹", "¹ no remaining argument begins with 'c' or 'r'"],
        ["¹", ""],
        ["", "'max_results' is already given"],
        ["", "a key or '}' must come here, not ';'"],
        ["¹", ""],
    ]
    assert "begins with 'r'" in model.index(1, TEXT).data(Qt.ItemDataRole.ToolTipRole)


def test_a_masked_token_has_a_sign_and_is_not_crossed_out(qtbot, monkeypatch):
    painted = []
    monkeypatch.setattr(
        "glyphscope_gui.runs.alternatives_table.paint_words",
        lambda _painter, _box, words, font, role, *_side: painted.append((words, font.strikeOut(), role)),
    )
    model = AlternativesModel()
    table = AlternativesTable(model)
    qtbot.addWidget(table)
    model.show((masked('"},'), masked("x")), ["", ""], 9)
    table.grab()
    signs = [(words, role) for words, _crossed, role in painted if words.startswith("✕ ")]
    assert {words for words, _role in signs} == {'✕ "},', "✕ x"} and {role for _words, role in signs} == {
        "text-muted"
    }
    assert not any(crossed for _words, crossed, _role in painted)


def test_a_long_reason_has_as_many_lines_as_it_needs(qtbot):
    model = AlternativesModel()
    table = AlternativesTable(model)
    qtbot.addWidget(table)
    rows = tuple(Alternative(n, b"x", "x", 0.1, 0.0, False) for n in range(3))
    model.show(rows, ["a reason of some words " * 5, "", "short"], 9)
    table.resize(240, 400)
    table.show()
    bare, short = table.rowHeight(1), table.rowHeight(2)
    qtbot.waitUntil(lambda: table.rowHeight(0) - bare >= 2.5 * (short - bare))
    table.resize(1200, 400)
    qtbot.waitUntil(lambda: table.rowHeight(0) == short)
    assert table.sizeHint().height() >= table.rowHeight(0) + bare + short


def test_a_masked_token_is_explained_by_the_constraint_whose_relaxation_allows_it():
    asked = request()
    reader = RuleReader(asked, default_registry())
    tokens = tokens_of(['{action="search" query="AI" max_results=', "10"], asked)
    rows = (masked("0"), masked(" foo="), masked("x"), masked("}").__class__(0, b"}", "}", 0.5, 0.5, True))
    reported = reader.refusals(tokens[:2], rows, lambda: False).constraints
    assert reported[1:] == (("search", "/additionalProperties", "additionalProperties"), None, None)
    over = reader.refusals(tokens[:2], (masked("1"),), lambda: False).constraints
    assert over == (("search", "/properties/max_results/maximum", "maximum"),)
    taken = relaxed(default_registry(), *over[0][:2])
    assert RuleReader(asked, taken).refusals(tokens[:2], (masked("1"),), lambda: False).alternatives == ("",)


def test_a_key_that_only_the_order_masks_says_how_to_allow_it():
    pieces = ['{action="search"', ' query="x"', "}"]
    for order, words in (("schema", UNRELATED["order"]), ("any", "")):
        asked = request(order=order)
        reader = RuleReader(asked, default_registry())
        reported = reader.refusals(tokens_of(pieces, asked)[:1], (masked(" max_results="),), lambda: False)
        assert (reported.alternatives, reported.constraints) == ((words,), (None,))


def test_a_relaxed_branch_is_read_with_its_relaxed_rules():
    asked = request(relaxed=(Relaxed("search", "/properties/max_results/maximum"),))
    pieces = ['{action="search" query="AI" max_results=', "5", "00", "}"]
    rules = RuleReader(asked, prepare(asked).enforced).read(tokens_of(pieces, asked), lambda: False)
    assert [rule.rule for rule in rules[1:3]] == ["search-args-max-results"] * 2
    assert prepare(request()).enforced.get("search").parameters["properties"]["max_results"]["maximum"] == 100


def test_mask_costs_belong_to_the_rules_of_their_tokens():
    events = bundled_run(RECORD)
    tokens = [event for event in events if isinstance(event, Token)]
    reader = RuleReader(events[0].request, default_registry())
    rules = reader.read(tokens, lambda: False)
    costs = reader.costs()
    assert sum(cost.ms for cost in costs) == pytest.approx(sum(token.step.mask_ms for token in tokens))
    assert sum(cost.masks for cost in costs) == sum(token.step.mask_ms > 0 for token in tokens)
    assert [cost.ms for cost in costs] == sorted((cost.ms for cost in costs), reverse=True)
    assert {cost.rule for cost in costs} <= {rule.rule for rule in rules}


# -- on the pages ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_replayed_run_shows_the_rules_of_its_tokens_their_costs_and_their_places(make_window, qtbot):
    """And an explanation only beside its token; a run without a constraint has none of them."""
    events = bundled_run(RECORD)
    window = make_window(RecordedModel(events))
    window.resize(
        1700, 900
    )  # the rule has a column where there is room beside the evidence, which has it too
    page, grammar = window.page(PageId.PLAYGROUND), window.page(PageId.GRAMMAR).view
    view, evidence, costs = page.view, page.evidence, grammar.costs
    view.show_detail("tokens")
    shown(qtbot, window.context, run(request(constraint="off"), ScriptedModel(CALL)))
    assert view.tokens.isColumnHidden(RULE) and not evidence.rule_line.isVisible()
    assert costs.words.text() == NOT_MEASURED
    shown(qtbot, window.context, events)
    assert not view.tokens.isColumnHidden(RULE) and costs.words.isHidden()
    model = costs.table.model()
    assert "search-args-query" in [model.index(row, 0).data() for row in range(model.rowCount())]
    view.tokens.choose(1)
    view.tokens.choose(12)
    qtbot.waitUntil(lambda: not window.context.rules.is_busy)
    assert evidence.expected_note.text() == 'search expects "results="'
    assert evidence.alternatives_heading.title.accessibleName() == "Alternatives of token 12"
    row = names(page).index("search-args-max-results")
    view.tokens.choose(row)
    line = evidence.rule_line
    assert (line.link.words, line.origin.text()) == ("search-args-max-results", "minimum 1, maximum 100")
    assert "search · max_results · minimum 1, maximum 100" in view.tokens_model.index(row, RULE).data(3)
    line.link.click()
    assert window.navigator.current is PageId.GRAMMAR
    qtbot.waitUntil(lambda: grammar.edit.textCursor().selectedText() == "search-args-max-results")


@pytest.mark.slow
def test_each_text_of_a_repaired_run_is_read_from_the_beginning_of_the_grammar(make, qtbot):
    page = make()
    asked = request(repair=RepairSettings(attempts=1))
    shown(qtbot, page.context, run(asked, ScriptedModel(turns=('{action="search" query=7}', CALL))))
    assert len(page.context.runs.state.stages) == 2
    assert len(names(page)) == len(page.context.runs.state.tokens)
    assert names(page)[0] == "root" and "search-args-query" in names(page) and LEFT not in names(page)


@pytest.mark.slow
def test_a_text_that_a_grammar_reads_in_too_many_ways_is_reported(make, qtbot):
    page = make()
    many = 'root ::= more*\nmore ::= "a" | "a" more | [a]+\n'
    asked = request(grammar=many, constraint="gbnf", max_tokens=4000)
    shown(qtbot, page.context, run(asked, ScriptedModel(["a"] * 1500)))
    rule = page.view.tokens_model.rule(1499)
    assert rule.rule == ""
    assert "too many ways" in rule.words
    assert page.context.rules.grammar == many


@pytest.mark.slow
def test_rules_of_an_older_run_are_not_shown_beside_a_newer_one(make, qtbot):
    page = make()
    runs = page.context.runs
    slow = run(request(), ScriptedModel('{action="search" query="' + "a" * 20_000 + '"}'))
    runs.replay(tuple(slow), 0)
    qtbot.waitUntil(lambda: runs.state.started is not None)
    newer = run(request(grammar=OWN, constraint="gbnf"), ScriptedModel(["{", "ab", "=1", "}"]))
    shown(qtbot, page.context, newer)
    assert names(page)[:4] == ["root", "pair", "number", "root"]
    page.rules.show_rule("pair")
    assert page.context.navigator.visits == [(PageId.GRAMMAR, RulePlace("pair", OWN))], "in its own grammar"


@pytest.mark.slow
def test_a_rule_that_is_missing_from_the_shown_text_is_reported(grammar, qtbot):
    grammar.go_to(RulePlace("pair", OWN))
    qtbot.waitUntil(grammar.view.notice.isVisible)
    assert "its rule pair is not in this text" in grammar.view.notice.label.text()


@pytest.mark.slow
def test_the_allowed_tokens_of_a_step_are_counted_and_cleared(open_page, qtbot):
    page = open_page(PageId.GRAMMAR, opener_of(WithVocabulary(CALL)))
    step = page.view.step
    step.set_text('{action="search" query="AI" max_results=1')
    qtbot.waitUntil(lambda: not page.is_busy)
    qtbot.waitUntil(lambda: not step.tokens.isHidden())
    assert "12 of 100" in step.tokens.text()
    step.set_text("nothing of the kind")
    qtbot.waitUntil(lambda: not page.is_busy and step.tokens.isHidden())


@pytest.mark.slow
def test_a_model_without_a_vocabulary_has_no_token_count(open_page, qtbot):
    page = open_page(PageId.GRAMMAR, opener_of(ScriptedModel(CALL)))
    step = page.view.step
    step.set_text(CALL)
    qtbot.waitUntil(lambda: not page.is_busy)
    assert step.tokens.isHidden()


# -- the table ------------------------------------------------------------------------------------------------------


def test_a_narrow_table_hides_columns_and_leaves_room_for_the_token(qtbot):
    table = TokenTable(TokenTableModel())
    qtbot.addWidget(table)
    table.show()
    table.show_rules(True)
    for width in (900, 700, 560, 400):
        table.resize(width, 200)
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
        assert table.columnWidth(TOKEN) >= MIN_TOKEN * table.fontMetrics().averageCharWidth(), width
    assert table.isColumnHidden(RULE)
    assert all(table.isColumnHidden(column) for column in LEAST[:2])
    font = table.font()
    for points in (10, 12, 14):
        font.setPointSize(points)
        table.setFont(font)
        qtbot.wait(1)
        assert table.horizontalScrollBar().maximum() == 0, points


def test_costs_are_empty_without_mask_times():
    asked = request()
    tokens = [
        msgspec.structs.replace(token, step=msgspec.structs.replace(token.step, mask_ms=0.0))
        for token in tokens_of(CALL, asked)
    ]
    reader = RuleReader(asked, default_registry())
    reader.read(tokens, lambda: False)
    assert reader.costs() == ()


def test_the_names_of_rules_keep_their_room_in_narrow_costs(qtbot):
    costs = RuleCosts()
    qtbot.addWidget(costs)
    costs.show_costs((RuleCost("write-file-args-content", 166, 15.0),))
    costs.show()
    for width, hidden in ((400, False), (210, True)):
        costs.resize(width, 160)
        assert costs.table.isColumnHidden(MEAN) == hidden
        letter = costs.table.fontMetrics().averageCharWidth()
        assert costs.table.columnWidth(0) >= MIN_NAME * letter
