"""Schemas that the program makes: of objects, and of given schemas, which stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from glyphscope.base.pointer import value_at
from glyphscope.registry.keywords import CUSTOM, KEYWORDS, OTHERS, RELAXED, TYPES, children, names_with

_NAMING = names_with(lambda keyword: keyword.in_place and not keyword.part_of) - {"not"} | {"$ref"}
"""Keywords whose schemas may name members of the same object."""


def object_schema(
    properties: Mapping[str, Any], required: Iterable[str] | None = None, *, others: Any = False
) -> dict[str, Any]:
    """The schema of objects with these members; `required` are all of them unless given, `others` is the schema of
    further ones.
    """
    usual = OTHERS["object"][0]
    names = [*(properties if required is None else required)]
    return {"type": "object", "properties": {**properties}, "required": names, usual: others}


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object, made to reject members that it does not name unless it says which others it allows.

    A member that it only requires is named, too: without it, no object would be valid.
    """
    if not schema.keys().isdisjoint(OTHERS["object"]):
        return schema
    own, of_all = OTHERS["object"]
    named = schema.get("properties", {})
    required = {name: True for name in schema.get("required", ()) if name not in named}
    all_named = {"properties": {**named, **required}} if required else {}
    return {**schema, **all_named, of_all if _NAMING & schema.keys() else own: False}


def without(schema: dict[str, Any], keyword: str, name: str = "") -> dict[str, Any]:
    """The schema without a constraint: a keyword, one of the names that it requires, or a rule of a grammar."""
    if name and keyword == CUSTOM:
        return {**schema, RELAXED: [*schema.get(RELAXED, ()), name]}
    if name:
        return {**schema, keyword: [other for other in schema[keyword] if other != name]}
    if keyword in OTHERS["object"] or (schema[keyword] is False and KEYWORDS[keyword].inside):
        # absent, it would leave an object closed; and other keywords, such as `unevaluatedItems`, depend on it
        return {**schema, keyword: True}
    if keyword == "type":  # absent, other keywords would imply a type
        return {**schema, keyword: [*TYPES]}
    return {other: value for other, value in schema.items() if other != keyword}


def with_children(schema: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of the schema with each schema directly inside it changed."""
    if not isinstance(schema, dict):
        return schema
    changed = {keyword: copy.copy(value) for keyword, value in schema.items()}
    for path, inner in children(schema):
        value_at(changed, path[:-1])[path[-1]] = change(inner)
    return changed
