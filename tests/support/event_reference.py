"""`docs/events.md` from the structs of `glyphscope.events`: `python tests/support/event_reference.py` writes it.

Its content is generated from the structs, so a test can compare the page with them.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as types

from glyphscope.events import AnyEvent, Code, Field, RunEvent, settings_of

PAGE = Path(__file__).parents[2] / "docs" / "events.md"

_HEAD = """\
# Events

A run is a sequence of events. The window, the command line (`glyphscope run --json`), records and
bundles use the same events: one JSON object per line, with its name under `type`. Readers ignore members that
they do not know.

`python tests/support/event_reference.py` generates this page from the program's structs, and a test compares them.
[formats.md](formats.md) describes files with events.

"""

_CODES = frozenset(typing.get_args(Code))


def page() -> str:
    """Return the whole text of the page."""
    events = typing.get_args(AnyEvent)
    infos = [_struct(event) for event in events]
    shared = {field.name for field in _struct(RunEvent).fields}
    named: dict[type, types.StructType] = {}
    for info in infos:
        _gather(info, named)
    for event in events:
        named.pop(event, None)
    lines = [_HEAD + _module_words(), "", "## In every event", "", _doc(RunEvent), ""]
    lines += _table(_struct(RunEvent), set())
    lines += ["", "## The events", ""]
    lines += [", ".join(f"[`{info.tag}`](#{info.tag})" for info in infos), ""]
    for info in infos:
        lines += [f"### {info.tag}", "", _doc(info.cls), "", *_table(info, shared), ""]
    lines += ["## Codes", "", "The errors of a call, a result or a run.", ""]
    lines += [", ".join(f"`{code}`" for code in typing.get_args(Code)), ""]
    lines += ["## What they are made of", ""]
    for kind, info in sorted(named.items(), key=lambda item: item[0].__name__):
        lines += [f"### {kind.__name__}", "", _doc(kind), "", *_table(info, set()), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _module_words() -> str:
    """Return the text on all events: the second half of the package's docstring."""
    words = inspect.getdoc(sys.modules["glyphscope.events"]) or ""
    return words.split("\n\n")[-1]


def _struct(kind: Any) -> types.StructType:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return info


def _gather(info: types.Type, named: dict[type, types.StructType]) -> None:
    """Gather the structs in a type, and in these."""
    for part in _inside(info):
        if isinstance(part, types.StructType) and part.cls not in named:
            named[part.cls] = part
            _gather(part, named)


def _inside(info: types.Type) -> Iterator[types.Type]:
    """Yield the type's parts down to structs, each struct by itself."""
    if isinstance(info, types.StructType):
        parts: list[types.Type] = [field.type for field in info.fields]
    elif isinstance(info, types.UnionType):
        parts = list(info.types)
    elif isinstance(info, types.VarTupleType | types.ListType):
        parts = [info.item_type]
    elif isinstance(info, types.TupleType):
        parts = list(info.item_types)
    elif isinstance(info, types.DictType):
        parts = [info.value_type]
    else:
        parts = []
    for part in parts:
        yield part
        if not isinstance(part, types.StructType):
            yield from _inside(part)


def _doc(kind: type) -> str:
    return inspect.getdoc(kind) or ""


def _table(info: types.StructType, without: set[str]) -> list[str]:
    fields = [field for field in info.fields if field.name not in without]
    if not fields:
        return ["It has no further members."] if without else []
    settings = settings_of(info.cls)
    head, line = "| member | type | if it is left out |", "|---|---|---|"
    rows = [f"| `{field.encode_name}` | {_type(field.type)} | {_default(field)} |" for field in fields]
    if settings:
        head, line = f"{head} setting |", f"{line}---|"
        rows = [f"{row} {_setting(settings.get(field.name))} |" for row, field in zip(rows, fields)]
    return [head, line, *rows]


def _setting(field: Field | None) -> str:
    """Return the hint of a setting, and its bounds; empty for another member."""
    if field is None:
        return ""
    words, setting = field.setting.about, field.setting
    if setting.special not in (msgspec.UNSET, None) and not setting.choices and not field.is_list:
        words += f"; {setting.special:g} is {setting.special_words}"
    return f"{words}; {setting.bounds}" if setting.is_bounded else words


def _type(info: types.Type) -> str:
    match info:
        case types.StructType():
            return f"[{info.cls.__name__}](#{info.cls.__name__.lower()})"
        case types.UnionType():
            return " or ".join(_type(part) for part in info.types)
        case types.LiteralType() if set(info.values) == _CODES:
            return "a [code](#codes)"
        case types.LiteralType():
            return ", ".join(f"`{_word(value)}`" for value in info.values)
        case types.VarTupleType() | types.ListType():
            return f"list of {_type(info.item_type)}"
        case types.TupleType():
            return f"list of {len(info.item_types)}: {', '.join(map(_type, info.item_types))}"
        case types.DictType():
            return (
                "object"
                if isinstance(info.value_type, types.AnyType)
                else f"object of {_type(info.value_type)}"
            )
        case types.StrType():
            return "text"
        case types.BytesType():
            return "bytes, base64"
        case types.IntType():
            return "integer"
        case types.FloatType():
            return "number"
        case types.BoolType():
            return "true or false"
        case types.NoneType():
            return "null"
        case _:
            return "any JSON"


def _word(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) or not value else value


def _default(field: types.Field) -> str:
    if field.required:
        return "never"
    if field.default is field.default_factory:  # none: the member stays unset
        return "as above"
    value = field.default if field.default is not types.NODEFAULT else field.default_factory()
    if isinstance(value, msgspec.Struct):
        return "its own defaults"
    if isinstance(value, tuple) and any(isinstance(each, msgspec.Struct) for each in value):
        return "as in the program"
    return f"`{msgspec.json.encode(value).decode()}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
