"""Values of tagged parameters whose members are also tags, read while they are written.

A container begins with the tag of its first member, and is a list if that is the form's tag for items. Anything else is
a text, read by the schema like a parameter's value.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass

from glyphscope.notation import structure as s
from glyphscope.notation.ahead import TextAhead
from glyphscope.turns.form import ArgumentsForm
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_one_call import OneCallValidator
from glyphscope.turns.validator_values import Piece, ValueText
from glyphscope.validation.streaming_validator import Limits


@dataclass
class _Container:
    """An open list (`listed`) or object under a key."""

    key: str
    types: ArgumentTypes
    listed: bool
    members: int = 0


class Nested:
    """Reads a value from a `text`, for a validator that has already begun it."""

    def __init__(
        self, text: TextAhead, validator: OneCallValidator, form: ArgumentsForm, limits: Limits
    ) -> None:  # fmt: skip
        self._text, self._validator, self._limits = text, validator, limits
        self._opening, self._closing, self._item = form.opening, form.closing, form.item
        self._tag = re.compile(re.escape(form.opening) + r"([\w.\-]+)(>?)")  # of a member, or its beginning
        self._open: list[_Container] = []
        self._value: ValueText | None = None  # of the open member, if it is a text

    def read(self, key: str, types: ArgumentTypes) -> Generator[None, None, bool | None]:
        """Read the value of the parameter `key` with its closing. Returns whether it could be read; None for a text, of
        which nothing was read.
        """
        text, begun = self._text, ""
        while not (name := self._name(begun)):
            begun += yield from text.char(len(begun))
            if not self._opens(begun):
                return None
        text.skip(len(begun))
        self._begin_container(key, types, name)
        in_member = True  # not between two
        while self._open:
            owner = self._key if in_member else self._open[-1].key
            closing, types = self._closing(owner), self._types
            raw = in_member and (self._value is not None or types.only_string)
            begun, name = "", ""
            while closing.startswith(begun) or (not raw and self._opens(begun)):
                begun += yield from text.char(len(begun))
                name = "" if raw else self._name(begun)
                if name or begun == closing:
                    break
            last = text.place + len(begun) - 1
            if begun == closing:
                self._close(closing, in_member)
                in_member = False
                text.skip(len(closing))
            elif name:
                text.skip(len(begun))
                if in_member:
                    self._begin_container(owner, types, name)
                elif not self._begin_member(name):
                    return False
                in_member = True
            elif not in_member or (begun.startswith(self._opening) and not types.only_string):
                self._validator.violate("SYNTAX", f"{closing!r} was expected", last, repr(closing))
                text.skip(len(begun))
                return False
            else:
                self._value = self._value or self._begin_text()
                self._value.text(Piece(text.place, begun[0], last if len(begun) > 1 else -1))
                text.skip(1)
        return True

    def _opens(self, begun: str) -> bool:
        """Whether this is the beginning of a member's tag."""
        return self._opening.startswith(begun) or self._tag.fullmatch(begun) is not None

    def _name(self, begun: str) -> str:
        """The name in a member's tag; "" for anything else."""
        found = self._tag.fullmatch(begun)
        return found[1] if found and found[2] else ""

    def _begin_container(self, key: str, types: ArgumentTypes, first: str) -> None:
        """A container begins with the tag `first`, which was read."""
        listed, at = types.is_list(first, self._item), self._text.place
        self._open.append(_Container(key, types, listed))
        self._validator.drive([(s.ARRAY_OPEN if listed else s.OBJECT_OPEN, at, at, "")])
        self._begin_member(first)

    def _begin_member(self, name: str) -> bool:
        """A member begins after its tag; False for another tag than the items of a list have."""
        owner, at = self._open[-1], self._text.place
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
            return False
        self._types = owner.types.inner(owner.members if owner.listed else name)
        owner.members += 1
        self._key, self._value = name, None
        self._start = at
        self._validator.begin_value(at)
        return True

    def _begin_text(self) -> ValueText:
        return ValueText(self._validator, self._types, self._start, self._limits, as_string=False, empty=True)

    def _close(self, closing: str, in_member: bool) -> None:
        """The closing of the open member, or of the innermost container, is ahead."""
        start, end = self._text.place, self._text.place + len(closing)
        if in_member:
            (self._value or self._begin_text()).end(start, end, closing)
        else:
            listed = self._open.pop().listed
            self._validator.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
