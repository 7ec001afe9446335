"""`unevaluatedProperties` (draft 2020-12, core §11.3) with names matched on the engine that cannot hang.

jsonschema's own version matches `patternProperties` with `re`: it backtracks, and it stops at patterns that `re` does
not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from glyphscope.grammar import pattern


def unevaluated_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The keyword, as jsonschema calls it."""
    if not isinstance(instance, dict):
        return
    known = evaluated_names(
        validator, {k: v for k, v in schema.items() if k != "unevaluatedProperties"}, instance
    )
    for name, value in instance.items():
        if name not in known and not validator.evolve(schema=wanted).is_valid(value):
            yield jsonschema.ValidationError(f"{name!r} is not one of the properties", path=[name])


def evaluated_names(validator: Any, schema: Any, instance: dict[str, Any]) -> set[str]:
    """The members of `instance` that some part of `schema`, valid for it, speaks of."""
    if not isinstance(schema, dict):
        return set()
    names = {name for name in schema.get("properties", ()) if name in instance}
    for source in schema.get("patternProperties", ()):
        names |= {name for name in instance if pattern.found(source, name)}
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    for part in _parts(validator, schema, instance):
        inner = validator.evolve(schema=part)
        if inner.is_valid(instance):
            names |= evaluated_names(inner, part, instance)
    return names


def _parts(validator: Any, schema: dict[str, Any], instance: dict[str, Any]) -> Iterator[Any]:
    if "$ref" in schema:
        yield validator._resolver.lookup(schema["$ref"]).contents
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        if holds:
            yield schema["if"]
        yield schema.get("then" if holds else "else", True)
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield part
