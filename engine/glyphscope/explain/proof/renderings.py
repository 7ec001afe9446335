"""Write an example as texts of a call, in a notation and a shape, with its deciding value in several spellings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from glyphscope.base.errors import NotationError
from glyphscope.base.pointer import Path, with_value
from glyphscope.events import Notation, Shape
from glyphscope.explain.proof.instances import value_at
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import write_call, write_value
from glyphscope.registry.references import SchemaPlaces

Order: TypeAlias = Callable[[Any], Any]
"""Reorders the members of each object, as engines require different orders."""

_MARK = "\ue000\ue001"
"""Private-use characters in place of the deciding value, until its spellings replace them."""


def texts(
    tool: str, arguments: Any, path: Path | None, notation: Notation, shape: Shape, order: Order
) -> Iterator[str]:
    """The call, then the call with each other spelling of the value at `path`; empty if the shape cannot express it."""
    try:
        yield _call(tool, order(arguments), notation, shape)
        if path is None:
            return
        value = value_at(arguments, path)
        if isinstance(value, dict | list):
            return
        marked = _call(tool, order(with_value(arguments, path, _MARK)), notation, shape)
    except (NotationError, LookupError, TypeError, RecursionError):
        return
    written = write_value(_MARK, notation)
    if marked.count(written) == 1:
        for spelling in spellings(value, notation):
            yield marked.replace(written, spelling)


def _call(tool: str, arguments: Any, notation: Notation, shape: Shape) -> str:
    if isinstance(arguments, dict):
        return write_call(tool, arguments, style=notation, shape=shape)
    name_key, args_key = shape_keys(shape)
    if args_key is None:
        raise NotationError("Arguments have a flat shape only as an object.", where=tool)
    return write_value({name_key: tool, args_key: arguments}, notation)


def spellings(value: Any, notation: Notation) -> list[str]:
    """Other ways to write a scalar than `write_value`'s."""
    if isinstance(value, bool):
        return [("t", "true")[1] if value else "false"] if notation == "glyph" else []
    if value is None:
        return ["null", "∅"] if notation == "glyph" else []
    if isinstance(value, int | float):
        return _numbers(value)
    return _strings(value, notation) if isinstance(value, str) else []


def _numbers(value: int | float) -> list[str]:
    exact = Decimal(str(value))
    if abs(exact) > 10**15:
        return []
    plain = format(exact, "f")
    whole = exact == exact.to_integral_value()
    spelled = [f"{plain}.0" if whole and "." not in plain else f"{plain}0", f"{exact.scaleb(1):f}e-1"]
    return [*spelled, f"{int(exact)}e0"] if whole else spelled


def _strings(value: str, notation: Notation) -> list[str]:
    if not value or len(value) > 200:
        return []
    escaped = "".join(f"\\u{unit:04x}" for unit in _utf16(value[:1]))
    spelled = [f'"{escaped}{json.dumps(value[1:], ensure_ascii=False)[1:]}']
    if notation == "glyph":
        bare = write_value(value, "glyph-canonical")
        return [*spelled, bare] if not bare.startswith('"') else spelled
    return spelled


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [data[i] * 256 + data[i + 1] for i in range(0, len(data), 2)]


def as_written(arguments: Any) -> Any:
    """The schema's order, which our grammars and llguidance use."""
    return arguments


def reversed_members(arguments: Any) -> Any:
    """Reverse the members of every object: a grammar with the schema's order rejects that."""
    return _reordered(arguments, reversed)


def required_first(required: frozenset[str]) -> Order:
    """Required properties before optional ones, the order of llama.cpp's converter."""
    return lambda value: _reordered(value, partial(sorted, key=lambda name: name not in required))


def _reordered(value: Any, order: Callable[[dict[str, Any]], Iterable[str]]) -> Any:
    if isinstance(value, dict):
        return {name: _reordered(value[name], order) for name in order(value)}
    return [_reordered(item, order) for item in value] if isinstance(value, list) else value


def required_names(schema: Any) -> frozenset[str]:
    """All names that `schema`, or a schema inside it, requires."""
    inside = (place.schema for place in SchemaPlaces(schema).all)
    return frozenset(name for each in inside if isinstance(each, dict) for name in each.get("required", ()))
