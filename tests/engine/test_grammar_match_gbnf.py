"""GBNF text read into a tree has the same language as the tree that it was written from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import compile_grammar, covering_texts, match_text, sample_texts
from glyphscope.grammar.gbnf import load_gbnf
from grammar_strategies import LETTERS, gbnf_text, grammars


@at_most(300)
@given(grammars, st.lists(st.text(LETTERS, max_size=6), max_size=6))
def test_a_grammar_written_as_gbnf_and_read_back_matches_the_same_texts(grammar, texts):
    try:
        again = load_gbnf(gbnf_text(grammar))
    except (ValueError, GrammarError):  # GBNF cannot express it, or llama.cpp would reject it
        return
    first, second = compile_grammar(grammar).start(), compile_grammar(again).start()
    for text in texts:
        one, other = first.feed(text), second.feed(text)
        assert (one.accepted, one.failed_at) == (other.accepted, other.failed_at), text


@pytest.mark.parametrize(
    "grammar", ["root ::= [^a]*", "root ::= .*", 'root ::= "b\\x00"', r"root ::= [\x00-\x7F]+"]
)
def test_no_grammar_accepts_u_0000_as_llama_cpp_ends_a_text_there(grammar):
    report = match_text(load_gbnf(grammar), "b\0c")
    assert (report.accepted, report.prefix_ok, report.failed_at) == (False, False, 1)


@pytest.mark.slow
def test_parentheses_deeper_than_any_stack_are_read_and_matched():
    depth = 4_000
    grammar = load_gbnf("root ::= " + '("b" | "a" ' * depth + '"c"' + ")" * depth)
    assert match_text(grammar, "a" * depth + "c").accepted
    assert match_text(grammar, "aaab").accepted
    assert match_text(grammar, "aac").failed_at == 2
    assert all(
        match_text(grammar, text).accepted
        for text in sample_texts(grammar, 5) + covering_texts(grammar, limit=5)
    )
