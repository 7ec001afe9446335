"""Every error in the structure of plain data for a struct: msgspec itself reports only the first one.

The allowed values are read from the struct's own annotations, so that a new member needs no change here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import NoneType
from typing import Any

from msgspec import inspect

from glyphscope.base.errors import meant
from glyphscope.base.pointer import Path
from glyphscope.base.shorten import shorten
from glyphscope.base.structs import ready

Found = tuple[Path, str]
"""A problem: the steps to its place in the data, and a sentence."""

_SHOWN = 60
_JSON_KINDS: tuple[tuple[type, tuple[type[inspect.Type], ...], str], ...] = (
    (NoneType, (inspect.NoneType,), "null"),
    (bool, (inspect.BoolType,), "true or false"),
    (int, (inspect.IntType, inspect.FloatType), "a whole number"),
    (float, (inspect.FloatType,), "a number"),
    (str, (inspect.StrType,), "a text"),
    (list, (inspect.VarTupleType, inspect.ListType), "a list"),
    (dict, (inspect.StructType, inspect.DictType), "an object"),
)
"""The types of JSON's values, the types of members that accept them, and their name; bool, an int, is before int."""


def problems_of(kind: Any, value: Any) -> Iterator[Found]:
    """The problems of `value`, plain JSON data, as a `kind` (a struct, or any type of a struct's members)."""
    yield from _of(_info(kind), value, ())


def member_problems(kind: Any, members: dict[str, Any], path: Path) -> Iterator[Found]:
    """The problems of some members of a struct, none of which is required."""
    yield from _of_members(_struct(kind), members, path)


def member_names(kind: Any) -> tuple[str, ...]:
    """The names of a struct's members in its data."""
    return tuple(field.encode_name for field in _struct(kind).fields)


def no_such(name: str, known: tuple[str, ...], what: str) -> str:
    """The sentence about an unknown member, with the one that was probably meant."""
    question = meant(name, known) or f"There are {', '.join(known)}."
    return f'{what} has no "{shorten(name, _SHOWN)}". {question}'


@lru_cache(maxsize=256)
def _info(kind: Any) -> inspect.Type:
    return inspect.type_info(ready(kind))


def _struct(kind: Any) -> inspect.StructType:
    info = _info(kind)
    assert isinstance(info, inspect.StructType)
    return info


def _of(info: inspect.Type, value: Any, path: Path) -> Iterator[Found]:
    if isinstance(info, inspect.UnionType):
        yield from _of_any(info, value, path)
    elif not _fits(info, value):
        names = [str(each) for each in info.values] if isinstance(info, inspect.LiteralType) else []
        question = meant(value, names) if isinstance(value, str) else ""
        yield path, f"This is {_described(value)}, and must be {_expected(info)}. {question}".rstrip()
    elif isinstance(info, inspect.StructType):
        yield from _of_struct(info, value, path)
    elif isinstance(info, inspect.DictType):
        for name, item in value.items():
            if isinstance(info.key_type, inspect.LiteralType) and name not in info.key_type.values:
                yield (*path, name), f"This name must be {_expected(info.key_type)}."
            yield from _of(info.value_type, item, (*path, name))
    elif isinstance(info, inspect.VarTupleType | inspect.ListType):
        for index, item in enumerate(value):
            yield from _of(info.item_type, item, (*path, index))


def _of_any(info: inspect.UnionType, value: Any, path: Path) -> Iterator[Found]:
    """The problems of a value of several possible types, by the type that it resembles."""
    for each in info.types:
        if _fits(each, value):
            yield from _of(each, value, path)
            return
    yield path, f"This is {_described(value)}, and must be {' or '.join(_expected(t) for t in info.types)}."


def _of_struct(info: inspect.StructType, value: dict[str, Any], path: Path) -> Iterator[Found]:
    yield from _of_members(info, value, path)
    for field in info.fields:
        if field.required and field.encode_name not in value:
            yield path, f'"{field.encode_name}" is missing.'


def _of_members(info: inspect.StructType, members: dict[str, Any], path: Path) -> Iterator[Found]:
    kinds = {field.encode_name: field.type for field in info.fields}
    for name, item in members.items():
        if name in kinds:
            yield from _of(kinds[name], item, (*path, name))
        else:
            kind = info.cls.__name__
            article = "An" if kind[0] in "AEIOU" else "A"
            yield (*path, name), no_such(name, tuple(kinds), f"{article} {kind}")


def _fits(info: inspect.Type, value: Any) -> bool:
    """Whether the value itself is of the kind, whatever it contains."""
    if isinstance(info, inspect.AnyType):
        return True
    if isinstance(info, inspect.LiteralType):
        return isinstance(value, str) and value in info.values
    return isinstance(info, _kind_of(value)[0])


def _kind_of(value: Any) -> tuple[tuple[type[inspect.Type], ...], str]:
    """The types of members that accept such a value, and the name of its kind."""
    return next((types, name) for kind, types, name in _JSON_KINDS if isinstance(value, kind))


def _expected(info: inspect.Type) -> str:
    if isinstance(info, inspect.LiteralType):
        named = ", ".join(f'"{value}"' for value in info.values[:24])
        return f"one of {named}" if len(info.values) > 1 else named
    return next(name for _, types, name in reversed(_JSON_KINDS) if isinstance(info, types))


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f'the text "{shorten(value, _SHOWN)}"'
    return _kind_of(value)[1]
