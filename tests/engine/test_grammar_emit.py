"""The rule tree as GBNF: llama.cpp accepts it, it has the tree's language, and unenforced constraints are named."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import NOTATIONS, SHAPES
from glyphscope.grammar import example_arguments, tree
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf, load_gbnf
from glyphscope.models import GrammarProbe
from glyphscope.notation import write_call
from glyphscope.registry import Tool, ToolRegistry, default_registry
from glyphscope.turns import build_call_grammar
from grammar_strategies import grammars, language
from lark_reader import lark_reader
from llama_verdict import llama_verdict

SIZE = 3
LOWER = tree.CharClass(((ord("a"), ord("z")),))


def grammar(body, **rules):
    return tree.Grammar(
        {name: tree.Rule(name, node) for name, node in {"root": body, **rules}.items()}, "root"
    )


def tools_with(schema):
    return ToolRegistry(
        (Tool("tool", "", {"type": "object", "properties": {"x": schema}, "required": ["x"]}),)
    )


@pytest.fixture
def probe():
    with GrammarProbe() as made:
        yield made


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_default_registry_is_valid_gbnf_in_reading_order(notation, shape):
    made = emit_gbnf(build_call_grammar(default_registry(), notation, shape))
    assert not made.unenforced
    document = check_gbnf(made.text)
    assert [d for d in document.diagnostics if d.severity != "hint"] == []
    names = [rule.name for rule in document.document.rules]
    assert names[0] == "root" and names.index("call-search") < names.index("call-calculate")
    found = {
        (origin.tool, origin.pointer) for name, origin in made.origins.items() if name.endswith("max-results")
    }
    assert found == {("search", "/properties/max_results")}
    assert set(made.origins) <= set(names)


def test_a_repetition_has_no_empty_rounds():
    nested = tree.alt("", tree.seq("(", tree.RuleRef("x"), ")"), "a")
    for body, some in ((nested, True), (tree.Literal(""), False), (tree.alt("", tree.RuleRef("x")), False)):
        text = emit_gbnf(grammar(tree.repeat(tree.RuleRef("x"), 1), x=body)).text
        codes = {d.code for d in check_gbnf(text).diagnostics}
        assert not codes & {"nullable-loop", "empty-loop"}, text
        assert ("x-some*" in text) == some


@at_most(150)
@given(made=grammars)
def test_the_emitted_grammar_has_the_same_language(made):
    expected = language(made, SIZE)
    try:
        text = emit_gbnf(made).text
    except Exception as error:
        assert "derives no text" in str(error) and not expected
        return
    again = check_gbnf(text)
    if again.grammar is None:  # left recursion stays
        assert {d.code for d in again.diagnostics if d.severity == "error"} <= {"left-recursion"}, text
        return
    assert language(again.grammar, SIZE) == expected, text


@pytest.mark.model
@pytest.mark.parametrize("notation", NOTATIONS)
def test_llama_cpp_accepts_the_calls_that_llguidance_accepts(notation, probe):
    tools = default_registry()
    made = build_call_grammar(tools, notation, "flat")
    accepts = lark_reader(made)
    calls = [write_call(t.name, example_arguments(t.parameters), style=notation) for t in tools.allowed]
    calls += (
        [call[:-1] for call in calls] + [call.replace("e", "é") for call in calls] + [c + "}" for c in calls]
    )
    for text, found in zip(calls, probe.match_all(emit_gbnf(made).text, calls), strict=True):
        assert found.accepted == accepts(text), text


@pytest.mark.model
@pytest.mark.parametrize(
    "bounds", [(0, 1999), (0, 2000), (0, 2001), (1500, 3500), (2500, None), (2100, 2100), (3, 5000)]
)
def test_bounds_that_llama_cpp_would_drop_are_enforced(bounds, probe):
    least, most = bounds
    text = emit_gbnf(grammar(tree.seq(tree.repeat(LOWER, least, most), "!"))).text
    sizes = sorted(
        {s for b in (least, most or least + 3000) for s in (b - 1, b, b + 1, b + 999, b - 1000) if s >= 0}
    )
    for size, found in zip(sizes, probe.match_all(text, ["a" * size + "!" for size in sizes]), strict=True):
        assert found.accepted == (size >= least and (most is None or size <= most)), (size, text)


@at_most(300)
@given(least=st.integers(0, 9000), more=st.none() | st.integers(0, 9000))
def test_repetitions_in_blocks_count_right_and_stay_below_the_limit(least, more):
    most = None if more is None else least + more
    again = load_gbnf(emit_gbnf(grammar(tree.repeat(LOWER, least, most))).text)

    def counts(node):
        """Return all the numbers of characters, as intervals."""
        if isinstance(node, tree.RuleRef):
            return counts(again.rules[node.name].body)
        if isinstance(node, tree.Seq):
            found = [(0, 0)]
            for part in node.parts:
                found = joined(found, counts(part))
            return found
        if isinstance(node, tree.Repeat):
            assert max(node.minimum, node.maximum or 0) <= 1999  # llama.cpp's own limit is one more
            once = counts(node.body)
            if once == [(1, 1)]:
                return [(node.minimum, float("inf") if node.maximum is None else node.maximum)]
            ((size, same),) = once
            assert size == same
            return [(size * n, size * n) for n in range(node.minimum, node.maximum + 1)]
        return [(1, 1)]

    def joined(first, second):
        pairs = sorted((a + c, b + d) for a, b in first for c, d in second)
        whole = [pairs[0]]
        for low, high in pairs[1:]:
            if low <= whole[-1][1] + 1:
                whole[-1] = (whole[-1][0], max(high, whole[-1][1]))
            else:
                whole.append((low, high))
        return whole

    assert counts(again.rules[again.root].body) == [(least, float("inf") if most is None else most)]


@pytest.mark.model
def test_repeated_groups_stay_below_the_rule_limit_of_llama_cpp(probe):
    label = tree.seq(LOWER, tree.repeat(tree.alt(LOWER, tree.seq("-", LOWER)), 0, 61))
    body = tree.seq(label, tree.repeat(tree.seq(".", tree.repeat(label, 1, 3)), 0, 400))
    assert llama_verdict(probe, emit_gbnf(grammar(body)).text).ok


def test_a_pattern_with_lengths_is_enforced_through_its_automaton():
    schema = {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$", "minLength": 3, "maxLength": 6}
    made = emit_gbnf(build_call_grammar(tools_with(schema), "json", "flat"))
    assert not made.unenforced
    accepts = reader(made.text)
    for value in ("abc", "a-b", "a-bcde", "abcdef"):
        assert accepts(f'{{"action":"tool","x":"{value}"}}')
    for value in ("ab", "abcdefg", "a--b", "-abc", "abc-"):
        assert not accepts(f'{{"action":"tool","x":"{value}"}}')


@pytest.mark.slow
def test_a_constraint_too_large_for_rules_is_dropped_by_name_and_place():
    schema = {"type": "string", "pattern": "^(.{1,50},){3,}$", "maxLength": 4000}
    made = emit_gbnf(build_call_grammar(tools_with(schema), "json", "flat"))
    assert [(u.tool, u.pointer, u.keyword) for u in made.unenforced] == [
        ("tool", "/properties/x/maxLength", "maxLength")
    ]
    assert "rules" in made.unenforced[0].why and check_gbnf(made.text).ok


LARGE = {"type": "string", "pattern": "a[12].*z", "minLength": 10, "maxLength": 90}


@pytest.mark.slow
def test_a_dropped_constraint_is_named_at_every_place():
    one = {"type": "object", "properties": {"x": LARGE, "y": LARGE}}
    other = {"type": "object", "properties": {"z": LARGE}}
    made = emit_gbnf(
        build_call_grammar(ToolRegistry((Tool("a", "", one), Tool("b", "", other))), "json", "flat")
    )
    assert {(u.tool, u.pointer) for u in made.unenforced} == {
        (tool, f"/properties/{name}/{keyword}")
        for tool, name in (("a", "x"), ("a", "y"), ("b", "z"))
        for keyword in ("minLength", "maxLength")
    }


@pytest.mark.slow
def test_a_dropped_constraint_is_named_where_the_schema_has_it():
    """Not below the alternative or the reference that it is combined with."""
    apart = {keyword: LARGE[keyword] for keyword in ("minLength", "maxLength")}
    patterns = [{"pattern": LARGE["pattern"]}, {"pattern": "^é"}]
    schema = {"type": "string", "anyOf": patterns} | apart
    made = emit_gbnf(build_call_grammar(tools_with(schema), "json", "flat"))
    assert {u.pointer for u in made.unenforced} == {f"/properties/x/{keyword}" for keyword in apart}


def reader(text):
    return lark_reader(load_gbnf(text))


@pytest.mark.slow
@at_most(60)
@given(
    words=st.lists(
        st.text('ab\n\t\x7f\u2028\x01"\\/é😀]-^[', min_size=1, max_size=4), min_size=1, max_size=14
    )
)
def test_every_character_is_read_back_and_alternatives_stay_distinct(words):
    accepts = reader(emit_gbnf(grammar(tree.alt(*words))).text)
    for word in words:
        assert accepts(word)
        assert accepts(word[:-1]) == (word[:-1] in words)
    accepts = reader(
        emit_gbnf(
            grammar(tree.CharClass(tuple(sorted({(ord(c), ord(c)) for word in words for c in word}))))
        ).text
    )
    for char in 'ab\n\t\x7f\u2028\x01"\\/é😀]-^[c':
        assert accepts(char) == any(char in word for word in words)


def test_rules_have_names_that_llama_cpp_accepts_and_the_first_is_root():
    rules = {
        "root": tree.Rule("root", tree.Literal("b")),
        "Main_rule": tree.Rule("Main_rule", tree.seq("a", tree.RuleRef("root"))),
    }
    text = emit_gbnf(tree.Grammar(rules, "Main_rule")).text
    assert text.startswith("root ::= ") and not re.search(r"^\S*_", text, re.M) and reader(text)("ab")


def test_a_grammar_without_a_text_is_an_error():
    with pytest.raises(Exception, match="derives no text"):
        emit_gbnf(grammar(tree.NEVER))


def test_comments_name_the_place_and_change_nothing():
    made = build_call_grammar(default_registry(), "json", "flat")
    reported = emit_gbnf(made, comments=True).text
    assert "# search /properties/max_results" in reported
    assert [line for line in reported.splitlines() if not line.startswith("#")] == emit_gbnf(
        made
    ).text.splitlines()
