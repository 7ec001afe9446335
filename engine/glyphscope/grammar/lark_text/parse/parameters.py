"""Parameters of rules (`name::incr(_)`) and the conditions of their alternatives (`%if bit_set(3)`), as functions.

A parameter is a number of 64 bits, of which a condition may read a stretch: `[low:high]`, or all: `_`.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from glyphscope.grammar.lark_text.parse.pieces import LarkLexeme

T = TypeVar("T")

BITS = 64
_ALL = (1 << BITS) - 1

Condition: TypeAlias = Callable[[int], bool]
_Stretch: TypeAlias = tuple[int, int]


class Expression(NamedTuple):
    """The new value of a parameter, given this rule's; `is_constant`: the same for any."""

    value: Callable[[int], int]
    is_constant: bool = False


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "ne": operator.ne, "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


class Parameters(ABC):
    """The part of the parser that reads expressions and conditions."""

    @abstractmethod
    def take(self, *kinds: str) -> LarkLexeme | None: ...
    @abstractmethod
    def expect(self, kind: str, code: str, message: str) -> LarkLexeme: ...
    @abstractmethod
    def problem(self, code: str, message: str, place: tuple[int, int] | None = None) -> Exception: ...

    def expression(self) -> Expression:
        """`5`, `_`, `incr(_)`, `set_bit(3)` …"""
        if piece := self.take("number", "hex"):
            number = self._value_of(piece)
            return Expression(lambda _: number, True)
        if self.take("_"):
            return Expression(lambda old: old)
        name = self._need("rule")
        if name.text in ("incr", "decr"):
            low, high = self._in_parentheses(self._stretch)
            most, step = (1 << high - low) - 1, 1 if name.text == "incr" else -1
            mask = most << low

            def stepped(old: int) -> int:
                field = (old & mask) >> low
                return old & ~mask | min(max(field + step, 0), most) << low

            return Expression(stepped)
        if name.text in ("bit_and", "bit_or"):
            mask = self._in_parentheses(self._number)
            return Expression(
                (lambda old: old & mask) if name.text == "bit_and" else (lambda old: old | mask)
            )
        if name.text in ("set_bit", "clear_bit"):
            bit = 1 << self._in_parentheses(self._bit)
            return Expression((lambda old: old | bit) if name.text == "set_bit" else (lambda old: old & ~bit))
        raise self.problem("bad-parameter", f"There is no expression `{name.text}`.", (name.start, name.end))

    def condition(self) -> Condition:
        """`true`, `lt(_, 5)`, `bit_set(3)`, `and(…, …)` …"""
        name = self._need("rule")
        kind = name.text
        if kind == "true":
            return lambda _: True
        if kind in _COMPARE:
            return self._in_parentheses(lambda: self._comparison(_COMPARE[kind], count=False))
        if kind.removeprefix("bit_count_") in _COMPARE:
            compare = _COMPARE[kind.removeprefix("bit_count_")]
            return self._in_parentheses(lambda: self._comparison(compare, count=True))
        if kind in ("and", "or"):
            first, second = self._in_parentheses(self._two_conditions)
            if kind == "and":
                return lambda old: first(old) and second(old)
            return lambda old: first(old) or second(old)
        if kind == "not":
            inner = self._in_parentheses(self.condition)
            return lambda old: not inner(old)
        if kind in ("bit_set", "bit_clear"):
            bit = 1 << self._in_parentheses(self._bit)
            return (lambda old: bool(old & bit)) if kind == "bit_set" else (lambda old: not old & bit)
        if kind in ("is_zeros", "is_ones"):
            low, high = self._in_parentheses(self._stretch)
            mask = ((1 << high - low) - 1) << low
            return (lambda old: not old & mask) if kind == "is_zeros" else (lambda old: old & mask == mask)
        raise self.problem("bad-parameter", f"There is no condition `{kind}`.", (name.start, name.end))

    def _comparison(self, compare: Callable[[int, int], bool], *, count: bool) -> Condition:
        low, high = self._stretch()
        self._need(",")
        number = self._bit() if count else self._number()
        mask = (1 << high - low) - 1

        def holds(old: int) -> bool:
            field = old >> low & mask
            return compare(field.bit_count() if count else field, number)

        return holds

    def _two_conditions(self) -> tuple[Condition, Condition]:
        first = self.condition()
        self._need(",")
        return first, self.condition()

    def _in_parentheses(self, read: Callable[[], T]) -> T:
        self._need("(")
        found = read()
        self._need(")")
        return found

    def _stretch(self) -> _Stretch:
        if self.take("_"):
            return 0, BITS
        self._need("[")
        low = self._bit()
        self._need(":")
        piece = self._need("number")
        high = self._bounded(piece, BITS)
        self._need("]")
        if high <= low:
            message = "The end of a stretch of bits is after its start: `[0:8]`."
            raise self.problem("bad-parameter", message, (piece.start, piece.end))
        return low, high

    def _bit(self) -> int:
        return self._bounded(self._need("number"), BITS - 1)

    def _number(self) -> int:
        piece = self.take("hex") or self._need("number")
        return self._value_of(piece)

    def _value_of(self, piece: LarkLexeme) -> int:
        return int(piece.text, 16) if piece.kind == "hex" else self._bounded(piece, _ALL)

    def _bounded(self, piece: LarkLexeme, most: int) -> int:
        if not piece.text.removeprefix("+").isdecimal() or int(piece.text[:30]) > most:
            message = f"A whole number from 0 to {most} is needed here."
            raise self.problem("bad-parameter", message, (piece.start, piece.end))
        return int(piece.text)

    def _need(self, kind: str) -> LarkLexeme:
        words = {"rule": "a name", "number": "a number"}.get(kind, f"`{kind}`")
        return self.expect(kind, "bad-parameter", f"In a parameter or condition, {words} is missing here.")
