"""Boundary examples: each breaks its constraint and no other, and no constraint goes missing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from examples import at_most
from glyphscope.base.errors import RegistryError
from glyphscope.base.pointer import to_pointer
from glyphscope.explain.proof import Boundaries, boundary_examples
from glyphscope.registry import KEYWORDS, default_registry, make_tool
from glyphscope.validation.checker import Checker
from keyword_rows import EVERY, registry
from schema_strategies import schemas


def found(**properties: Any) -> Boundaries:
    defs = properties.pop("defs", {})
    return boundary_examples(make_tool("t", "", {"type": "object", "properties": properties, "$defs": defs}))


def values(pointer: str, **properties: Any) -> list[Any]:
    """Return the values at `v` that violate that constraint alone."""
    examples = found(**properties).examples
    return [e.arguments.get("v") for e in examples if e.pointer == pointer and e.only]


@pytest.mark.parametrize(
    ("keyword", "schema", "expected"),
    [
        ("minimum", {"type": "integer", "minimum": 3}, [2]),
        ("maximum", {"type": "number", "maximum": 99.5}, [100, 99.6, 99.500001]),
        ("exclusiveMaximum", {"type": "number", "exclusiveMaximum": 10}, [10, 11, 10.1]),
        ("exclusiveMinimum", {"type": "integer", "exclusiveMinimum": 10}, [10, 9]),
        ("multipleOf", {"type": "integer", "multipleOf": 5}, [2]),
        ("minLength", {"type": "string", "minLength": 3}, ["aa", "", "😀😀"]),
        ("maxLength", {"type": "string", "maxLength": 3}, ["teaa", "teaé"]),
        ("pattern", {"type": "string", "pattern": "^[a-z]+$"}, ["", "tea!", "TEA"]),
        ("format", {"type": "string", "format": "date"}, ["2025-02-30", "2025-13-01"]),
        ("x-grammar", {"type": "string", "x-grammar": {"type": "grammar", "syntax": "regex", "definition": "[ab]+"}},
         ["", "A"]),
        ("enum", {"enum": ["celsius", 5]}, ["celsiuss", "celsiu", "CELSIUS", 6]),
        ("const", {"const": True}, [False, "true"]),
        ("type", {"type": "integer"}, ["1", 1.5, None, True, [], {}]),
        ("type", {"type": "boolean"}, ["true", 1, None]),
        ("minItems", {"type": "array", "minItems": 2}, [["green tea"], []]),
        ("maxItems", {"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [[1, 1, 1]]),
        ("uniqueItems", {"type": "array", "uniqueItems": True}, [["green tea", "green tea"]]),
        ("contains", {"type": "array", "contains": {"const": 1}}, [[]]),
        ("maxContains", {"type": "array", "contains": {"const": 1}, "maxContains": 1}, [[1, 1]]),
        ("items", {"type": "array", "prefixItems": [{"type": "string"}], "items": False}, [["green tea", {}]]),
        ("required", {"type": "object", "required": ["a", "b"]}, [{"b": "green tea"}, {"a": "green tea"}]),
        ("additionalProperties", {"type": "object", "additionalProperties": False}, [{"unknown": "text"}]),
        ("minProperties", {"type": "object", "minProperties": 1}, [{}]),
        ("maxProperties", {"type": "object", "maxProperties": 1}, [{"extra0": "text", "extra1": "text"}]),
        ("dependentRequired", {"type": "object", "dependentRequired": {"a": ["b"]}}, [{"a": "text"}]),
        ("not", {"type": "string", "not": {"const": "root"}}, ["root"]),
        ("anyOf", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["1", 1.5, [], {}]),
        ("oneOf", {"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]}, [0]),
        ("propertyNames/maxLength", {"type": "object", "propertyNames": {"maxLength": 4}}, [{"nameaa": "text"}]),
    ],
)  # fmt: skip
def test_every_boundary_is_tested(keyword: str, schema: dict[str, Any], expected: list[Any]) -> None:
    tried = values(f"/properties/v/{keyword}", v=schema)
    if keyword == "propertyNames/maxLength":
        assert tried
        assert all(any(len(name) > 4 for name in value) for value in tried)
    else:
        assert [value for value in expected if repr(value) not in map(repr, tried)] == []


def test_every_constraint_has_an_example_or_a_reason() -> None:
    """In every place that a value reaches; and all keywords but one are broken alone by an example."""
    alone: set[str] = set()
    for schema, *_ in EVERY:
        tool = registry(("x", schema)).tools[0]
        left = boundary_examples(tool)
        expected = set(constraints_in(tool.parameters))
        assert expected <= {one.pointer for one in (*left.examples, *left.unreached)}, schema
        alone |= {example.keyword for example in left.examples if example.only}
    anything = (False, True, 1, 2, [1], {"a": 1})
    assert alone >= {name for name in KEYWORDS if any(rejects({name: one}, name) for one in anything)} - {
        "propertyNames"
    }


def rejects(schema: dict[str, Any], name: str) -> bool:
    return name in KEYWORDS and KEYWORDS[name].rejects(schema[name])


def constraints_in(schema: Any, path: tuple[Any, ...] = ()) -> Iterator[str]:
    """The pointers of all keywords that reject a value, without those inside a schema that no value has to satisfy."""
    for name, value in schema.items() if isinstance(schema, dict) else ():
        if rejects(schema, name):
            yield to_pointer((*path, name))
        inside = KEYWORDS[name].inside if name in KEYWORDS and name not in ("not", "if", "contains") else ""
        if isinstance(value, list) and inside:
            value = dict(enumerate(value))
            inside = "named"
        for step, inner in value.items() if inside == "named" else ():
            yield from constraints_in(inner, (*path, name, step))
        if inside and inside != "named":
            yield from constraints_in(value, (*path, name))


def test_an_alternative_is_tested_with_values_that_its_neighbours_reject() -> None:
    """A value past the first maximum is allowed by the second: only a value past both violates either."""
    schema = {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 7}]}
    assert 8 in values("/properties/v/anyOf/0/maximum", v=schema)
    assert 6 not in values("/properties/v/anyOf/0/maximum", v=schema)


def test_a_forbidden_property_is_a_constraint() -> None:
    assert "text" in values("/properties/v", v=False)


def test_a_constraint_without_an_example_is_reported() -> None:
    left = found(v={"type": "string", "const": "x"}, w={"type": "string", "format": "unheard-of"})
    reported = {(one.pointer, one.keyword) for one in left.unreached}
    assert ("/properties/w/format", "format") in reported
    # only the type rejects values of other types, beside a constant
    kinds = [example for example in left.examples if example.pointer == "/properties/v/type"]
    assert kinds
    assert not any(example.only for example in kinds)


def test_a_long_text_is_tested() -> None:
    assert [
        len(value) for value in values("/properties/v/maxLength", v={"type": "string", "maxLength": 32767})
    ] == [32768]


def test_constraints_beyond_the_time_limit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyphscope.explain.proof.boundary._SECONDS", -1.0)
    left = found(v={"type": "string", "title": "not tried before"})
    assert not left.examples
    assert {one.pointer for one in left.unreached} == {"/type", "/properties/v/type", "/additionalProperties"}
    assert all("over" in one.why for one in left.unreached)


def test_an_unknown_argument_is_tested() -> None:
    tool = next(iter(default_registry()))
    assert any(e.pointer == "/additionalProperties" for e in boundary_examples(tool).examples)
    assert not any(
        e.pointer == "/additionalProperties" for e in boundary_examples(tool, closed=False).examples
    )


def test_a_tool_that_requires_an_argument_without_a_schema_is_tested() -> None:
    schema = {
        "type": "object",
        "properties": {"room": {"enum": ["Blue", "Green"]}},
        "required": ["room", "seat"],
    }
    found = boundary_examples(make_tool("t", "", schema))
    assert {"/required", "/properties/room/enum", "/additionalProperties"} <= {
        e.pointer for e in found.examples
    }
    assert not found.unreached


@pytest.mark.slow
def test_a_recursive_schema_is_tested_in_time() -> None:
    """Recursion through every keyword, and alternatives that multiply."""
    node: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}
    defs = {"n": {"type": "object", "properties": {f"p{i}": node for i in range(30)}, "required": ["p0"]}}
    result = found(v={"$ref": "#/$defs/n"}, defs=defs)
    assert any(e.pointer == "/$defs/n/required" for e in result.examples)


@pytest.mark.slow
@given(schema=schemas)
@at_most(300)
def test_every_example_is_a_boundary(schema: Any) -> None:
    try:
        tool = make_tool("t", "", {"type": "object", "properties": {"v": schema}})
    except RegistryError:
        return
    checker = Checker(tool.parameters)
    result = boundary_examples(tool, closed=False)
    for example in result.examples:
        assert checker.best_error(example.valid) is None
        assert checker.best_error(example.arguments) is not None
        if example.only:
            without = without_place(tool.parameters, example.pointer, example.keyword)
            assert Checker(without).best_error(example.arguments) is None
    assert not {e.pointer for e in result.examples} & {left.pointer for left in result.unreached}


def without_place(schema: Any, pointer: str, keyword: str) -> Any:
    changed = copy.deepcopy(schema)
    place = changed
    *path, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    for step in path:
        place = place[int(step) if isinstance(place, list) else step]
    key = int(last) if isinstance(place, list) else last
    if place[key] is False:
        place[key] = True
    else:
        del place[key]
    return changed


def test_a_very_long_text_is_tried_and_beyond_that_the_reason_says_that_the_grammar_has_the_limit() -> None:
    (value,) = values("/properties/v/maxLength", v={"type": "string", "maxLength": 199_999})
    assert len(value) == 200_000
    left = found(v={"type": "string", "maxLength": 2_000_000}).unreached
    (reason,) = [each.why for each in left if each.keyword == "maxLength"]
    assert "more than 200,000 characters" in reason and "limit is in the grammar" in reason
