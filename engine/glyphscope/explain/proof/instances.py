"""Valid arguments with a value at a given place, and the same arguments with another value there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from glyphscope.base.pointer import Path, with_value
from glyphscope.explain.proof.places import Route, merged
from glyphscope.grammar.generate.example import example_value

_WITH_OPTIONAL = ((False, False), (False, True), (True, True))
"""The attempts, in order: whether optional members are included along the route, and at its end."""


def instances(root: dict[str, Any], route: Route, valid: Callable[[Any], bool]) -> Iterator[Any]:
    """Valid arguments with a value at the route's end: with required members only, then with optional ones."""
    found: list[Any] = []
    invalid: list[Any] = []
    for along, at_end in _WITH_OPTIONAL:
        made = _made(root, route, 0, along, at_end)
        if made in found or made in invalid or not reaches(made, route):
            continue
        if valid(made):
            found.append(made)
            yield made
        else:
            invalid.append(made)
    steps = tuple(location.step for location in route if location.step is not None)
    if not found:
        # for example, for alternatives that exclude each other, another value at the route's end may be valid
        for made in invalid[:2]:
            others = _other_values(value_at(made, steps))
            fitting = next((o for o in (with_value(made, steps, v) for v in others) if valid(o)), None)
            if fitting is not None:
                yield fitting
                return


def _other_values(value: Any) -> list[Any]:
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int | float):
        return [value * k for k in (2, 3, 4, 7)] + [value + k for k in (*range(1, 13), 50, 0.5)] + [-1, 3, 5]
    if isinstance(value, str):
        return ["a", "text", "A", "abc", "0", "a" * 20, f"{value}1", f"{value} {value}", "x.y", "http://a.b"]
    if isinstance(value, list):
        return [[], value * 2, value[:1]]
    return [{}, *({k: v for k, v in value.items() if k != name} for name in list(value)[:8])]


def reaches(arguments: Any, route: Route) -> bool:
    """Whether there is a value at the route's end."""
    try:
        value_at(arguments, tuple(location.step for location in route[1:] if location.step is not None))
    except (LookupError, TypeError):
        return False
    return True


def value_at(arguments: Any, steps: Path) -> Any:
    """The value at the steps. Raises LookupError or TypeError if there is none."""
    for step in steps:
        if isinstance(arguments, str):  # its characters are not items
            raise TypeError(step)
        arguments = arguments[step]
    return arguments


def _made(root: dict[str, Any], route: Route, index: int, along: bool, at_end: bool) -> Any:
    """An example value for the location `route[index]`, with a value along the rest of the route if possible."""
    schema = merged(root, route[index])
    step = route[index + 1].step if index + 1 < len(route) else None
    if isinstance(step, str):
        required = [*schema.get("required", ()), *([] if step in schema.get("required", ()) else [step])]
        schema = {**schema, "required": required, "type": "object"}
    elif isinstance(step, int):
        schema = {**schema, "minItems": max(schema.get("minItems", 0), step + 1), "type": "array"}
    if step is not None:  # a listed or default value need not have the member
        schema = {k: v for k, v in schema.items() if k not in ("default", "examples", "enum", "const")}
    name = next((str(location.step) for location in route[index::-1] if isinstance(location.step, str)), "")
    optional = along if step is not None else at_end
    value = example_value(root, schema, name, optional=optional, depth=0 if index == 0 else 1)
    if step is None:
        return value
    inner = _made(root, route, index + 1, along, at_end)
    if isinstance(value, dict) and isinstance(step, str):
        return _in_order({**value, step: inner}, schema)
    if isinstance(value, list) and isinstance(step, int):
        # the other items are kept, as `example_value` makes them differ if they must
        return [*value[:step], inner, *value[step + 1 :]]
    return value


def _in_order(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The members that the schema lists, in its order, then the others."""
    names = [*schema.get("properties", ()), *schema.get("required", ())]
    return {name: value[name] for name in dict.fromkeys([*names, *value]) if name in value}
