"""Lark as llguidance reads it: the same texts are grammars, with the same texts, and every problem has a place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from examples import rounds
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import compile_grammar, sample_texts
from glyphscope.grammar.gbnf import CheckCancelled, Diagnostic
from glyphscope.grammar.generate.sample import texts_of_rules
from glyphscope.grammar.languages import LARK, language_of
from glyphscope.grammar.lark_check import LarkCheck, check_lark, check_lark_bytes
from glyphscope.grammar.lark_text.diagnostics import CODES
from glyphscope.grammar.lark_text.openai import openai_problems
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.tree import NEVER, Grammar, Terminal, walk
from glyphscope.processes.compilers import service
from lark_cases import CASES, nested_grammar, random_grammar, random_text

OTHER_TOKENS = {'start: <think> "a"'}  # of a model: the tokenizer of bytes does not have it
RANDOM_GRAMMARS = 40


def errors(check: LarkCheck) -> list[Diagnostic]:
    return [diagnostic for diagnostic in check.diagnostics if diagnostic.severity == "error"]


@pytest.mark.parametrize(("text", "code"), CASES, ids=[text[:40] for text, _ in CASES])
def test_each_problem_is_named_and_llguidance_rejects_exactly_the_texts_with_errors(
    text: str, code: str
) -> None:
    check = check_lark(text, ask=False)
    found = {diagnostic.code for diagnostic in check.diagnostics}
    assert (code in found) if code else not found, check.diagnostics
    if text not in OTHER_TOKENS:
        assert bool(service.refusal(text)) == bool(errors(check)), (service.refusal(text), check.diagnostics)


def test_every_code_has_an_example_and_is_in_the_users_table() -> None:
    elsewhere = {"lone-surrogate", "not-utf-8", "too-many-mistakes", "llguidance", "openai"}
    assert {code for _, code in CASES if code} | elsewhere == CODES.keys()
    guide = (Path(__file__).parents[2] / "docs" / "lark.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|hint) \|", guide, re.MULTILINE)
    assert dict(table) == {code: severity for code, (severity, _) in CODES.items()}


@pytest.mark.parametrize("text", [text for text, _ in CASES], ids=lambda text: text[:40])
def test_a_fix_removes_its_problem(text: str) -> None:
    for found in check_lark(text, ask=False).diagnostics:
        if found.fix is not None:
            after = check_lark(found.fix.apply(text), ask=False).diagnostics
            assert (found.code, found.start) not in [(other.code, other.start) for other in after], after


@pytest.mark.parametrize("text", [text for text, _ in CASES], ids=lambda text: text[:40])
def test_places_are_within_the_text_and_formatting_keeps_the_verdict(text: str) -> None:
    check = check_lark(text, ask=False)
    assert all(0 <= d.start <= d.end <= len(text) for d in check.diagnostics)
    formatted = check_lark(LARK.print_text(check.document), ask=False)
    assert formatted.ok == check.ok, formatted.document.text
    assert formatted.ok is False or formatted.grammar == check.grammar or "%if" in text or "%lark" in text
    assert LARK.print_text(formatted.document) == formatted.document.text


def has_every_rule(grammar: Grammar) -> bool:
    """Whether every rule and lexeme has a text: llguidance counts what cannot come as possible."""
    compiled = compile_grammar(grammar)
    nodes = [node for rule in grammar.rules.values() for node in walk(rule.body)]
    lexemes = [node.body for node in nodes if isinstance(node, Terminal)]
    return (
        NEVER not in nodes
        and all(map(compiled.derives, grammar.rules))
        and all(Automaton.of(lexeme).start.terms for lexeme in lexemes)
    )


@pytest.mark.parametrize("make", [random_grammar, nested_grammar])
@pytest.mark.parametrize("seed", range(rounds(RANDOM_GRAMMARS, 2_000)))
def test_the_same_texts_match_as_in_llguidance(seed: int, make: Callable[[Random], str]) -> None:
    random = Random(seed)
    text = make(random)
    check = check_lark(text, ask=False)
    assert bool(service.refusal(text)) == bool(errors(check)), text
    grammar = check.grammar
    if grammar is None or not has_every_rule(grammar):
        return
    texts = {random_text(random) for _ in range(20)}
    texts |= {each for each in texts_of_rules(grammar, 6) if each.isprintable() and len(each) < 40}
    texts |= {each[:-1] for each in texts} | {f"{each} " for each in texts}
    listed = sorted(texts)
    start = compile_grammar(grammar).start()
    for each, theirs in zip(listed, service.read_texts(text, listed), strict=True):
        state = start.feed(each)
        assert theirs == state.accepted, (text, each)
        assert state.alive or not theirs
    assert all(start.feed(each).accepted for each in sample_texts(grammar, 5))


def test_the_white_space_of_a_value_of_a_schema_is_that_of_llguidance() -> None:
    """Without end after the value, a model could fill its answer with it."""
    text = 'start: "x" %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]} "."?'
    listed = ['x{"a":1}', 'x{ "a" :\n1\t}.', 'x {"a":1}', 'x{"a":1} .', 'x{"a":1}\n', 'x{"a":1}. ']
    start = compile_grammar(check_lark(text, ask=False).grammar).start()
    assert [start.feed(each).accepted for each in listed] == list(service.read_texts(text, listed))


def test_the_characters_that_may_follow_are_those_that_keep_a_text_alive() -> None:
    for seed in range(rounds(RANDOM_GRAMMARS, 2_000)):
        random = Random(1000 + seed)
        grammar = check_lark(random_grammar(random), ask=False).grammar
        if grammar is None or not has_every_rule(grammar):
            continue
        state = compile_grammar(grammar).start().feed(random_text(random)[:3])
        offered = state.next_chars()
        for char in "abc é8è":
            within = any(low <= ord(char) <= high for low, high in offered)
            assert within >= state.feed(char).alive, (grammar, char)


def test_bytes_that_are_no_utf_8_and_surrogates_are_reported_with_their_places() -> None:
    check = check_lark_bytes(b'start: "a\xff"')
    assert [(d.code, d.start) for d in errors(check)] == [("not-utf-8", 9)]
    assert "lone-surrogate" in {d.code for d in check_lark("start: \ud800").diagnostics}


def test_a_text_that_is_no_grammar_is_not_read_to_its_end() -> None:
    check = check_lark("$" * 5_000)
    assert check.diagnostics[-1].code == "too-many-mistakes" and len(check.diagnostics) < 1_100


@pytest.mark.parametrize("text", ["start: /(a{1000}){1000}/", 'start: x{1000000}\nx: "a" | "b"'])
def test_a_grammar_of_endless_texts_is_checked_without_them(text: str) -> None:
    grammar = check_lark(text).grammar
    assert grammar is not None
    with pytest.raises(GrammarError, match="shortest text has more than 100,000 characters"):
        sample_texts(grammar, 1)


def test_a_check_can_be_stopped() -> None:
    with pytest.raises(CheckCancelled):
        check_lark('x: "a"\n' * 20_000, cancel=lambda: True)


def test_llguidance_itself_is_asked_last() -> None:
    """A grammar on which llguidance 1.9.1 panics."""
    check = check_lark('start: x::1\nx::_: x::incr(_) %if lt(_,5)\n | ""')
    assert [d.code for d in errors(check)] == ["llguidance"]
    assert check_lark('start: <think> "a" "<think>" // <think>').ok


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ('start: "a"', "", "Lark"), ('root ::= "a"', "", "GBNF"), ("", "", "GBNF"), ("", "a.LARK", "Lark"),
        ('start: "a"', "a.gbnf", "GBNF"), ('%ignore " "\n', "", "Lark"), ('x[lazy]: /a/', "", "Lark"),
        ('# a: comment\nroot ::= ":"', "", "GBNF"), ('start: "root ::= b"', "", "Lark"),
    ],
)  # fmt: skip
def test_the_language_of_a_grammar_is_that_of_its_ending_or_of_its_first_rule(
    text: str, path: str, name: str
) -> None:
    assert language_of(text, path).name == name


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('start: "a" /[a-z]{1,9}/', 0), ("start: /a*?/", 1), (r"start: /a\*?/", 0), ("start: /[*?]+/", 0),
        ("%import common.WS\n%ignore WS\nstart: /a/", 0), ("%ignore / +/\nstart: /a/", 1),
        ('%ignore " "\nstart: /a/', 0), ('start: %json {"type": "integer"}', 1), ("start: x\nx[lazy]: /a/", 1),
        ('start: A\nA: ~"a" & /[ab]/', 2), ("start: <[5]>", 1), ('%llguidance {}\nstart: "a"', 1),
    ],
)  # fmt: skip
def test_what_openai_documents_less_of_than_llguidance_is_named(text: str, count: int) -> None:
    assert len(openai_problems(check_lark(text).document)) == count
