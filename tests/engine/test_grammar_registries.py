"""Whatever the grammar of a registry generates is a valid call: by glyph-py or json, and by jsonschema.

A hundred random registries, always the same ones, a hundred calls of each. Only constraints that the grammar names as
unenforced may be violated, and then Glyphscope's validator reports them where jsonschema does.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from glyphscope.errors import GrammarError
from glyphscope.events import NOTATIONS, Notation, Shape
from glyphscope.grammar import build_call_grammar, sample_texts
from glyphscope.grammar.tree import Grammar
from glyphscope.notation import call_document
from glyphscope.registry import Tool, ToolRegistry, parse_document
from glyphscope.validation import CallValidator
from reference_readers import READ, KeyTwice
from schema_strategies import in_our_language, schemas

pytestmark = pytest.mark.slow

REGISTRIES = 100
CALLS = 100
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
@given(tools=registries())
def test_other_validators_accept_generated_calls(tools: ToolRegistry) -> None:
    judges = {tool.name: judge(tool) for tool in tools.tools}
    grammars = {}
    for form in FORMS:
        with suppress(GrammarError):  # a tool without any valid call
            grammars[form] = build_call_grammar(tools, *form)
    assume(grammars)
    for form, grammar in grammars.items():
        check_calls(tools, judges, grammar, *form)


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
    for text in sample_texts(grammar, calls, seed=17):
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


def taken_apart(document: dict[str, Any], shape: Shape) -> tuple[str, dict[str, Any]]:
    name, *rest = document.values()
    if shape == "flat":
        return name, {key: value for key, value in document.items() if key != "action"}
    return name, rest[0]
