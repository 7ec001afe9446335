"""Values of tagged parameters whose members are tags too, read while they are written.

A container begins with the tag of its first member, and is a list where that is the form's tag of items. Everything
else is a text, which is a value in JSON where it can be one.
"""

from __future__ import annotations

import re

from glyphscope.notation import structure as s
from glyphscope.turns.form import ArgumentsForm
from glyphscope.turns.literals import whole_value
from glyphscope.turns.validator_judge import CallJudge
from glyphscope.turns.validator_values import EitherValue, Piece, RawValue, TypedValue
from glyphscope.validation.streaming_validator import Limits

_NAME = re.compile(r"[\w.\-]")


class Nested:
    """From the tag of the first member on, which was read already, to the closing of the parameter `key`.

    `done` and `broken` are as those of a driver. The judge has begun the value.
    """

    def __init__(
        self, judge: CallJudge, form: ArgumentsForm, key: str, first: str, at: int, limits: Limits
    ) -> None:
        self.done = self.broken = False
        self._judge, self._limits, self._item = judge, limits, form.item
        self._opening = form.parameter[0].text
        place = next(n for n, piece in enumerate(form.parameter) if piece.kind == "value")
        self._after = form.parameter[place + 1 :]
        self._open: list[tuple[str, bool]] = []  # the key of each container, and whether it is a list
        self._held, self._held_at = "", at
        self._leaf: RawValue | TypedValue | EitherValue | None = None
        self._texts: list[str] = []
        self._name = key
        self._at_value = self._list_known = False
        self._start = at
        self._begin_container(at)
        self._begin_member(first, at)

    def feed(self, text: str, at: int, base: int) -> int:
        while at < len(text) and not (self.done or self.broken):
            self._step(text[at], base + at)
            at += 1
        return at

    def _closing(self, key: str) -> str:
        return "".join(key if piece.kind == "key" else piece.text for piece in self._after)

    def _step(self, char: str, at: int) -> None:
        if not self._held:
            self._held_at = at
        self._held += char
        held = self._held
        in_member = self._at_value
        owner = self._name if in_member else self._open[-1][0]
        closing = self._closing(owner)
        if closing.startswith(held):
            if held == closing:
                self._close(at + 1, in_member)
            return
        if self._opens(held) and not (in_member and self._texts):
            if held.endswith(">"):
                self._member(held[len(self._opening) : -1], at + 1, in_member)
            return
        if not in_member or held.startswith(self._opening):
            self._judge.violate("SYNTAX", f"{closing!r} was expected", at, repr(closing))
            self.broken = True
            return
        self._text(held[0], at)
        rest, start = held[1:], self._held_at + 1
        self._held = ""
        for offset, each in enumerate(rest):
            if not (self.done or self.broken):
                self._step(each, start + offset)

    def _opens(self, held: str) -> bool:
        """Whether this is the beginning of a member's tag."""
        if self._opening.startswith(held):
            return True
        name = held[len(self._opening) :].removesuffix(">")
        return held.startswith(self._opening) and bool(name) and all(map(_NAME.match, name))

    def _member(self, name: str, at: int, in_member: bool) -> None:
        self._held = ""
        if in_member:
            self._begin_container(at, is_list=name == self._item)
        self._begin_member(name, at)

    def _begin_container(self, at: int, *, is_list: bool | None = None) -> None:
        self._open.append((self._name, bool(is_list)))
        self._list_known = is_list is not None
        if is_list is not None:
            self._judge.drive([(s.ARRAY_OPEN if is_list else s.OBJECT_OPEN, at, at, "")])

    def _begin_member(self, name: str, at: int) -> None:
        if not self._list_known:
            owner, _ = self._open[-1]
            self._open[-1] = (owner, name == self._item)
            self._list_known = True
            self._judge.drive([(s.ARRAY_OPEN if name == self._item else s.OBJECT_OPEN, at, at, "")])
        if not self._open[-1][1]:
            start = at - len(name) - 1
            keys = [
                (s.KEY_OPEN, start, start, '"'),
                (s.KEY_TEXT, start, at - 1, name),
                (s.KEY_END, at - 1, at, ""),
            ]
            self._judge.drive(keys)
        elif name != self._item:
            self._judge.violate("SYNTAX", f"{self._item!r} was expected", at - 1, repr(self._item))
            self.broken = True
            return
        self._name, self._at_value = name, True
        self._texts = []
        self._leaf = None
        self._start = at
        self._judge.begin_value(at)

    def _text(self, text: str, broke: int) -> None:
        piece = Piece(self._held_at, text, broke if broke > self._held_at else -1)
        if self._leaf is None:
            self._leaf = EitherValue(self._judge, self._start, self._limits)
        self._texts.append(text)
        if isinstance(self._leaf, EitherValue):
            self._leaf = self._leaf.text(piece) or self._leaf
        else:
            self._leaf.text(piece)

    def _close(self, end: int, in_member: bool) -> None:
        held, start = self._held, self._held_at
        self._held = ""
        if in_member:
            self._at_value = False
            self._end_leaf(start, end, held)
            return
        _, is_list = self._open.pop()
        self._judge.drive([(s.ARRAY_CLOSE if is_list else s.OBJECT_CLOSE, start, end, "")])
        self.done = not self._open

    def _end_leaf(self, start: int, end: int, held: str) -> None:
        text = "".join(self._texts)
        leaf = self._leaf
        if leaf is None:
            leaf = RawValue(self._judge, self._start)
        elif isinstance(leaf, EitherValue):
            leaf = leaf.ended(start, end, held)
        whole, value = whole_value(text)
        if whole and not isinstance(leaf, TypedValue):
            self._judge.refuse_value(end - 1)
            self._judge.end_value(value, start, end - 1)
            return
        leaf.end(start, end, held)
        if isinstance(leaf, TypedValue) and leaf.refused_at >= 0:
            self._judge.refuse_value(leaf.refused_at)
            self._judge.end_value(text, start, end - 1)
