"""The places of values in a JSON text, by JSON Pointer.

The text is read in one loop, without recursion; only requested pointers are built, so a deeply nested text costs no
more than a flat one of the same length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from glyphscope.base.pointer import steps_of, to_pointer

_TOKEN = re.compile(r'[ \t\r\n]*(?:("(?:[^"\\]|\\.)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))')

_Pointers: TypeAlias = dict[str, Any]
"""Pointers as a tree of their steps."""


@dataclass(frozen=True)
class TextPlace:
    """A span of text: characters `start` to `end` (exclusive), counted from 0."""

    start: int
    end: int


@dataclass
class _Container:
    """One open object or array of the scan; `asked` is None if neither it nor anything in it is requested."""

    pointer: str
    start: int
    is_object: bool
    asked: _Pointers | None
    every: bool
    index: int = 0
    key: str | None = None

    def child(self) -> tuple[str, _Pointers | None]:
        """The pointer of the next value, and the requested pointers below it."""
        name = self.key or "" if self.is_object else str(self.index)
        below = {} if self.every else None if self.asked is None else self.asked.get(name)
        return ("", None) if below is None else (self.pointer + to_pointer((name,)), below)


def scan(text: str, pointers: Iterable[str] | None = None) -> Iterator[tuple[str, TextPlace, bool]]:
    """Every name (True) and every value (False) of a valid JSON text, with its pointer.

    With `pointers`, only these and the values around them.
    """
    every = pointers is None
    root = _tree(pointers or ())
    stack: list[_Container] = []
    for match in _TOKEN.finditer(text):
        string, mark, word = match.groups()
        start, end = match.span(match.lastindex or 0)
        top = stack[-1] if stack else None
        if mark in ("{", "["):
            pointer, asked = top.child() if top else ("", root)
            stack.append(_Container(pointer, start, mark == "{", asked, every))
        elif mark in ("}", "]"):
            if top is None:
                break
            stack.pop()
            if top.asked is not None:
                yield top.pointer, TextPlace(top.start, end), False
        elif mark == "," and top:
            top.index += 1
            top.key = None
        elif string is not None and top and top.is_object and top.key is None:
            top.key = str(json.loads(string, strict=False))
            pointer, asked = top.child()
            if asked is not None:
                yield pointer, TextPlace(start, end), True
        elif string is not None or word is not None:
            pointer, asked = top.child() if top else ("", root)
            if asked is not None:
                yield pointer, TextPlace(start, end), False


def find_places(text: str, pointers: Sequence[str]) -> list[TextPlace]:
    """The place of each pointer's value, or of the nearest value around it that exists.

    The last value of a duplicate name counts, as in JSON readers.
    """
    found = {pointer: place for pointer, place, is_name in scan(text, pointers) if not is_name}
    places = []
    for pointer in pointers:
        near = pointer
        while near and near not in found:
            near = near.rpartition("/")[0]
        places.append(found.get(near, TextPlace(0, 0)))
    return places


def _tree(pointers: Iterable[str]) -> _Pointers:
    root: _Pointers = {}
    for pointer in pointers:
        node = root
        for step in steps_of(pointer):
            node = node.setdefault(step, {})
    return root
