"""The two laws of the streaming validator, against jsonschema and against every valid text there is.

Sound: a text that some continuation makes valid is never rejected. Earliest: one that none can is rejected at once.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from glyphscope.events import Notation
from glyphscope.notation import write_call, write_value
from glyphscope.registry import Tool, ToolRegistry, normalise
from glyphscope.validation import CallValidator, CheckReport, ValueValidator
from glyphscope.validation.checker import Checker
from schema_strategies import in_our_language, schemas, values

pytestmark = pytest.mark.slow

NOTATIONS = st.sampled_from(["glyph", "json"])
Validator = TypeVar("Validator", CallValidator, ValueValidator)


def registry_of(schema: Any) -> ToolRegistry:
    parameters = {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }
    return ToolRegistry((Tool("f", parameters=parameters),))


def fed(validator: Validator, text: str, sizes: list[int] | None = None) -> Validator:
    """Return the validator after the whole text, fed in pieces of these sizes and the rest at once."""
    at = 0
    for size in sizes or []:
        validator.feed(text[at : at + size])
        at += size
    validator.feed(text[at:])
    validator.finish()
    return validator


def call_judged(schema: Any, notation: Notation, text: str, sizes: list[int] | None = None) -> CheckReport:
    return fed(CallValidator(registry_of(schema), notation, "flat"), text, sizes).report()


def value_judged(
    schema: Any, notation: Notation, text: str, sizes: list[int] | None = None
) -> ValueValidator:
    return fed(ValueValidator(schema, notation), text, sizes)


@given(schemas, values, NOTATIONS)
def test_an_argument_and_a_bare_value_are_valid_exactly_when_jsonschema_accepts_them(
    schema: Any, value: Any, notation: Notation
) -> None:
    assume(in_our_language(value))
    report = call_judged(schema, notation, write_call("f", {"v": value}, style=notation))
    expected = Checker({"properties": {"v": schema}}).valid({"v": value}, {"properties": {"v": schema}})
    assert report.valid == expected, report.errors
    if expected:
        assert json.dumps(report.arguments) == json.dumps({"v": value})

    bare = value_judged(schema, notation, write_value(value, notation))
    assert bare.valid == Checker(normalise(schema)).valid(value, normalise(schema)), bare.violations
    if bare.valid:
        assert json.dumps(bare.value) == json.dumps(value)
        assert bare.arguments == (value if isinstance(value, dict) else None)


@given(
    schemas,
    values,
    NOTATIONS,
    st.lists(st.integers(1, 4), max_size=40),
    st.integers(0, 60),
    st.text('a0}]", ', max_size=2),
)
def test_chunking_changes_no_verdict_on_a_call_or_a_bare_value(
    schema: Any, value: Any, notation: Notation, sizes: list[int], cut: int, tail: str
) -> None:
    text = write_call("f", {"v": value}, style=notation)[:cut] + tail
    whole, pieces = call_judged(schema, notation, text), call_judged(schema, notation, text, sizes)

    def without_tokens(report: CheckReport) -> Any:
        return [(e.code, e.message, e.path, e.char, e.rule, e.viable) for e in report.errors], report.fields

    assert without_tokens(whole) == without_tokens(pieces)
    assert (whole.valid, whole.complete, whole.arguments) == (pieces.valid, pieces.complete, pieces.arguments)

    text = write_value(value, notation)[:cut] + tail
    one, other = value_judged(schema, notation, text), value_judged(schema, notation, text, sizes)

    def reported(validator: ValueValidator) -> Any:
        return [(v.code, v.path, v.char, v.rule) for v in validator.violations], validator.fields

    assert reported(one) == reported(other)
    assert (one.valid, one.complete, one.value) == (other.valid, other.complete, other.value)


# Every valid text of small schemas, by enumeration: the language is finite, so its prefixes are the viable texts.

SMALL_SCALARS: list[Any] = [
    *range(-12, 121),
    *("".join(p) for n in range(4) for p in itertools.product("ab", repeat=n)),
]
SMALL_SCALARS += [None, True, False, "t", "null", "5", "a1"]


def ranges(low: int, size: int, step: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "exclusiveMaximum": low + size, "multipleOf": step}


def lengths(low: int, size: int) -> dict[str, Any]:
    return {"type": "string", "pattern": "^[ab]*$", "minLength": low, "maxLength": low + size}


of_one_type = st.one_of(
    st.builds(ranges, st.integers(-12, 90), st.integers(8, 20), st.sampled_from([1, 1, 2, 3, 7])),
    st.builds(lengths, st.integers(0, 2), st.integers(0, 1)),
    st.sampled_from(["^a[ab]*$", "^[ab]b?$", "^(ab|ba|b)$"]).map(
        lambda pattern: {"type": "string", "pattern": pattern, "maxLength": 3}
    ),
    st.just({"type": ["boolean", "null"]}),
)
small_schemas = of_one_type | st.lists(
    st.sampled_from(["a", "ab", "b", "t", "null", "5", 5, None, True]), min_size=1, max_size=4, unique_by=repr
).map(lambda listed: {"enum": listed, "type": ["string", "integer", "null", "boolean"]})
KEYWORDS = st.sampled_from(["anyOf", "oneOf", "allOf", "plain", "plain"])
SEVERAL = st.lists(small_schemas, min_size=2, max_size=3)
# of one type each: a second matching branch is reported at the end of the value, not before
APART = st.lists(of_one_type, min_size=2, max_size=3, unique_by=lambda schema: str(schema["type"]))


@st.composite
def combined_small(draw: st.DrawFn) -> Any:
    keyword = draw(KEYWORDS)
    if keyword == "plain":
        return draw(small_schemas)
    return {keyword: draw(APART if keyword == "oneOf" else SEVERAL)}


OTHERS = [{"type": "integer", "minimum": 8, "maximum": 11}, {"enum": ["ab", "b"]}, {"type": "null"}]
REQUIRED: list[list[str]] = [[], ["p"], ["pq"]]
CHANGES = st.sampled_from('{}[]="abtfn01259-:goepqx')


ENOUGH = {"anyOf": any, "allOf": all, "oneOf": lambda valid: sum(valid) == 1}


@cache
def valid_scalars(schema: str) -> tuple[bool, ...]:
    """Return whether each scalar is valid; cached, as the same schemas and branches are requested repeatedly."""
    document = json.loads(schema)
    for keyword, enough in ENOUGH.items():
        if keyword in document:
            branches = [valid_scalars(json.dumps(branch)) for branch in document[keyword]]
            return tuple(map(enough, zip(*branches, strict=True)))
    checker = Checker(document)
    return tuple(checker.valid(value, document) for value in SMALL_SCALARS)


def scalars_of(schema: Any) -> list[Any]:
    return list(itertools.compress(SMALL_SCALARS, valid_scalars(json.dumps(schema))))


def scalar_texts(value: Any, notation: Notation) -> Iterator[str]:
    if isinstance(value, bool):
        yield from (
            [*(("t", "true") if value else ("f", "false"))]
            if notation == "glyph"
            else ["true" if value else "false"]
        )
    elif value is None:
        yield from (["_", "null", "nil", "∅"] if notation == "glyph" else ["null"])
    elif isinstance(value, int):
        yield str(value)
        if value == 0:
            yield "-0"
    else:
        yield json.dumps(value)
        if (
            notation == "glyph"
            and value
            and value not in ("t", "f", "true", "false", "null", "nil")
            and value[0].isalpha()
        ):
            yield value


def valid_texts(
    tools: dict[str, dict[str, Any]], required: dict[str, list[str]], notation: Notation
) -> set[str]:
    """Return every call, with one form of separators, members in all orders, the name anywhere, and the head form."""
    texts: set[str] = set()
    for name, arguments in tools.items():
        written = {}
        for key, schema in arguments.items():
            texts_of = (scalar_texts(value, notation) for value in scalars_of(schema))
            written[key] = list(itertools.chain.from_iterable(texts_of))
        for count in range(len(arguments) + 1):
            for chosen in itertools.combinations(arguments, count):
                if not set(required[name]) <= set(chosen):
                    continue
                choices = [[(key, text) for text in written[key]] for key in chosen]
                for members in itertools.product(*choices):
                    for order in itertools.permutations(members):
                        texts |= calls_of(name, order, notation)
    return texts


def calls_of(name: str, members: tuple[tuple[str, str], ...], notation: Notation) -> set[str]:
    if notation == "json":
        parts = [f'"{key}":{text}' for key, text in members]
        named = f'"action":"{name}"'
        return {"{" + ",".join([*parts[:at], named, *parts[at:]]) + "}" for at in range(len(parts) + 1)}
    parts = [f"{key}={text}" for key, text in members]
    texts = {
        "{" + " ".join([*parts[:at], f"action={quoted}", *parts[at:]]) + "}"
        for at in range(len(parts) + 1)
        for quoted in (f'"{name}"', name)
    }
    return texts | {name + "{" + " ".join(parts) + "}"}


@given(
    st.data(),
    NOTATIONS,
    combined_small().filter(scalars_of),
    st.sampled_from(OTHERS),
    st.sampled_from(REQUIRED),
    CHANGES,
)
def test_a_prefix_is_a_violation_exactly_when_no_valid_call_begins_with_it(
    data: st.DataObject, notation: Notation, one: Any, other: Any, required_by_go: list[str], last: str
) -> None:
    tools = {"go": {"p": one, "pq": other}, "get": {"p": other}}
    required = {"go": required_by_go, "get": ["p"]}
    texts = sorted(valid_texts(tools, required, notation))
    base = data.draw(st.sampled_from(texts))
    prefix = base[: data.draw(st.integers(0, len(base)))] + last
    assume(not left_out(prefix, notation))
    registry = ToolRegistry(
        tuple(
            Tool(name, parameters={"type": "object", "properties": arguments, "required": required[name]})
            for name, arguments in tools.items()
        )
    )
    validator = CallValidator(registry, notation, "flat")
    validator.feed(prefix)

    def viable(beginning: str) -> bool:
        place = bisect_left(texts, beginning)
        return place < len(texts) and texts[place].startswith(beginning)

    assert (not validator.violations) == viable(prefix), (prefix, validator.violations)
    if validator.violations:
        char = validator.violations[0].char
        assert not viable(prefix[: char + 1])
        assert viable(prefix[:char])


def left_out(prefix: str, notation: Notation) -> bool:
    """Whether the last character begins one of GLYPH's other spellings, which the enumeration excludes: `:` for `=`,
    quoted keys, members next to a closing quote, space before the end."""
    if notation == "json" or prefix.count('"', 0, len(prefix) - 1) % 2:
        return False
    before, last = prefix[-2:-1], prefix[-1]
    return last == ":" or before == '"' or (last == '"' and before in ("{", " ")) or before + last == " }"
