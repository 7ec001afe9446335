"""Random schemas: texts in the schema's order are read in any other order, and nothing invalid is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from examples import at_most
from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import NOTATIONS, Notation
from glyphscope.grammar import build_value_grammar, match_text, sample_texts, to_lark
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.grammar.tree import Grammar
from glyphscope.notation import parse_value, write_value
from lark_reader import lark_reader
from orders import in_some_order
from schema_strategies import schemas

pytestmark = pytest.mark.slow


def grammar_of(schema: Any, notation: Notation, **options: Any) -> Grammar | None:
    """Return the grammar; None if no value is valid."""
    try:
        grammar = build_value_grammar(schema, notation, **options)
        to_lark(grammar)
    except GlyphscopeError:
        return None
    return grammar


def values_of(grammar: Grammar, schema: Any, notation: Notation) -> list[Any]:
    """Return valid values that the grammar writes as the writer does."""
    found = []
    for text in sample_texts(grammar, 6):
        try:
            value = parse_value(text, notation)
        except GlyphscopeError:  # a free key that comes twice
            continue
        if write_value(value, notation) == text and Draft202012Validator(schema).is_valid(value):
            found.append(value)
    return found


@at_most(150)
@given(schemas, st.sampled_from(NOTATIONS), st.randoms(use_true_random=False))
@example({"enum": [{"a": None}, {"a": None, "ab": None}]}, "json", random.Random(1))
def test_every_text_in_the_schemas_order_is_accepted_in_any_order(
    schema: Any, notation: Notation, chance: random.Random
) -> None:
    fixed, free = grammar_of(schema, notation), grammar_of(schema, notation, order="any")
    assume(fixed is not None and values_of(fixed, schema, notation))
    assert fixed is not None
    assert free is not None
    assert not free.ordered
    mask = lark_reader(free)
    for value in values_of(fixed, schema, notation):
        text = write_value(in_some_order(value, chance), notation)
        assert mask(text), text
        assert match_text(free, text).accepted, text


@at_most(150)
@given(schemas, st.sampled_from(NOTATIONS))
def test_every_text_in_any_order_is_valid_except_for_reported_constraints(
    schema: Any, notation: Notation
) -> None:
    free = grammar_of(schema, notation, order="any")
    assume(free is not None)
    assert free is not None
    mask = lark_reader(free)
    for text in sample_texts(free, 6):
        assert mask(text), text
        assert match_text(free, text).accepted, text
        if not free.unenforced:
            assert Draft202012Validator(schema).is_valid(parse_value(text, notation)), text


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(60)
@given(schemas)
def test_every_text_of_the_gbnf_is_accepted_in_any_order(notation: Notation, schema: Any) -> None:
    free = grammar_of(schema, notation, order="any")
    assume(free is not None)
    assert free is not None
    emitted = emit_gbnf(free)
    assume(not emitted.unenforced)
    for text in sample_texts(load_gbnf(emitted.text), 4):
        assert match_text(free, text).accepted, text
