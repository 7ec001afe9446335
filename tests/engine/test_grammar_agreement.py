"""Three independent engines agree: Glyphscope's matcher, llguidance under the mask, llama.cpp's grammar.

On every text: whether it is accepted, and the length of its longest prefix of an accepted text.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from examples import at_most
from gbnf_texts import gbnf_texts, texts_around
from glyphscope.base.errors import GlyphscopeError, GrammarError, ModelDied
from glyphscope.grammar import compile_grammar, sample_texts, to_lark
from glyphscope.grammar.gbnf import check_gbnf, emit_gbnf
from glyphscope.grammar.tree import Alt, ByIdentity, CharClass, Grammar, Repeat, Seq
from glyphscope.models import GrammarProbe
from glyphscope.registry import default_registry, parse_document
from glyphscope.turns import build_call_grammar
from grammar_strategies import grammars, wide_grammars
from llama_verdict import llama_verdict
from schema_strategies import schemas

TOKENIZER = LLTokenizer("byte")
TEXTS = 6
PIECES = [
    "",
    " ",
    '"',
    "}",
    "{",
    "=",
    ",",
    ":",
    "]",
    "1",
    "99",
    "true",
    "t",
    "\\",
    "é",
    "a",
    "action",
    "-",
    ".",
    "_",
]
"""With which a piece of a call is replaced."""


def needs_llama(test):
    """Mark a test that requires llama.cpp."""
    missing = importlib.util.find_spec("llama_cpp") is None
    return pytest.mark.model(pytest.mark.skipif(missing, reason="needs llama-cpp-python")(test))


@pytest.fixture
def probe() -> Iterator[GrammarProbe]:
    with GrammarProbe(seconds=5.0) as made:
        yield made


def ours(grammar: Grammar, texts: Sequence[str]) -> list[tuple[bool, int]]:
    """Return for each text whether it is accepted, and the length of its longest viable prefix."""
    start = compile_grammar(grammar).start()
    states = [start.feed(text) for text in texts]
    return [(state.accepted, state.position) for state in states]


@lru_cache(maxsize=4)
def template_of(key: ByIdentity[Grammar]) -> LLMatcher:
    return LLMatcher(TOKENIZER, LLMatcher.grammar_from_lark(to_lark(key.value)), log_level=0)


def masked(grammar: Grammar, texts: Sequence[str]) -> list[tuple[bool, int]]:
    """Return the same by llguidance; a character that is viable in part is not counted."""
    template, found = template_of(ByIdentity(grammar)), []
    for text in texts:
        matcher, data = template.deep_copy(), text.encode()
        taken = matcher.try_consume_tokens(list(data))
        assert not matcher.is_error(), matcher.get_error()
        viable = len(data[:taken].decode("utf-8", "ignore"))
        found.append((taken == len(data) and matcher.is_accepting(), viable))
    return found


def read_by_llama(probe: GrammarProbe, gbnf: str, texts: Sequence[str]) -> list[tuple[bool, int]]:
    """Return the same as read by llama.cpp. Raises ModelDied, and GrammarError if llama.cpp rejects the grammar."""
    return [(found.accepted, found.viable) for found in probe.match_all(gbnf, texts)]


def agree(grammar: Grammar, texts: Sequence[str], others: Sequence[tuple[bool, int]], who: str) -> None:
    for text, mine, other in zip(texts, ours(grammar, texts), others, strict=True):
        assert mine == other, f"{text!r}: ours {mine}, {who} {other}"


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [grammars, wide_grammars], ids=["letters", "unicode"])
@at_most(300)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_the_mask_stops_a_text_where_the_matcher_does(strategy, data, seed):
    grammar = data.draw(strategy)
    texts = texts_around(grammar, Random(seed), TEXTS)
    try:
        found = masked(grammar, texts)
    except GrammarError as error:
        assert "derives no text" in str(error)
        assert not compile_grammar(grammar).start().alive
        return
    agree(grammar, texts, found, "llguidance")


def llama_is_asked(probe, gbnf, grammar, texts):
    """Compare with llama.cpp; False if it hangs on a text, as it may on an ambiguous grammar."""
    try:
        found = read_by_llama(probe, gbnf, texts)
    except ModelDied as error:
        assert error.signal == "timeout", (gbnf, error)
        return False
    agree(grammar, texts, found, "llama.cpp")
    return True


@needs_llama
@pytest.mark.slow
@pytest.mark.parametrize("strategy", [grammars, wide_grammars], ids=["letters", "unicode"])
@at_most(300)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_llama_cpp_stops_the_gbnf_of_a_grammar_where_the_matcher_does(probe, strategy, data, seed):
    grammar = data.draw(strategy)
    texts = texts_around(grammar, Random(seed), TEXTS)
    try:
        check = check_gbnf(emit_gbnf(grammar).text)
    except GrammarError as error:
        assert "derives no text" in str(error)
        return
    if check.ok:
        llama_is_asked(probe, check.document.text, grammar, texts)
    else:  # left recursion stays, and so does a repeated rule that may be empty
        errors = {diagnostic.code for diagnostic in check.diagnostics if diagnostic.severity == "error"}
        assert errors <= {"left-recursion", "nullable-loop"}, check.document.text


def excludes_more_than_ascii(grammar):
    """Whether llama.cpp excludes more than it reports where characters come byte by byte; see the test below."""
    waiting, found = [rule.body for rule in grammar.rules.values()], False
    while waiting:
        node = waiting.pop()
        if isinstance(node, CharClass):
            found = found or (node.negated and bool(node.ranges) and node.ranges[-1][1] >= 0x80)
        elif isinstance(node, Repeat):
            waiting.append(node.body)
        elif isinstance(node, Seq | Alt):
            waiting += node.parts if isinstance(node, Seq) else node.options
    return found


@needs_llama
@pytest.mark.slow
@at_most(300)
@given(text=gbnf_texts, seed=st.integers(0, 2**32))
def test_a_written_grammar_is_read_alike_by_llama_cpp_and_the_mask(probe, text, seed):
    check = check_gbnf(text)
    if check.grammar is None:
        errors = [diagnostic.message for diagnostic in check.diagnostics if diagnostic.severity == "error"]
        # problems that llama.cpp does not report, it meets only when a text leads there
        assert (
            any("does not detect it" in message for message in errors) or not llama_verdict(probe, text).ok
        ), errors
        return
    assert llama_verdict(probe, text).ok, text
    texts = texts_around(check.grammar, Random(seed), TEXTS)
    reported = {diagnostic.code for diagnostic in check.diagnostics}
    if not excludes_more_than_ascii(check.grammar) and "endless-rule" not in reported:
        llama_is_asked(probe, text, check.grammar, texts)
    try:
        agree(check.grammar, texts, masked(check.grammar, texts), "llguidance")
    except GrammarError as error:
        assert "derives no text" in str(error) and not compile_grammar(check.grammar).start().alive


@needs_llama
def test_a_class_that_excludes_more_than_ascii_is_rewritten_for_llama_cpp(probe):
    """The reason for `excludes_more_than_ascii` above, and for never writing such a class (`spell_class`)."""
    assert probe.match("root ::= [^é]", "è").viable == 0
    class_of_ours = emit_gbnf(check_gbnf("root ::= [^é]").grammar).text
    assert probe.match(class_of_ours, "è").accepted and not probe.match(class_of_ours, "é").accepted


@needs_llama
def test_a_rule_without_an_end_is_reported_because_llama_cpp_would_follow_it(probe):
    """The reason for leaving out grammars with that warning above: llama.cpp follows rules without an end."""
    check = check_gbnf('root ::= "a" x | "b"\nx ::= "c" x\n')
    assert "endless-rule" in {diagnostic.code for diagnostic in check.diagnostics}
    assert ours(check.grammar, ["ac"]) == [(False, 0)]
    assert read_by_llama(probe, check.document.text, ["ac"]) == [(False, 2)]


def mutated(data: st.DataObject, text: str) -> str:
    at = data.draw(st.integers(0, len(text)))
    end = min(len(text), at + data.draw(st.integers(0, 3)))
    return text[:at] + data.draw(st.sampled_from(PIECES)) + text[end:]


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["json", "glyph"])
@pytest.mark.parametrize("shape", ["flat", "tool-args"])
@at_most(300)
@given(data=st.data())
def test_llguidance_and_the_matcher_agree_on_mutated_calls_of_the_bundled_tools(notation, shape, data):
    grammar = build_call_grammar(default_registry(), notation, shape)
    for text in sample_texts(grammar, 3, seed=data.draw(st.integers(0, 10_000))):
        wrong = mutated(data, text)
        found = masked(grammar, [text, wrong])
        assert found[0] == (True, len(text))
        agree(grammar, [text, wrong], found, "llguidance")


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["json", "glyph"])
@at_most(300)
@given(schema=schemas, data=st.data())
def test_llguidance_and_the_matcher_agree_on_calls_of_any_schema(notation, schema, data):
    parameters = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    try:
        grammar = build_call_grammar(parse_document({"t": parameters}), notation, "tool-args")
        to_lark(grammar)
    except GlyphscopeError:
        return
    # Where free keys and named ones mix, llguidance's lexer has taken the named key's comma with it, and does not
    # backtrack: it loses texts there, and never accepts more than Glyphscope's matcher.
    free = any("free object" in left.why for left in grammar.unenforced)
    for text in sample_texts(grammar, 2, seed=data.draw(st.integers(0, 10_000))):
        tried = [text, mutated(data, text)]
        assert ours(grammar, tried)[0] == (True, len(text))
        for each, mine, its in zip(tried, ours(grammar, tried), masked(grammar, tried), strict=True):
            assert mine == its or (free and mine[1] >= its[1] and mine[0] >= its[0]), each
