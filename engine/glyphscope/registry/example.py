"""One small, plausible and valid instance of a schema, so that the examples of a prompt follow the registry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from glyphscope.registry.keywords import children
from glyphscope.registry.patterns import found
from glyphscope.registry.pointer import follow_fragment
from glyphscope.registry.sample import matching_text

_DEEPEST = 24

_BY_FORMAT = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "ann@example.com",
    "idn-email": "ann@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uri-reference": "https://example.com",
    "iri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "regex": "a+",
    "json-pointer": "/a",
}
_BY_NAME = {
    "url": "https://example.com",
    "uri": "https://example.com",
    "email": "ann@example.com",
    "path": "/tmp/notes.txt",
    "file": "/tmp/notes.txt",
    "date": "2025-01-31",
    "city": "Paris",
    "location": "Paris",
    "country": "France",
    "language": "English",
    "query": "AI news",
    "name": "Ann",
}
"""What people write for an argument whose name ends so."""

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not found(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, rules: dict[str, Any], value: Any, _: Any
) -> Iterator[ValidationError]:
    for pattern, rule in rules.items():
        for name in value if isinstance(value, dict) else ():
            if found(pattern, name):
                yield from validator.descend(value[name], rule, path=name)


_Validator = extend(Draft202012Validator, {"pattern": _pattern, "patternProperties": _pattern_properties})
"""jsonschema's own matching may backtrack for ever on a schema's pattern, in the thread of whoever shows a prompt."""


def example_arguments(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Valid arguments for a tool's normalised `parameters`: its own example, or one made of what is required.

    None when no valid ones were found (a contradiction, or a pattern that is too hard): nothing invalid is ever shown
    as an example.
    """
    for candidate in _candidates(schema):
        try:
            if isinstance(candidate, dict) and _Validator(schema).is_valid(candidate):
                return candidate
        except Exception:  # jsonschema raises what its parts raise: re.error, RecursionError, referencing's
            continue
    return None


def _candidates(schema: dict[str, Any]) -> Iterator[Any]:
    own = [*schema.get("examples", ()), *([schema["default"]] if "default" in schema else ())]
    named = set(schema.get("properties", {}))
    for candidate in own:  # after an edit, one with an argument that is no longer named would be refused
        if isinstance(candidate, dict) and (named.issuperset(candidate) or "additionalProperties" in schema):
            yield candidate
    yield _Maker(schema, optional=False).value(schema, "", 0)
    yield _Maker(schema, optional=True).value(schema, "", 0)


class _Maker:
    """Writes one value for a schema; what it cannot know is left to the check of the whole."""

    def __init__(self, root: dict[str, Any], *, optional: bool) -> None:
        self._root = root
        self._optional = optional

    def value(self, schema: Any, name: str, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return "value"
        schema = self._merged(schema)
        if depth:
            for keyword in ("examples", "enum"):
                if isinstance(values := schema.get(keyword), list) and values:
                    return values[0]
            for keyword in ("const", "default"):
                if keyword in schema:
                    return schema[keyword]
        for keyword in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(keyword), list) and choices:
                rest = {key: value for key, value in schema.items() if key != keyword}
                return self.value(_both(rest, self._merged(choices[0])), name, depth + 1)
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return _number(schema, kind)
        return {"boolean": True, "null": None}[kind] if kind in ("boolean", "null") else _text(schema, name)

    def _merged(self, schema: Any) -> dict[str, Any]:
        """The schema with its `$ref` and `allOf` written into it, as far as they can be."""
        merged: dict[str, Any] = {}
        stack = [schema]
        for _ in range(_DEEPEST):
            if not stack:
                break
            part = stack.pop()
            if not isinstance(part, dict):
                continue
            merged = _both(
                merged, {key: value for key, value in part.items() if key not in ("$ref", "allOf")}
            )
            if isinstance(ref := part.get("$ref"), str) and (target := follow_fragment(self._root, ref[1:])):
                stack.append(target[1])
            stack.extend(part.get("allOf", ()))
        return merged

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        names = [
            *(n for n in properties if n in required or self._optional),
            *(n for n in required if n not in properties),
        ]
        return {name: self.value(properties.get(name, True), name, depth + 1) for name in names}

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        first = [self.value(item, name, depth + 1) for item in schema.get("prefixItems", ())]
        least = schema.get("minItems", 1)
        if schema.get("items") is False or len(first) >= least:
            return first
        filler = schema.get("items", schema.get("contains", True))
        values = [self.value(filler, name, depth + 1) for _ in range(min(int(least), 100) - len(first))]
        if schema.get("uniqueItems"):
            values = [_distinct(value, index, filler) for index, value in enumerate(values)]
        return first + values


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two schemas that hold at once; the properties and required names of both."""
    result = {**one, **other}
    if "properties" in one and "properties" in other:
        result["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        result["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return result


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if isinstance(kind, str):
        return kind
    if (
        any(step[0] in ("properties", "additionalProperties") for step, _ in children(schema))
        or "required" in schema
    ):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if schema.keys() & {"minimum", "maximum", "multipleOf"} else "string"


def _number(schema: dict[str, Any], kind: str) -> int | float:
    """A short number that bounds and `multipleOf` allow, the small whole ones first."""
    check = Draft202012Validator({key: schema[key] for key in _BOUNDS if key in schema} | {"type": kind})
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    step = schema.get("multipleOf", 1)
    ends = [low, low + 1, high, high - 1, (low + high) / 2]
    finite = [end for end in ends if math.isfinite(end)]
    steps = [step * round_(end / step) for end in finite for round_ in (math.ceil, math.floor)]
    for number in (1, 0, step, *steps, *(step * (math.ceil(end / step) + 1) for end in finite), *finite):
        short = int(number) if float(number).is_integer() else number
        if check.is_valid(short):
            return short
    return 1


def _text(schema: dict[str, Any], name: str) -> str:
    least = min(int(schema.get("minLength", 0)), 10_000)
    most = int(schema.get("maxLength", 10_000))
    last = name.lower().replace("-", "_").rsplit("_", 1)[-1]
    usual = (
        _BY_FORMAT.get(schema.get("format", "")) or _BY_NAME.get(last) or (last if last.isalpha() else "text")
    )
    if isinstance(pattern := schema.get("pattern"), str):
        if least <= len(usual) <= most and found(pattern, usual):
            return usual
        return matching_text(pattern, least) or usual
    if len(usual) < least:
        usual += " " + "text " * (least // 5 + 1)
        return usual[: max(least, 1)].rstrip().ljust(least, "x")
    return usual[:most]


def _distinct(value: Any, index: int, schema: Any) -> Any:
    """Another value than those before it, where items must differ."""
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(choices, list) and index < len(choices):
        return choices[index]
    if isinstance(value, str):
        return f"{value}{index + 1}" if index else value
    return value + index if isinstance(value, int | float) and not isinstance(value, bool) else value
