"""A bare value's verdicts: the two laws, any chunking, and the messages for a value."""

from __future__ import annotations

import itertools
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import RegistryError
from glyphscope.events import FieldClosed, Notation
from glyphscope.validation import ValueValidator
from glyphscope.validation.checker import Checker

NOTATIONS = st.sampled_from(["glyph", "json"])
CHOICE = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"choice": {"const": "call_tool"}, "tool": {"enum": ["search", "send"]}},
            "required": ["choice", "tool"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"choice": {"const": "none"}, "tool": {"type": "null"}},
            "required": ["choice", "tool"],
            "additionalProperties": False,
        },
    ]
}


def judged(
    schema: Any, text: str, notation: Notation = "json", sizes: list[int] | None = None, **settings: Any
) -> ValueValidator:
    validator = ValueValidator(schema, notation, **settings)
    at = 0
    for size in sizes or []:
        validator.feed(text[at : at + size])
        at += size
    validator.feed(text[at:])
    validator.finish()
    return validator


def reported(validator: ValueValidator) -> list[tuple[str, str, int, str]]:
    return [(v.code, v.path, v.char, v.rule) for v in validator.violations]


# Every JSON text of small values: their prefixes are exactly the viable texts.

SMALL: list[Any] = [*range(-12, 121), None, True, False]
SMALL += ["".join(letters) for size in range(4) for letters in itertools.product("ab", repeat=size)]
small_schemas = st.one_of(
    st.builds(
        lambda low, size, step: {
            "type": "integer", "minimum": low, "exclusiveMaximum": low + size, "multipleOf": step,
        },
        st.integers(-12, 90), st.integers(8, 20), st.sampled_from([1, 1, 2, 7]),
    ),
    st.sampled_from(["^a[ab]*$", "^[ab]b?$", "^(ab|ba|b)$"]).map(
        lambda pattern: {"type": "string", "pattern": pattern, "maxLength": 3}
    ),
    st.lists(st.sampled_from(["a", "ab", "b", 5, None, True]), min_size=1, max_size=4, unique_by=repr).map(
        lambda listed: {"enum": listed}
    ),
    st.just({"type": ["boolean", "null"]}),
)  # fmt: skip


@cache
def valid_small(schema: str) -> tuple[bool, ...]:
    """Return whether each small value is valid; cached, as the same schemas are drawn repeatedly."""
    document = json.loads(schema)
    checker = Checker(document)
    return tuple(checker.valid(value, document) for value in SMALL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"sizes": [1, 2, 1]}', "sizes[2] is already in the list"),
        ('{"grid": [[1], ["a"]]}', "grid[1][0] must be of type integer"),
    ],
)
def test_an_item_of_a_list_is_named_by_its_list_and_place(text, message):
    numbers = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    schema = {"type": "object", "properties": {"sizes": numbers, "grid": {"type": "array", "items": numbers}}}
    assert [violation.message for violation in judged(schema, text).violations][:1] == [message]


@pytest.mark.slow
@at_most(300)
@given(st.data(), st.lists(small_schemas, min_size=1, max_size=3), st.booleans())
def test_a_prefix_has_a_violation_exactly_when_no_valid_value_begins_with_it(
    data: st.DataObject, some: list[Any], as_list: bool
) -> None:
    schema: Any = {"anyOf": some}
    valid = map(any, zip(*(valid_small(json.dumps(one)) for one in some), strict=True))
    texts = [json.dumps(value) for value in itertools.compress(SMALL, valid)]
    texts += ["-0"] if "0" in texts else []
    assume(texts)
    if as_list:
        schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 2}
        drawn = texts[:12]
        texts = [f"[{one}]" for one in texts] + [f"[{one},{other}]" for one in texts for other in drawn]
    base = data.draw(st.sampled_from(texts))
    added = data.draw(st.sampled_from('{}[]="abntf0159-,'))
    prefix = base[: data.draw(st.integers(0, len(base)))] + added
    assume(not (as_list and "," in prefix[:-1]))  # of arrays of two, only some second items are enumerated
    validator = ValueValidator(schema)
    validator.feed(prefix)
    viable = any(text.startswith(prefix) for text in texts)
    assert (not validator.violations) == viable, (prefix, validator.violations)


LATE = {"unevaluatedItems": False, "dependentRequired": {"a": ["b"]}}


