"""Differences of two grammars: the shortest one, none for equal languages, and a proof only where it is one."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import Bound, Differences, MatchCancelled, compile_grammar, shortest_differences
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.grammar.tree import (
    CharClass,
    Grammar,
    Literal,
    Node,
    Rule,
    RuleRef,
    alt,
    repeat,
    seq,
    terminal,
)
from glyphscope.registry import ToolRegistry, make_tool
from glyphscope.turns import build_call_grammar


def gbnf(text: str) -> Grammar:
    return load_gbnf(text)


def differences(first: str, second: str, **bound: Any) -> Differences:
    return shortest_differences(gbnf(first), gbnf(second), bound=Bound(**bound))


@pytest.mark.parametrize(
    ("first", "second", "only_first", "only_second"),
    [
        ('root ::= "a"* "b"', 'root ::= "a" "a"* "b"', "b", None),
        ('root ::= "a"', 'root ::= "b"', "a", "b"),
        pytest.param("root ::= [a-z]{1,30}", "root ::= [a-y]{1,31}", "z", "a" * 31, marks=pytest.mark.slow),
        pytest.param(
            'root ::= "(" root ")" | ""',
            'root ::= "(" "(" root ")" ")" | ""',
            "()",
            None,
            marks=pytest.mark.slow,
        ),
        ('root ::= "é" | "\\U0001f600"', 'root ::= "é"', "\U0001f600", None),
        ('root ::= ""', 'root ::= "a"', "", "a"),
        ('root ::= [^"]*', 'root ::= [^"\\n]*', "\n", None),
    ],
)
def test_the_shortest_difference_is_found(
    first: str, second: str, only_first: str | None, only_second: str | None
) -> None:
    found = differences(first, second)
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert found.exhausted or only_second is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('root ::= "a"* "b"', 'root ::= x\nx ::= "a" x | "b"'),
        ('root ::= ("a" | "b")*', 'root ::= ("a"* "b"*)*'),
        ("root ::= [a-m]+ | [n-z]+ | root2\nroot2 ::= [a-z] [a-z]*", "root ::= [a-z]+"),
        ('root ::= "(" root ")" | "x"', 'root ::= "(" other ")" | "x"\nother ::= "(" root ")" | "x"'),
        ("root ::= [0-9]{0,50}", "root ::= ([0-9] [0-9]?){0,25}"),
    ],
)
def test_two_grammars_of_one_language_are_proved_equal(first: str, second: str) -> None:
    found = differences(first, second)
    assert found.same
    assert found.exhausted
    assert found.bound == "every pair of states was followed"


def test_endless_nesting_is_compared_up_to_the_bound() -> None:
    found = differences('root ::= "(" root ")" | ""', 'root ::= "(" root ")" | "()" | ""', characters=50)
    assert found.same
    assert not found.exhausted
    assert "up to 50 characters" in found.bound


@pytest.mark.parametrize("bound", [{"pairs": 50}, {"seconds": 0.05}])
def test_a_comparison_ends_at_its_bound(bound: dict[str, Any]) -> None:
    found = differences('root ::= [ab]* "a" [ab]{16}', 'root ::= [ab]* "a" [ab]{16} [ab]?', **bound)
    assert not found.exhausted
    assert "the bound is" in found.bound


def test_a_comparison_can_be_cancelled() -> None:
    with pytest.raises(MatchCancelled):
        shortest_differences(gbnf('root ::= "a"'), gbnf('root ::= "b"'), cancelled=lambda: True)


def test_tokens_are_not_compared_as_characters() -> None:
    found = differences('root ::= <think> | "a"', 'root ::= "a"')
    assert found.same
    assert "not compared" in found.bound


def test_an_undefined_rule_is_an_error() -> None:
    with pytest.raises(GrammarError, match="'x' is not defined"):
        shortest_differences(Grammar({"root": Rule("root", RuleRef("x"))}, "root"), gbnf('root ::= "a"'))


def test_an_empty_language_is_compared() -> None:
    empty = Grammar({"root": Rule("root", alt())}, "root")
    assert shortest_differences(empty, gbnf('root ::= "a"'))[:3] == (None, "a", True)
    assert shortest_differences(empty, empty).exhausted


@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_the_first_new_call_of_an_edited_bound_is_found(notation: Any) -> None:
    def calls(maximum: int) -> Grammar:
        schema = {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1, "maximum": maximum}},
        }
        tools = ToolRegistry((make_tool("f", "", schema), make_tool("g", "", {"type": "object"})))
        return build_call_grammar(tools, notation, "flat")

    expected = {"json": '{"action":"f","n":101}', "glyph": '{action="f" n=101}'}[notation]
    assert shortest_differences(calls(100), calls(101))[:3] == (None, expected, True)


def test_the_grammars_of_llama_cpp_after_an_edit(shared_data: Path) -> None:
    text = (shared_data / "gbnf" / "json.gbnf").read_text()
    found = differences(text, text.replace('"true"', '"True"'))
    assert (found.only_first, found.only_second) == ('{"":true}', '{"":True}')
    for path in sorted((shared_data / "gbnf").glob("*.gbnf")):
        same = differences(path.read_text(), path.read_text() + '\nunused ::= "never"\n')
        assert same.same and same.exhausted, path.name


def leaves() -> st.SearchStrategy[Node]:
    return st.sampled_from(
        [
            Literal("a"),
            Literal("b"),
            Literal("ab"),
            seq(),
            CharClass(((97, 98),)),
            RuleRef("root"),
            RuleRef("x"),
        ]
    )


def bodies() -> st.SearchStrategy[Node]:
    return st.recursive(
        leaves(),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: seq(*parts))
            | st.lists(inner, min_size=1, max_size=3).map(lambda parts: alt(*parts))
            | st.builds(repeat, inner, st.integers(0, 2), st.sampled_from([None, 2, 3]))
        ),
        max_leaves=6,
    )


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    return Grammar({name: Rule(name, draw(bodies())) for name in ("root", "x")}, "root")


TEXTS = ["".join(chars) for length in range(5) for chars in product("ab", repeat=length)]


@pytest.mark.slow
@given(first=grammars(), second=grammars())
@at_most(200)
def test_differences_agree_with_a_list_of_all_short_texts(first: Grammar, second: Grammar) -> None:
    sets = []
    for grammar in (first, second):
        state = compile_grammar(grammar).start()
        sets.append({text for text in TEXTS if state.feed(text).accepted})
    found = shortest_differences(first, second, bound=Bound(pairs=2_000, characters=12, seconds=1.0))
    for text, ours, others in ((found.only_first, *sets), (found.only_second, *reversed(sets))):
        only = ours - others
        if text is None:
            # an incomplete search may miss a difference, but must say so
            assert not only or not found.exhausted
        elif len(text) < 5:
            assert text in only
            assert len(text) == min(map(len, only))
        else:
            assert not only


def test_a_lexeme_is_compared_by_its_characters() -> None:
    one = Grammar({"root": Rule("root", seq(terminal(repeat(CharClass(((97, 98),)), 1)), "b"))}, "root")
    assert shortest_differences(one, gbnf('root ::= [ab]+ "b"')).exhausted
