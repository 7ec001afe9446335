"""Convert schemas of older drafts and of OpenAPI 3.0 to draft 2020-12 with the same verdicts.

Real tools use all of them. A schema with an old `$schema` is read by that draft's rules (unknown keywords and keywords
beside `$ref` have no effect); forms that can only be old (a list under `items`, a true `exclusiveMinimum`,
`dependencies`, `nullable`) are also read without a declaration. In the result, every reference is a pointer from the
root, so that no other module needs identifiers. A schema of draft 2020-12 without inner identifiers is unchanged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from glyphscope.base.pointer import Path, follow_reference, to_fragment
from glyphscope.registry.document import plain
from glyphscope.registry.keywords import ANY_TYPE, DRAFT_2020_12, KEYWORDS, SILENT, draft_of, is_unset
from glyphscope.registry.references import SchemaPlaces, references

_APPLICATORS = ANY_TYPE - {"const", "enum"}
"""Keywords that may exclude null regardless of `type`: `nullable` then becomes an alternative to the whole schema."""


def normalise(schema: dict[str, Any] | bool) -> dict[str, Any] | bool:
    """The 2020-12 schema with the same verdicts as `schema`, which must be free of errors and is not changed."""
    root: dict[str, Any] | bool = plain(schema)[0]
    if isinstance(root, bool):
        return root
    draft = draft_of(root)
    identifier = "id" if draft in (3, 4) else "$id"
    places = SchemaPlaces(root)
    if [place for place in places.all if isinstance(place.schema, dict) and _drop_unset(place.schema)]:
        places = SchemaPlaces(root)  # without the schemas of the keywords that are gone
    targets = _targets(places)
    nodes = [(place.path, place.schema) for place in places.all if isinstance(place.schema, dict)]
    for path, node in nodes:
        if draft is not None:
            _forget_unknown(node, draft)
        if (path or draft is not None) and isinstance(node.get(identifier), str):
            del node[identifier]
        _bounds(node)
        _items(node)
        _dependencies(node)
        _nullable(node)
        if path:
            node.pop("$schema", None)
    if "$schema" in root:
        root["$schema"] = DRAFT_2020_12
    _point_again(root, targets)
    return root


class _Reference(NamedTuple):
    """A reference: its schema and keyword, and its target as the schema object itself, which may be moved."""

    schema: dict[str, Any]
    keyword: str
    target: dict[str, Any] | bool


def _targets(places: SchemaPlaces) -> list[_Reference]:
    """Every reference of the document that has a target."""
    found = []
    for place in places.all:
        for keyword, ref in references(place.schema):
            target = places.resolve(place, ref)
            if target is not None and isinstance(place.schema, dict):
                found.append(_Reference(place.schema, keyword, target.schema))
    return found


def _drop_unset(node: dict[str, Any]) -> bool:
    """Without keywords that are as good as absent, of which there was at least one, and without repeated names."""
    unset = [keyword for keyword, value in node.items() if is_unset(keyword, value)]
    for keyword in unset:
        del node[keyword]
    if isinstance(names := node.get("required"), list):
        node["required"] = list(dict.fromkeys(names))
    return bool(unset)


def _forget_unknown(node: dict[str, Any], draft: int) -> None:
    for keyword in [k for k in node if k in KEYWORDS and KEYWORDS[k].since > draft]:
        del node[keyword]
    if isinstance(node.get("$ref"), str):
        for keyword in [k for k in node if k not in SILENT and k != "$ref" and k != "nullable"]:
            del node[keyword]


def _bounds(node: dict[str, Any]) -> None:
    """Draft 4: a true `exclusiveMinimum` makes `minimum` exclusive."""
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(flag := node.get(exclusive), bool):
            del node[exclusive]
            if flag and inclusive in node:
                node[exclusive] = node.pop(inclusive)


def _items(node: dict[str, Any]) -> None:
    """Before 2020-12, a list under `items` was a tuple, and `additionalItems` applied to the items after it."""
    evaluates = "additionalItems" in node  # the items after the tuple, for `unevaluatedItems`
    rest = node.pop("additionalItems", True)
    if isinstance(node.get("items"), list):
        first = node.pop("items")
        if first:
            node["prefixItems"] = first
        if evaluates:
            node["items"] = rest


def _dependencies(node: dict[str, Any]) -> None:
    if not isinstance(dependencies := node.pop("dependencies", None), dict):
        return
    for name, needed in dependencies.items():
        if isinstance(needed, list):
            node.setdefault("dependentRequired", {})[name] = needed
        else:
            node.setdefault("dependentSchemas", {})[name] = needed


def _nullable(node: dict[str, Any]) -> None:
    """OpenAPI 3.0: `nullable` adds null to the allowed values."""
    if node.pop("nullable", False) is not True:
        return
    if node.keys() & _APPLICATORS:
        inner = {key: node.pop(key) for key in [k for k in node if k not in SILENT]}
        node["anyOf"] = [inner, {"type": "null"}]
        return
    types = node.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and "null" not in types:
        node["type"] = [*types, "null"]
    if "const" in node and node["const"] is not None:
        node["enum"] = [value for value in [node.pop("const")] if value in node.get("enum", [value])]
    if isinstance(values := node.get("enum"), list) and None not in values:
        node["enum"] = [*values, None]


def _point_again(root: dict[str, Any], targets: list[_Reference]) -> None:
    """Rewrite each reference, unless its text still leads to its target."""
    paths = _paths(root)
    for node, keyword, target in targets:
        holder = node if keyword in node else node["anyOf"][0]  # where `_nullable` moved it
        ref = holder[keyword]
        found = follow_reference(root, ref) if ref.startswith("#") and ref[1:2] in ("", "/") else None
        if keyword == "$ref" and found is not None and found[1] is target:
            continue
        del holder[keyword]
        if isinstance(target, dict):
            again = {"$ref": to_fragment(paths[id(target)])}
            if "$ref" in holder:
                holder.setdefault("allOf", []).append(again)
            else:
                holder |= again
        elif target is False:
            holder["not"] = {}


def _paths(root: dict[str, Any]) -> dict[int, Path]:
    """The present path of each object of the document, by its identity."""
    paths: dict[int, Path] = {}
    stack: list[tuple[Path, Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            paths[id(value)] = path
            stack.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, index), item) for index, item in enumerate(value))
    return paths
