"""The keywords under which a JSON Schema contains other schemas, for all drafts from 4 to 2020-12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
