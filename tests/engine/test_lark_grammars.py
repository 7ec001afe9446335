"""Whole grammars: the bundled ones, those that documentations of Lark show, llama.cpp's; and their conversion."""

from __future__ import annotations

import json

import pytest

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import Bound, compile_grammar, covering_texts, match_text, sample_texts
from glyphscope.grammar.bundled import bundled_grammars
from glyphscope.grammar.chars import contains
from glyphscope.grammar.convert import TargetLanguage, convert
from glyphscope.grammar.languages import load_grammar
from glyphscope.grammar.tree import Grammar
from glyphscope.processes.compilers import service
from whole_grammars import GBNF_GRAMMARS, LARK_GRAMMARS, WHOLE_GRAMMARS

SHORT = Bound(seconds=1.0)
APPROXIMATE = {"text or JSON"}


def read(name: str) -> Grammar:
    """The grammar, whose check finds nothing but hints and approximate parts."""
    of = WHOLE_GRAMMARS[name]
    check = of.language.check(of.text)
    found = {each.code for each in check.diagnostics if each.severity != "hint"}
    assert found <= ({"approximate"} if name in APPROXIMATE else set()), check.diagnostics
    assert check.grammar is not None
    return check.grammar


def test_there_are_twelve_in_lark_and_each_bundled_one_has_examples() -> None:
    assert len(LARK_GRAMMARS) == 12 and len(bundled_grammars()) == 6
    assert all(one.title and one.matches and one.rejects for one in bundled_grammars().values())


@pytest.mark.parametrize("name", WHOLE_GRAMMARS)
def test_a_grammar_is_checked_sampled_and_stepped_through(name: str) -> None:
    grammar, of = read(name), WHOLE_GRAMMARS[name]
    samples = sample_texts(grammar, 5, depth=4)
    assert samples
    start = compile_grammar(grammar).start()
    for text in (*samples, *of.matches):
        state = start
        for char in text:
            assert state.active_rules() and state.expected() and contains(state.next_chars(), char)
            state = state.feed(char)
        assert state.accepted, text
    assert not any(match_text(grammar, text).accepted for text in of.rejects)


@pytest.mark.parametrize("name", LARK_GRAMMARS)
def test_a_grammar_in_lark_has_the_same_texts_in_llguidance(name: str) -> None:
    grammar, of = read(name), WHOLE_GRAMMARS[name]
    texts = [*of.matches, *of.rejects]
    if name not in APPROXIMATE:
        texts += [*sample_texts(grammar, 5, depth=5), *covering_texts(grammar, limit=10)]
    assert service.read_texts(of.text, texts) == [match_text(grammar, each).accepted for each in texts]


@pytest.mark.parametrize("name", GBNF_GRAMMARS)
def test_a_grammar_of_llama_cpp_is_the_same_in_lark(name: str) -> None:
    grammar = read(name)
    made = convert(grammar, "lark", bound=SHORT)
    assert made.differences.same, made
    lark = load_grammar(made.text, path="a.lark")
    assert all(match_text(lark, each).accepted for each in sample_texts(grammar, 5, depth=4))


CONVERTED: tuple[tuple[str, TargetLanguage, str], ...] = (
    ('root ::= "a" [0-9]+ ("b" | "c")?', "regex", "a[0-9]+(?:b|c)?\n"),
    ('root ::= "yes" | "no"', "json-schema", '{"enum": ["yes", "no"]}\n'),
    (
        'root ::= "(" [^)\\n]* ")"',
        "json-schema",
        '{"type": "string", "pattern": "^(?:\\\\([^\\\\n)]*\\\\))$"}\n',
    ),
    ('start: A "b"\nA: /a{2,3}/ | "c"', "gbnf", ""),
    ('start: "(" start ")" | "x"', "gbnf", ""),
    ("start: /[a-z]+/ /[0-9]+/", "regex", "(?:[a-z]+)(?:[0-9]+)\n"),
)


@pytest.mark.parametrize(("text", "to", "expected"), CONVERTED)
def test_a_conversion_has_the_same_texts(text: str, to: TargetLanguage, expected: str) -> None:
    made = convert(load_grammar(text), to, bound=SHORT)
    assert made.differences.same and (not expected or made.text == expected)


@pytest.mark.parametrize("to", ["gbnf", "regex", "lark"])
def test_what_a_lexer_rejects_and_another_language_accepts_is_named(to: TargetLanguage) -> None:
    grammar = load_grammar("start: WORD ID\nWORD: /[a-z]+/\nID: /[a-z0-9]+/")
    made = convert(grammar, to, bound=SHORT)
    assert made.differences.only_first is None and made.differences.only_second == "aa"


def test_a_schema_of_a_text_is_one_of_a_json_string() -> None:
    schema = json.loads(convert(load_grammar('root ::= "a"+'), "json-schema", bound=SHORT).text)
    assert schema == {"type": "string", "pattern": "^(?:a+)$"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('start: "(" start ")" | "x"', "contains itself"),
        ('start: "a" <[5]>', "tokens of a model"),
        ("start: ~/a/", "intersections"),
        (f"start: {'(/[a-z]/ x | x) ' * 20}\nx: {'y ' * 40}\ny: {'z ' * 40}\nz: /a/", "too large"),
    ],
)
def test_what_no_regular_expression_has_is_an_error(text: str, words: str) -> None:
    with pytest.raises(GrammarError, match=words):
        convert(load_grammar(text), "regex", bound=SHORT)
