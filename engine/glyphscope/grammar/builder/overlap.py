"""Whether the alternatives of a `oneOf` may both hold: then a grammar, which only lists them, holds less."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from glyphscope.grammar.builder.schema import Part, Parts, Place, Schema, names_of, types_of

MAX_LOOKS = 6  # levels of properties that are compared


def may_overlap(schema: Schema, part: Part) -> bool:
    """False only where no value can satisfy two of the alternatives."""
    places = [part.at("oneOf", i) for i in range(len(part.schema["oneOf"]))]
    return any(_may_both(schema, a, b, MAX_LOOKS) for a, b in combinations(places, 2))


def _may_both(schema: Schema, a: Place, b: Place, looks: int) -> bool:
    left, right = schema.expand([a]), schema.expand([b])
    if isinstance(left, str) or isinstance(right, str):
        return False
    types = _types(left) & _types(right)
    if not types - ({"integer"} if "number" not in types else set()) and "integer" not in types:
        return False
    listed = [values for values in (_listed(left), _listed(right)) if values is not None]
    if len(listed) == 2 and not listed[0] & listed[1]:
        return False
    if types != {"object"} or looks == 0:
        return True
    (left_names, left_required), (right_names, right_required) = names_of(left), names_of(right)
    del left_names, right_names
    return not any(
        _property_excludes(schema, key, left, right, looks) for key in left_required & right_required
    )


def _property_excludes(schema: Schema, key: str, left: Parts, right: Parts, looks: int) -> bool:
    ours = [part.at("properties", key) for part in left if key in part.schema.get("properties", {})]
    theirs = [part.at("properties", key) for part in right if key in part.schema.get("properties", {})]
    return any(not _may_both(schema, a, b, looks - 1) for a in ours for b in theirs)


def _types(parts: Parts) -> set[str]:
    declared = any("type" in part.schema for part in parts)
    return types_of(parts) if declared else types_of(())


def _listed(parts: Parts) -> set[str] | None:
    for part in parts:
        values: Any = [part.schema["const"]] if "const" in part.schema else part.schema.get("enum")
        if values is not None:
            return {json.dumps(value, sort_keys=True) for value in values}
    return None
