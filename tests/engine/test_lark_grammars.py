"""Whole grammars: the bundled ones, those that documentations of Lark show, llama.cpp's; and their conversion."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from gbnf_mutants import sources
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import Bound, covering_texts, match_text, sample_texts
from glyphscope.grammar.bundled import bundled_grammars
from glyphscope.grammar.convert import TargetLanguage, convert
from glyphscope.grammar.languages import GBNF, load_grammar
from glyphscope.grammar.lark_check import check_lark
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.processes.compilers import service

SHORT = Bound(seconds=1.0)
DOCUMENTED: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "text or JSON": (
        'start: WORDS | call\nWORDS: /[^{](.|\\n)*/\ncall: %json {"type": "object", "properties": {"city":'
        ' {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": false}\n',
        ("There is nothing to call.", '{"city": "Rome"}'),
        ('{"city": "Bonn"}', ""),
    ),
    "a tool call in a text": (
        'start: call* REST\nREST: /(.|\\n)*/\nhead[lazy]: REST "<tool"\ncall: head "=add>" SUM "</tool>"\n'
        "SUM: /[0-9]+\\+[0-9]+/\n",
        ("no call", "I add: <tool=add>1+2</tool> done", "<tool=add>1+2</tool><tool=add>3+4</tool>"),
        ("a <tool=sub>", "a <tool=add>1</tool>"),
    ),
    "thoughts before an answer": (
        'start: thoughts answer\nthoughts[suffix="</think>"]: /(.|\\n)*/\nanswer: "yes" | "no"\n',
        ("Is it? </think>yes", "</think>no"),
        ("yes", "a</think>maybe", "a</think>b</think>yes"),
    ),
    "each fruit once": (
        'start: fruits::0x0\nfruits::_: "" | fruit::_\nfruit::_: "apple;" fruits::set_bit(0) %if bit_clear(0)\n'
        ' | "pear;" fruits::set_bit(1) %if bit_clear(1)\n | "plum;" fruits::set_bit(2) %if bit_clear(2)\n',
        ("", "pear;", "plum;apple;pear;"),
        ("pear;pear;", "fig;"),
    ),
    "a time stamp": (
        "start: /^(January|June|July) [0-9]{1,2}(st|nd|rd|th)? [0-9]{4} at (0?[1-9]|1[0-2])(AM|PM)$/\n",
        ("June 3rd 2026 at 10AM", "July 14 1999 at 08PM"),
        ("Juno 3 2026 at 10AM", "June 3 2026 at 13AM"),
    ),
    "a quotation": (
        'start: "He said: " QUOTED\nQUOTED: %regex {"substring_words": "to be, or not to be"}\n',
        ("He said: to be", "He said: or not to", "He said: "),
        ("He said: to or", "He said: o be"),
    ),
}
APPROXIMATE = {"text or JSON"}
TABLE = {
    **DOCUMENTED,
    **{name: (one.text, one.matches, one.rejects) for name, one in bundled_grammars().items()},
}


def test_there_are_twelve_and_each_bundled_one_has_examples() -> None:
    assert len(TABLE) == 12 and len(bundled_grammars()) == 6
    assert all(one.title and one.matches and one.rejects for one in bundled_grammars().values())


@pytest.mark.parametrize("name", TABLE)
def test_a_grammar_of_the_documentations_opens_steps_and_samples_as_in_llguidance(name: str) -> None:
    text, matches, rejects = TABLE[name]
    check = check_lark(text)
    assert {d.code for d in check.diagnostics if d.severity != "hint"} <= {"approximate"}, check.diagnostics
    grammar = check.grammar
    assert grammar is not None
    assert [match_text(grammar, each).accepted for each in (*matches, *rejects)] == [True] * len(matches) + [
        False
    ] * len(rejects)
    start = compile_grammar(grammar).start()
    for each in matches:
        assert all(start.feed(each[:at]).active_rules() for at in range(len(each)))
    texts = [*matches, *rejects]
    if name not in APPROXIMATE:
        texts += [*sample_texts(grammar, 5, depth=5), *covering_texts(grammar, limit=10)]
    ours = [match_text(grammar, each).accepted for each in texts]
    assert service.read_texts(text, texts) == ours


@pytest.mark.parametrize("at", range(len(sources())))
def test_a_grammar_of_llama_cpp_checks_samples_and_is_the_same_in_lark(at: int) -> None:
    """Those in the folder beside the checkout, if it is there, and short ones with every feature."""
    text = sources()[at]
    grammar = GBNF.check(text).grammar
    assert grammar is not None
    if "<[" in text:  # tokens have no text
        return
    texts = sample_texts(grammar, 5, depth=4)
    assert texts and all(match_text(grammar, each).accepted for each in texts)
    made = convert(grammar, "lark", bound=SHORT)
    assert made.differences.same, made
    lark = load_grammar(made.text, path="a.lark")
    assert all(match_text(lark, each).accepted for each in texts)


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
