"""The keywords of JSON Schema, for all drafts from 4 to 2020-12: those that contain other schemas, annotations, and the
types that a keyword speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from glyphscope.registry.pointer import Path

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

ONE = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords whose value is a schema (`items`: in old drafts also a list of schemas)."""

MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

NAMED = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value is an object with schemas as values (`dependencies`: or lists of names)."""

IN_PLACE = frozenset(
    {"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)
"""Keywords whose schemas apply to the same value: following them does not descend into the instance."""


TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

ABOUT = {
    kind: frozenset(keywords.split())
    for kind, keywords in {
        "object": "properties required additionalProperties patternProperties minProperties maxProperties "
        "propertyNames unevaluatedProperties dependentRequired dependentSchemas",
        "array": "items prefixItems minItems maxItems uniqueItems contains unevaluatedItems",
        "string": "minLength maxLength pattern format",
        "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    }.items()
}
"""The keywords that constrain values of one type only, and allow every value of another type."""
ANY_TYPE = frozenset({"$dynamicRef", "$ref", "allOf", "anyOf", "const", "enum", "if", "not", "oneOf"})
"""The keywords that constrain values of every type, except `type`."""

ANNOTATIONS = frozenset(
    {"$comment", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
    | {"contentEncoding", "contentMediaType"}
)
"""Keywords that decide nothing: a value of a wrong type is dropped, not an error."""
_NULLABLE = frozenset({"const", "default", "type"})
"""Keywords in which null is a value, or meant as the type null."""


def is_unset(keyword: str, value: Any) -> bool:
    """Whether a keyword of a schema is as good as absent, as programs in Go, PHP and Python write it: null, an empty
    list in place of an object, an annotation of a wrong type.
    """
    if value is None:
        return keyword not in _NULLABLE
    if keyword in NAMED or keyword == "dependentRequired":
        return isinstance(value, list) and not value
    if keyword == "examples":
        return not isinstance(value, list)
    if keyword in ("deprecated", "readOnly", "writeOnly"):
        return not isinstance(value, bool)
    return keyword in ANNOTATIONS and not isinstance(value, str)


def children(schema: Any) -> Iterator[tuple[Path, Any]]:
    """The schemas directly inside a schema: (relative path, subschema). Values that are not schemas are omitted."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in NAMED:
            if isinstance(value, dict):
                for name, item in value.items():
                    if isinstance(item, dict | bool):
                        yield (keyword, name), item
        elif isinstance(value, list):
            if keyword in MANY:
                for index, item in enumerate(value):
                    if isinstance(item, dict | bool):
                        yield (keyword, index), item
        elif keyword in ONE and isinstance(value, dict | bool):
            yield (keyword,), value


def draft_of(schema: Any) -> int | None:
    """The old draft (3, 4, 6 or 7) that a schema declares with `$schema`; None for 2019-09, later or undeclared."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(declared, str):
        for draft in (3, 4, 6, 7):
            if f"draft-0{draft}/" in declared:
                return draft
    return None


class Accepted(NamedTuple):
    """The types of which a schema accepts every value, and those of which it accepts only some, or perhaps none.

    Integers are not numbers here: if only `integer` is in one of them, the other numbers are not.
    """

    whole: frozenset[str]
    partly: frozenset[str]


def accepted(schema: Any) -> Accepted:
    """The types that a schema accepts, by `type` and the keywords of single types: `{"minLength": 3}` accepts every
    number. So `not` rejects all of them, and a value under `{"not": {"minLength": 3}}` is a string.
    """
    if not isinstance(schema, dict):
        return Accepted(frozenset(TYPES if schema is True else ()), frozenset())
    types = type_names(schema.get("type"))
    if schema.keys() & ANY_TYPE:
        return Accepted(frozenset(), types)
    limited = {kind for kind, keywords in ABOUT.items() if keywords & schema.keys()}
    limited |= {"integer"} if "number" in limited else set()
    return Accepted(types - limited, types & limited)


def forbidden_key(rejected: Any) -> str | None:
    """The one property that a `not` of `rejected` forbids in objects; None if it forbids something else."""
    if not isinstance(rejected, dict) or rejected.keys() & ANY_TYPE:
        return None
    limits = rejected.keys() & ABOUT["object"]
    if limits != {"required"} or "object" not in type_names(rejected.get("type")):
        return None
    return rejected["required"][0] if len(rejected["required"]) == 1 else None


def type_names(value: Any) -> frozenset[str]:
    """The types that the value of `type` names, with `integer` for `number`; all of them for None."""
    names = {value} if isinstance(value, str) else set(TYPES if value is None else value)
    return frozenset(names | {"integer"} if "number" in names else names)
