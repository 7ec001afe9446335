"""Patterns as nodes, against Python's `re` on strings without the characters dialects disagree on."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from glyphscope.grammar.lexemes import lexeme
from glyphscope.grammar.regular.regex import PatternNotEnforced, pattern_node
from glyphscope.grammar.regular.strings import string_node
from glyphscope.grammar.tree import Terminal
from glyphscope.notation.write import write_value

TOKENIZER = LLTokenizer("byte")
PATTERNS = [
    "", "^$", "a", "^a", "a$", "^a|b$", "^(?:a|b)+$", "(^a|b$)", "a{2}", "a{1,2}b", "^a{2,}$", "^a??b", "a.b", "[ab]1",
    "^[^ab]$", r"^[^\d]+$", r"\s", r"^\S*$", r"\w\W", r"^[\w-]+$", r"^\x61\u0062$", r"\.", "^[-a]$", "^[a-]$", r'^"\\$',
    "(?P<name>a)b", "(?<name>a)", "^((a|b)1){2}$", "a{", "{a}", "^[.]$", r"^[\]\\]$", "^()$", "^(|a)b$",
]  # fmt: skip
NOT_ENFORCED = [
    "(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", r"\bword", r"\p{L}", "(?i)a", "a^b", "(^a)+", "[[a]]", "[a&&b]", "a**", "(a",
    "a)", "[b-a]", r"\ud83d", "*a", "(" * 200 + ")" * 200, "a{20000}", "\\",
]  # fmt: skip


def reader(pattern, notation):
    node = string_node(notation, (pattern_node(pattern),))
    body = node.body if isinstance(node, Terminal) else node
    grammar = LLMatcher.grammar_from_lark(f"start: T\nT: {lexeme(body)}")
    return LLMatcher(TOKENIZER, grammar, log_level=0)


@pytest.mark.parametrize("notation", ["json", pytest.param("glyph", marks=pytest.mark.slow)])
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=min(20, settings().max_examples // 5), deadline=None)
@given(texts=st.lists(st.text('ab1 -."\\{}]\t', max_size=5), min_size=4, max_size=4))
def test_a_pattern_accepts_every_text_that_contains_a_match(pattern, notation, texts):
    template = reader(pattern, notation)
    compiled = re.compile(pattern if "(?<" not in pattern else pattern.replace("(?<", "(?P<"))
    for text in texts:
        matcher = template.deep_copy()
        data = write_value(text, notation).encode()
        accepted = matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting()
        assert accepted == bool(compiled.search(text)), (pattern, text)


@pytest.mark.parametrize("pattern", NOT_ENFORCED, ids=lambda pattern: pattern[:20])
def test_a_pattern_that_is_not_regular_or_ambiguous_is_reported(pattern):
    with pytest.raises(PatternNotEnforced):
        pattern_node(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"^\d$", "٣"), (r"^\w$", "é"), (r"^\W$", "é"), (r"^\D$", "٣"), (r"^[^\w]$", "é"), (r"^\S$", "\u2003"),
     ("a$", "a\n"), ("^.$", "\u2028")],
)  # fmt: skip
def test_a_text_that_dialects_judge_differently_is_not_accepted(pattern, text):
    matcher = reader(pattern, "json")
    data = write_value(text, "json").encode()
    assert not (matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())
