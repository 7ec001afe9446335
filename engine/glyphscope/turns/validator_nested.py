"""Values of tagged parameters whose members are also tags, read while they are written.

A container begins with the tag of its first member, and is a list if that is the form's tag for items. Anything else is
a text, read by the schema like a parameter's value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from glyphscope.notation import structure as s
from glyphscope.turns.form import ArgumentsForm
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.turns.validator_values import Piece, ValueText
from glyphscope.validation.streaming_validator import Limits

_NAME = re.compile(r"[\w.\-]")


@dataclass
class _Container:
    """An open list (`listed`) or object under a key; `listed` is None until the tag of its first member."""

    key: str
    types: ArgumentTypes
    listed: bool | None = None
    members: int = 0


class Nested:
    """Reads the value of the parameter `key` up to its closing, after the tag of its first member, `first`.

    `done` and `broken` are as in `Driver`. The validator has already begun the value.
    """

    def __init__(
        self, validator: OneCallValidator, form: ArgumentsForm, key: str, first: str, types: ArgumentTypes, at: int,
        limits: Limits,
    ) -> None:  # fmt: skip
        self.done = self.broken = False
        self._validator, self._limits, self._item = validator, limits, form.item
        self._opening, self._closing = form.opening, form.closing
        self._open: list[_Container] = []
        self._types = types  # of the next or open value
        self._pending, self._pending_at = "", at
        self._value: ValueText | None = None  # the open value, if it is a text
        self._name = key  # of the open member
        self._at_value = False  # inside a member, not between two
        self._start = at  # of the member's value
        self._begin_container()
        self._begin_member(first, at)

    def feed(self, text: str, at: int, base: int) -> int:
        while at < len(text) and not (self.done or self.broken):
            self._step(text[at], base + at)
            at += 1
        return at

    def _step(self, char: str, at: int) -> None:
        if not self._pending:
            self._pending_at = at
        self._pending += char
        pending = self._pending
        in_member = self._at_value
        owner = self._name if in_member else self._open[-1].key
        closing = self._closing(owner)
        if closing.startswith(pending):
            if pending == closing:
                self._close(at + 1, in_member)
            return
        raw = in_member and (self._value is not None or self._types.only_string)
        if self._opens(pending) and not raw:
            if pending.endswith(">"):
                self._member(pending[len(self._opening) : -1], at + 1, in_member)
            return
        if not in_member or (pending.startswith(self._opening) and not self._types.only_string):
            self._validator.violate("SYNTAX", f"{closing!r} was expected", at, repr(closing))
            self.broken = True
            return
        self._text(pending[0], at)
        rest, start = pending[1:], self._pending_at + 1
        self._pending = ""
        for offset, each in enumerate(rest):
            if not (self.done or self.broken):
                self._step(each, start + offset)

    def _opens(self, pending: str) -> bool:
        """Whether this is the beginning of a member's tag."""
        if self._opening.startswith(pending):
            return True
        name = pending[len(self._opening) :].removesuffix(">")
        return pending.startswith(self._opening) and bool(name) and all(map(_NAME.match, name))

    def _member(self, name: str, at: int, in_member: bool) -> None:
        self._pending = ""
        if in_member:
            self._begin_container()
        self._begin_member(name, at)

    def _begin_container(self) -> None:
        self._open.append(_Container(self._name, self._types))

    def _begin_member(self, name: str, at: int) -> None:
        owner = self._open[-1]
        if owner.listed is None:
            owner.listed = owner.types.is_list(name, self._item)
            self._validator.drive([(s.ARRAY_OPEN if owner.listed else s.OBJECT_OPEN, at, at, "")])
        if not owner.listed:
            start = at - len(name) - 1
            keys = [
                (s.KEY_OPEN, start, start, '"'),
                (s.KEY_TEXT, start, at - 1, name),
                (s.KEY_END, at - 1, at, ""),
            ]
            self._validator.drive(keys)
        elif name != self._item:
            self._validator.violate("SYNTAX", f"{self._item!r} was expected", at - 1, repr(self._item))
            self.broken = True
            return
        self._types = owner.types.inner(owner.members if owner.listed else name)
        owner.members += 1
        self._name, self._at_value, self._value = name, True, None
        self._start = at
        self._validator.begin_value(at)

    def _text(self, text: str, broke: int) -> None:
        piece = Piece(self._pending_at, text, broke if broke > self._pending_at else -1)
        self._value = self._value or self._begin_text()
        self._value.text(piece)

    def _begin_text(self) -> ValueText:
        return ValueText(self._validator, self._types, self._start, self._limits, as_string=False, empty=True)

    def _close(self, end: int, in_member: bool) -> None:
        pending, start = self._pending, self._pending_at
        self._pending = ""
        if in_member:
            self._at_value = False
            (self._value or self._begin_text()).end(start, end, pending)
            return
        listed = self._open.pop().listed
        self._validator.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
        self.done = not self._open
