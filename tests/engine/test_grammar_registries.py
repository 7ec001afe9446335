"""Whatever the grammar of a registry generates, or its mask allows, is a valid call: by glyph-py or json, and by
jsonschema.

A hundred random registries, always the same ones, a hundred calls of each. Only constraints that the grammar names as
unenforced may be violated, and then Glyphscope's validator reports them where jsonschema does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any, get_args

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from glyphscope.base.errors import GrammarError
from glyphscope.events import NOTATIONS, Notation, Shape
from glyphscope.grammar import sample_texts, to_lark
from glyphscope.grammar.tree import Grammar
from glyphscope.notation import call_document
from glyphscope.registry import Tool, ToolRegistry, default_registry, parse_document
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator
from reference_readers import READ, KeyTwice
from schema_strategies import in_our_language, schemas

pytestmark = pytest.mark.slow

REGISTRIES = 100
CALLS = 100
WALKS = 3
TOKENIZER = LLTokenizer("byte")
ARGUMENTS = ["a", "b", "t", "null", "max_results", "x y", "größe", 'q"', "_k"]
NAMES = ["search", "read-file", "t", "null", "web.search", "größe"]


FORMS: list[tuple[Notation, Shape]] = list(itertools.product(NOTATIONS, get_args(Shape)))


@st.composite
def registries(draw: st.DrawFn) -> ToolRegistry:
    tools = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
        properties = draw(st.dictionaries(st.sampled_from(ARGUMENTS), schemas, max_size=4))
        required = [argument for argument in properties if draw(st.booleans())]
        tools[name] = {"type": "object", "properties": properties, "required": required}
    return parse_document(tools)


def judge(tool: Tool) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        tool.parameters, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


@settings(
    max_examples=min(REGISTRIES, settings().max_examples),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(tools=registries(), form=st.sampled_from(FORMS))
def test_other_validators_accept_generated_calls(tools: ToolRegistry, form: tuple[Notation, Shape]) -> None:
    try:
        grammar = build_call_grammar(tools, *form)
    except GrammarError:  # a tool without any valid call
        assume(False)
    check_calls(tools, {tool.name: judge(tool) for tool in tools.tools}, grammar, *form)


def check_calls(
    tools: ToolRegistry,
    judges: dict[str, jsonschema.Draft202012Validator],
    grammar: Grammar,
    notation: Notation,
    shape: Shape,
) -> None:
    unenforced = {
        tool.name: [left for left in grammar.unenforced if left.tool == tool.name] for tool in tools.tools
    }
    calls = CALLS if (notation, shape) == ("glyph", "flat") else CALLS // 4
    for text in (*sample_texts(grammar, calls, seed=17), *masked_texts(grammar, WALKS)):
        validator = CallValidator(tools, notation, shape)
        validator.feed(text)
        validator.finish()
        try:
            document = READ[notation](text)
        except KeyTwice:
            assert validator.violations, text
            assert validator.violations[0].code == "DUPLICATE_ARGUMENT" or unenforced[validator.tool], text
            continue
        name, arguments = taken_apart(document, shape)
        assert call_document(name, arguments, shape) == document
        valid = judges[name].is_valid(arguments)
        stricter = (
            valid and bool(unenforced[name]) and not in_our_language(arguments)
        )  # 5.0 is not an integer in a call's grammar
        assert stricter or validator.valid == valid, (text, validator.violations)
        assert valid or unenforced[name], (text, next(judges[name].iter_errors(arguments)).message)


def masked_texts(grammar: Grammar, number: int) -> Iterator[str]:
    """Random walks over the bytes that the mask allows, without those that have no end in 600 bytes."""
    template = LLMatcher(TOKENIZER, LLMatcher.grammar_from_lark(to_lark(grammar)), log_level=0)
    chance = Random(7)
    for _ in range(number):
        matcher, text = template.deep_copy(), bytearray()
        while not matcher.is_accepting() and len(text) < 600:
            mask = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
            allowed = [
                int(byte) for byte in np.flatnonzero(np.unpackbits(mask, bitorder="little")) if byte < 256
            ]
            assert allowed, f"the mask is empty after {bytes(text)!r}: {matcher.get_error()[:200]}"
            closing = [byte for byte in allowed if byte in b'"}] ,']
            printable = [byte for byte in allowed if 0x20 <= byte < 0x7F]
            ending = closing and chance.random() < 0.3
            likely = printable if printable and chance.random() < 0.9 else allowed
            text.append(chance.choice(closing if ending else likely))
            assert matcher.try_consume_tokens([text[-1]]) == 1
        if matcher.is_accepting():
            yield text.decode()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_calls_of_the_default_registry_are_valid(form: tuple[Notation, Shape]) -> None:
    tools = default_registry()
    grammar = build_call_grammar(tools, *form)
    assert not grammar.unenforced
    check_calls(tools, {tool.name: judge(tool) for tool in tools.tools}, grammar, *form)


def taken_apart(document: dict[str, Any], shape: Shape) -> tuple[str, dict[str, Any]]:
    name, *rest = document.values()
    if shape == "flat":
        return name, {key: value for key, value in document.items() if key != "action"}
    return name, rest[0]