@pytest.mark.parametrize(
    ("schema", "text", "code", "path", "char", "rule"),
    [
        ({"type": "integer", "maximum": 100}, "500", "CONSTRAINT_MAX", "", 2, "/maximum"),
        ({"type": "integer"}, "1.5", "TYPE_MISMATCH", "", 1, "/type"),
        ({"enum": ["search", "send"]}, '"sex"', "CONSTRAINT_ENUM", "", 3, "/enum"),
        ({"type": "string", "maxLength": 3}, '"abcd"', "CONSTRAINT_LEN", "", 4, "/maxLength"),
        ({"type": "array", "items": {"type": "null"}}, "[null, 1]", "TYPE_MISMATCH", "/1", 7, "/items/type"),
        ({"type": "array", "minItems": 2}, "[1]", "CONSTRAINT_ITEMS", "", 2, "/minItems"),
        ({"type": "object"}, "[]", "TYPE_MISMATCH", "", 0, "/type"),
        ({"type": "object", "required": ["a"]}, "{}", "MISSING_REQUIRED", "", 1, "/required"),
        ({"not": {"const": 1}}, "1", "CONSTRAINT_OTHER", "", 1, "/not"),
        ({"not": {"required": ["a"]}}, '"a"', "TYPE_MISMATCH", "", 0, "/not"),
        ({"not": {"required": ["a"]}}, '{"b": 1, "a": 1}', "UNKNOWN_ARGUMENT", "", 11, None),
        ({"not": {"minLength": 2}}, "5", "TYPE_MISMATCH", "", 0, "/not"),
        ({"not": {}}, "5", "CONSTRAINT_OTHER", "", 0, None),
        (LATE, '["a"]', "CONSTRAINT_ITEMS", "", 4, "/unevaluatedItems"),
        (False, "1", "CONSTRAINT_OTHER", "", 0, ""),
        ({}, "", "TRUNCATED", "", 0, ""),
        ({}, "{", "TRUNCATED", "", 1, ""),
        ({}, "Sure: {}", "SYNTAX", "", 0, ""),
        ({"type": "object"}, "Sure: {}", "LEADING_TEXT", "", 0, ""),
        ({"type": "object"}, "{Sure", "SYNTAX", "", 1, ""),
        (CHOICE, "  `", "LEADING_TEXT", "", 2, ""),
        ({}, "{} and more", "TRAILING_TEXT", "", 3, ""),
        (CHOICE, '{"choice": "clarify"}', "CONSTRAINT_ENUM", "/choice", 13, None),
        (CHOICE, '{"choice": "none", "tool": "s', "TYPE_MISMATCH", "/tool", 27, None),
        (CHOICE, '{"tool": "search", "choice": "n', "CONSTRAINT_ENUM", "/choice", 30, None),
    ],
)
def test_the_first_violation_is_at_the_deciding_character(
    schema: Any, text: str, code: str, path: str, char: int, rule: str | None
) -> None:
    first = judged(schema, text).violations[0]
    assert (first.code, first.path, first.char) == (code, path, char)
    assert rule is None or first.rule.startswith(rule)


def test_a_violation_of_a_value_does_not_mention_a_call() -> None:
    for text in ("[", "[] x", '"a"'):
        for violation in judged({"type": "array"}, text).violations:
            assert "call" not in violation.message


@pytest.mark.parametrize(
    ("schema", "text", "message", "viable"),
    [
        (
            {"type": "number", "maximum": 3},
            "-7e",
            "is written without an exponent here",
            "a number at most 3",
        ),
        (
            {"anyOf": [{"type": "array"}, {"type": "number", "maximum": 3}]},
            "-7e",
            "is written without an exponent here",
            "a number at most 3",
        ),
        ({"type": "integer", "maximum": 3}, "1.", "must be an integer", "an integer at most 3"),
        ({"type": "boolean"}, "1", "must be of type boolean", "boolean"),
        (
            {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "1",
            "must be of type boolean or null",
            "boolean or null",
        ),
    ],
)
def test_a_type_mismatch_of_a_number_names_its_bounds(
    schema: Any, text: str, message: str, viable: str
) -> None:
    first = judged(schema, text).violations[0]
    assert first.code == "TYPE_MISMATCH" and first.message.endswith(message)
    assert first.viable == viable


def test_a_number_is_complete_only_with_the_text() -> None:
    validator = ValueValidator({"type": "integer"})
    validator.feed("12")
    assert not validator.complete
    validator.finish()
    assert validator.valid
    assert validator.value == 12


def test_an_unnamed_member_is_a_violation_in_a_closed_schema() -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    assert judged(schema, '{"other": 1}').valid
    assert reported(judged(schema, '{"other": 1}', closed=True))[0][:3] == ("UNKNOWN_ARGUMENT", "", 2)


def test_fields_are_reported_as_they_close() -> None:
    validator = ValueValidator({"type": "object"})
    closed = [event for event in validator.feed('{"a": [1], "b": "x"}') if isinstance(event, FieldClosed)]
    assert [(event.path, event.value) for event in closed] == [("/a", [1]), ("/b", "x")]


def test_a_reference_of_an_older_draft_is_followed() -> None:
    schema = {"definitions": {"n": {"type": "integer"}}, "items": {"$ref": "#/definitions/n"}}
    assert judged(schema, "[1, 2]").valid
    assert not judged(schema, '[1, "2"]').valid


def test_an_invalid_schema_is_rejected_with_its_place() -> None:
    with pytest.raises(RegistryError, match="/properties/a"):
        ValueValidator({"properties": {"a": {"type": "text"}}})


def test_a_million_brackets_reach_a_limit() -> None:
    validator = judged({}, "[" * 1_000_000)
    assert validator.violations[0].code == "LIMIT_EXCEEDED"
