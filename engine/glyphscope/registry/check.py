"""Every error in a JSON Schema, at its JSON Pointer, before anything is built from it.

Each keyword of each subschema is checked separately against its part of the metaschema of draft 2020-12. Checking the
whole schema at once with jsonschema needs about ten Python frames per level and ends in a RecursionError below 100
levels; checking each keyword needs no recursion, finds all errors, and checks equal keywords only once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from glyphscope.base.pointer import Path
from glyphscope.base.shorten import schema_error_words
from glyphscope.registry.facts import patterns_of
from glyphscope.registry.keywords import CUSTOM, NAMED, ONE, is_unset
from glyphscope.registry.patterns import bad_schema_pattern
from glyphscope.registry.references import MAX_SCHEMAS, SchemaPlace, SchemaPlaces, TooManySchemas, references

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_LEVELS = 256
"""The maximum nesting of schemas: the builders of grammars and validators need one or two stack frames per level."""

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_MEANT = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "any": "",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "map": "object",
    "none": "null",
}
_BETWEEN = re.compile(r"\s*[,|]\s*")
"""Between several types in one text, such as those of ollama's client for a union."""

_LEGACY: dict[str, type | tuple[type, ...]] = {
    "items": list,
    "exclusiveMinimum": bool,
    "exclusiveMaximum": bool,
    "additionalItems": (bool, dict),
    "nullable": bool,
}
"""Forms of older drafts and of OpenAPI 3.0 that `normalise` converts to draft 2020-12."""


def check_schema(schema: Any) -> list[tuple[Path, str]]:
    """All errors of a schema of draft 4 or later: (path in the schema, message). If empty, it can be normalised."""
    if not isinstance(schema, dict | bool):
        return [((), f"A schema is an object, not {_kind(schema)}.")]
    try:
        places = SchemaPlaces(schema)
    except TooManySchemas:
        return [((), f"It has more than {MAX_SCHEMAS:,} schemas in it.")]
    found: list[tuple[Path, str]] = []
    for place in places.all:
        if place.level > MAX_LEVELS:
            return [(place.path[:8], f"Schemas are nested more than {MAX_LEVELS} levels deep.")]
        if isinstance(place.schema, dict):
            found += ((place.path + step, reason) for step, reason in _keywords(place.schema, places.draft))
            found += ((place.path + step, reason) for step, reason in _patterns(place.schema))
            found += ((place.path + step, reason) for step, reason in _references(places, place))
    found += (
        (path, "This schema refers to itself without ever looking into the value.")
        for path in places.cycles()
    )
    return found


def _keywords(schema: dict[str, Any], draft: int | None) -> Iterator[tuple[Path, str]]:
    for keyword, value in schema.items():
        legacy = _LEGACY.get(keyword)
        if is_unset(keyword, value):
            continue
        if legacy is not None and isinstance(value, legacy):
            if isinstance(value, list):
                yield from _not_schemas(keyword, enumerate(value))
        elif keyword == "$id" and draft is not None:
            continue  # drafts 6 and 7 allow fragments here
        elif keyword in ONE:
            if not isinstance(value, dict | bool):
                yield (keyword,), f"A schema is an object, true or false, not {_kind(value)}."
        elif keyword == "dependencies" and isinstance(value, dict):
            yield from _not_schemas(keyword, ((k, v) for k, v in value.items() if not _is_names(v)))
        elif keyword in NAMED and isinstance(value, dict):
            yield from _not_schemas(keyword, value.items())
        elif keyword == "type":
            yield from _type(value)
        elif keyword == CUSTOM and isinstance(value, dict):
            yield from _format(value)
        elif keyword == "required" and isinstance(value, bool):
            yield (
                (keyword,),
                'Name the required arguments in a list next to "properties": "required": ["a", "b"].',
            )
        elif keyword == "required" and _is_names(value):
            continue  # a name that is listed twice is required as much as once
        elif keyword in _metaschemas():
            text = value if isinstance(value, str) else json.dumps(value)
            for step, reason in _errors(keyword, text, isinstance(value, str)):
                yield (keyword, *step), reason


def _not_schemas(keyword: str, items: Any) -> Iterator[tuple[Path, str]]:
    for step, item in items:
        if not isinstance(item, dict | bool):
            yield (keyword, step), f"A schema is an object, true or false, not {_kind(item)}."


def _type(value: Any) -> Iterator[tuple[Path, str]]:
    listed = value if isinstance(value, list) else [value]
    if not listed:
        yield ("type",), "The list of types is empty."
    for index, name in enumerate(listed):
        path: Path = ("type", index) if isinstance(value, list) else ("type",)
        if isinstance(name, str) and name in _TYPES:
            if name in listed[:index]:
                yield path, f"{name} is named twice."
        elif isinstance(name, str) and None not in (meant := list(map(meant_type, _BETWEEN.split(name)))):
            names = ", ".join(map(json.dumps, meant))
            names = f"[{names}]" if value == name and len(meant) > 1 else names
            free = 'Leave "type" out: any value is meant.'
            yield path, free if "" in meant else f'Write {names} instead of "{name}".'
        elif name is None:
            yield path, 'Write "null" in quotes for the type of null, or leave "type" out for any value.'
        else:
            yield path, f"{json.dumps(name)[:60]} is not a type; the types are {', '.join(_TYPES)}."


def meant_type(name: str) -> str | None:
    """The type that another language's name means, such as `dict` or `STRING`; empty for any type, None if unknown."""
    lower = name.lower()
    return lower if lower in _TYPES else _MEANT.get(lower)


def _format(form: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """The errors in the format of a custom tool, but not those in its grammar, which only its reader finds."""
    if form.get("type") not in ("text", "grammar"):
        yield (CUSTOM, "type"), 'The type of a format is "text" or "grammar".'
    if form.get("type") == "grammar":
        if (syntax := form.get("syntax")) not in ("lark", "regex"):
            words = (
                "The grammar has no syntax" if syntax is None else f"Unknown syntax {json.dumps(syntax)[:60]}"
            )
            yield (CUSTOM, "syntax"), f'{words}: write "lark" or "regex".'
        if not isinstance(form.get("definition"), str):
            yield (CUSTOM, "definition"), "The definition of a grammar is a text."


def _patterns(schema: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    for keyword, pattern in patterns_of(schema):
        if reason := bad_schema_pattern(pattern):
            yield (keyword,), reason
    named = schema.get("patternProperties")
    for pattern in named if isinstance(named, dict) else ():
        if reason := bad_schema_pattern(pattern):
            yield ("patternProperties", pattern), reason


def _references(places: SchemaPlaces, place: SchemaPlace) -> Iterator[tuple[Path, str]]:
    for keyword, ref in references(place.schema):
        if places.is_remote(place, ref):
            yield (
                (keyword,),
                f'"{ref}" is another document; only references inside this schema ("#/…") are followed.',
            )
        elif places.resolve(place, ref) is None:
            yield (keyword,), f'"{ref}" leads nowhere in this schema.'
        elif keyword != "$ref" and places.resources > 1:
            yield (keyword,), f"A {keyword} in a schema with several identifiers cannot be decided; use $ref."


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


@lru_cache(maxsize=1)
def _metaschemas() -> dict[str, Draft202012Validator]:
    """The schema of each keyword in the metaschema's vocabularies, without its subschemas."""
    # here, as jsonschema takes longer to import than a registry to read
    from jsonschema import Draft202012Validator
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    checks: dict[str, Draft202012Validator] = {}
    for vocabulary in (
        "core",
        "applicator",
        "unevaluated",
        "validation",
        "meta-data",
        "format-annotation",
        "content",
    ):
        contents = REGISTRY.contents(f"https://json-schema.org/draft/2020-12/meta/{vocabulary}")
        shallow = _shallow(contents)
        for keyword, rule in shallow["properties"].items():
            checks[keyword] = Draft202012Validator({"allOf": [rule], "$defs": shallow.get("$defs", {})})
    return checks


def _shallow(rule: Any) -> Any:
    if isinstance(rule, dict):
        if isinstance(rule.get("$dynamicRef"), str):
            return {"type": ["object", "boolean"]}
        return {key: _shallow(value) for key, value in rule.items()}
    return [_shallow(item) for item in rule] if isinstance(rule, list) else rule


@lru_cache(maxsize=16384)
def _errors(keyword: str, text: str, is_text: bool) -> tuple[tuple[Path, str], ...]:
    """The errors of one keyword's value, given as JSON, or unchanged if `is_text`."""
    errors = _metaschemas()[keyword].iter_errors(text if is_text else json.loads(text))
    return tuple((tuple(error.absolute_path), f"{schema_error_words(error)}.") for error in errors)
