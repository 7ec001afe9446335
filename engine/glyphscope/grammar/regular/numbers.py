"""Numbers within bounds, as nodes of digits.

An integer is written as an integer literal, a number with bounds or a step as a plain decimal, and other numbers
optionally with an exponent. Lengths are limited, so that every text is a finite double and no model writes digits
forever: 20 digits before the point, and 15 significant digits near a bound, where decimals and doubles have the same
order. Numbers beyond these digits, up to a very large or very small bound, are written with an exponent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import gcd

from glyphscope.grammar.chars import DIGITS
from glyphscope.grammar.tree import EMPTY, NEVER, CharClass, Node, alt, intersect, optional, repeat, seq
from glyphscope.registry.facts import Range

MAX_DIGITS = 20  # before the point
MAX_INTEGER = 10**MAX_DIGITS - 1
PRECISION = 15  # significant digits near a bound
FINE = 6  # minimal digits after the point where no bound is near
MAX_EXPONENT = 300  # up to this one, doubles have their full precision
MAX_LISTED = 200  # multiples within bounds that are listed
MAX_REMAINDERS = 1_200  # rules for multiples that are not listed

_DIGIT = CharClass(DIGITS)
_FIRST_DIGIT = CharClass(((0x31, 0x39),))
_E = CharClass(((0x45, 0x45), (0x65, 0x65)))


def integers_of(span: Range) -> tuple[int, int]:
    """The first and the last integer between the bounds, with at most `MAX_DIGITS` digits."""
    low, high = -MAX_INTEGER, MAX_INTEGER
    if span.low is not None:
        low = math.floor(span.low) + 1 if span.low_open else math.ceil(span.low)
    if span.high is not None:
        high = math.ceil(span.high) - 1 if span.high_open else math.floor(span.high)
    return (max(low, -MAX_INTEGER) if high >= -MAX_INTEGER else low), (
        min(high, MAX_INTEGER) if low <= MAX_INTEGER else high
    )


@lru_cache(maxsize=1024)
def integer_node(low: int, high: int) -> Node:
    """The integers from `low` to `high`."""
    return _signed(low, high, _natural)


def _signed(low: int, high: int, natural: Callable[[int, int], Node]) -> Node:
    """The integers from `low` to `high`; `natural` makes those without a sign."""
    return alt(
        seq("-", natural(max(1, -high), -low)) if low < 0 else NEVER,
        natural(max(0, low), high) if high >= 0 else NEVER,
    )


def multiples_node(
    low: int, high: int, step: int, rule: Callable[[str, Callable[[], Node]], Node]
) -> Node | None:
    """The multiples of `step` from `low` to `high`: listed if few, otherwise by an automaton of remainders.

    `rule(name, make)` returns a reference to a shared rule. None if the automaton would be too large.
    """
    first, last = -(-low // step), high // step
    if last - first < MAX_LISTED:
        return alt(*(str(step * i) for i in range(first, last + 1)))
    if sum(_Remainders.count(step, size) for size in range(1, len(str(max(-low, high))))) > MAX_REMAINDERS:
        return None
    return _signed(low, high, _Remainders(step, rule).natural)


@lru_cache(maxsize=1024)
def number_node(span: Range, *, decimals: int | None = None) -> Node:
    """The decimals between the bounds of the range, whatever its step, with an optional exponent if it has none.

    With bounds, only numbers beyond `MAX_DIGITS` before the point or `PRECISION` after it have an exponent.
    With `decimals`, no number has one, and all have at most so many digits after the point.
    """
    low, high = _decimal(span.low), _decimal(span.high)
    if low is None and high is None and decimals is None:
        whole = alt("0", seq(_FIRST_DIGIT, repeat(_DIGIT, 0, MAX_DIGITS - 1)))
        sign = CharClass(((0x2B, 0x2B), (0x2D, 0x2D)))
        exponent = seq(_E, optional(sign), repeat(_DIGIT, 1, 2))
        return seq(
            optional(seq("-")), whole, optional(seq(".", repeat(_DIGIT, 1, MAX_DIGITS))), optional(exponent)
        )
    zero = Decimal(0)
    negative: Node = NEVER
    positive: Node = NEVER
    if low is None or low < 0:
        below = (-high, span.high_open) if high is not None and high < 0 else (zero, True)
        most = None if low is None else -low
        negative = seq("-", _magnitudes(*below, most, span.low_open, decimals))
    if high is None or high >= 0:
        above = (low, span.low_open) if low is not None and low >= 0 else (zero, False)
        positive = _magnitudes(*above, high, span.high_open, decimals)
    return alt(negative, positive)


def _decimal(bound: Fraction | None) -> Decimal | None:
    """A bound as the decimal that it was read from."""
    if bound is None:
        return None
    places = next(places for places in count() if 10**places % bound.denominator == 0)
    return Decimal(f"{bound.numerator * 10**places // bound.denominator}e-{places}")


def fractions_node(span: Range, step: Fraction) -> Node | None:
    """The multiples of a step that divides 1, such as 0.01 or 0.25; None for other steps, and for too many endings.

    The step determines only the last digits: those of 0.25 are 00, 25, 50 and 75.
    """
    if step.numerator != 1:
        return None
    if not _has_multiple(span, step):
        return NEVER
    size = next(size for size in count(1) if 10**size % step.denominator == 0)
    unit = 10**size // step.denominator  # the step, in the last of `size` digits
    last = next(size for size in count() if 10**size % unit == 0)
    number = number_node(span, decimals=size)
    if unit == 1:
        return number
    if 10**last // unit > MAX_LISTED:
        return None
    endings: dict[str, None] = {}
    for ending in range(0, 10**last, unit):
        digits = f"{ending:0{last}}"
        endings.update((digits[:end], None) for end in range(max(1, len(digits.rstrip("0"))), last + 1))
    free = size - last
    fraction = alt(repeat(_DIGIT, 1, free) if free else NEVER, seq(repeat(_DIGIT, free, free), alt(*endings)))
    return intersect((number, seq(optional(seq("-")), repeat(_DIGIT, 1), optional(seq(".", fraction)))))


def _has_multiple(span: Range, step: Fraction) -> bool:
    if span.low is None or span.high is None:
        return True
    low, high = span.low / step, span.high / step
    first = math.floor(low) + 1 if span.low_open else math.ceil(low)
    return first < high or (first == high and not span.high_open)


def _natural(low: int, high: int) -> Node:
    """`low` to `high`, both at least 0."""
    if low > high:
        return NEVER
    shortest, longest = len(str(low)), len(str(high))
    if shortest == longest:
        return _same_length(str(low), str(high))
    between: Node = NEVER
    if longest - shortest > 1:
        between = seq(_FIRST_DIGIT, repeat(_DIGIT, shortest, longest - 2))
    return alt(
        _same_length(str(low), "9" * shortest), between, _same_length("1" + "0" * (longest - 1), str(high))
    )


def _same_length(low: str, high: str) -> Node:
    if not low:
        return EMPTY
    if len(low) > MAX_DIGITS + 1:
        return _same_length_flat(low, high)
    size = len(low) - 1
    first, last = int(low[0]), int(high[0])
    if first == last:
        return seq(low[0], _same_length(low[1:], high[1:]))
    options = []
    if low[1:] != "0" * size:
        options.append(seq(low[0], _same_length(low[1:], "9" * size)))
        first += 1
    tail: Node = NEVER
    if high[1:] != "9" * size:
        tail = seq(high[0], _same_length("0" * size, high[1:]))
        last -= 1
    if first <= last:
        options.append(seq(_digits(first, last), repeat(_DIGIT, size, size)))
    return alt(*options, tail)


def _same_length_flat(low: str, high: str) -> Node:
    """The same for many digits, an option for each digit that differs from the bound's: engines limit nesting."""
    size = len(low)
    same = next((index for index in range(size) if low[index] != high[index]), size)
    if same == size:
        return seq(low)
    low_end, high_end = max(same + 1, len(low.rstrip("0"))), max(same + 1, len(high.rstrip("9")))
    starts = [
        (low[:low_end], 0, 9),
        (high[:high_end], 0, 9),
        (low[:same], int(low[same]) + 1, int(high[same]) - 1),
    ]
    starts += [(low[:index], int(low[index]) + 1, 9) for index in range(same + 1, low_end)]
    starts += [(high[:index], 0, int(high[index]) - 1) for index in range(same + 1, high_end)]
    return alt(
        *(
            seq(start, _digits(first, last), repeat(_DIGIT, size - len(start) - 1, size - len(start) - 1))
            if len(start) < size
            else seq(start)
            for start, first, last in starts
            if first <= last
        )
    )


def _digits(first: int, last: int) -> Node:
    return seq(str(first)) if first == last else CharClass(((0x30 + first, 0x30 + last),))


def _magnitudes(
    low: Decimal, low_open: bool, high: Decimal | None, high_open: bool, decimals: int | None
) -> Node:
    """The decimals from `low` (at least 0) to `high`."""
    if high is not None and high < low:
        return NEVER
    beyond = NEVER if decimals is not None else _scientific(low, low_open, high, high_open)
    if low <= MAX_INTEGER and high is not None and high >= MAX_INTEGER + 1 + high_open:
        high = None  # greater numbers have too many digits, or an exponent
    most = PRECISION if decimals is None else decimals
    return alt(_plain(low, low_open, high, high_open, most), beyond)


def _plain(low: Decimal, low_open: bool, high: Decimal | None, high_open: bool, decimals: int) -> Node:
    """The decimals from `low` to `high` without exponents."""
    if low_open:
        low, low_open = _inside(low, ROUND_CEILING)
    if high_open and high is not None:
        high, high_open = _inside(high, ROUND_FLOOR)
    if high is None:
        return _from(low, low_open, max(MAX_INTEGER, int(low)), decimals)
    digits = len(str(int(high)))
    if high_open and high == 10 ** (digits - 1):
        digits -= 1
    power = 10 ** (digits - 1)
    if PRECISION - digits >= FINE or low >= power:
        return _between(low, low_open, high, high_open, decimals)
    # Numbers with fewer digits than the upper bound may have longer fractions: rounding never exceeds the bound.
    return alt(
        _from(low, low_open, power - 1, decimals), _between(Decimal(power), False, high, high_open, decimals)
    )


def _inside(bound: Decimal, direction: str) -> tuple[Decimal, bool]:
    """An open bound; if it has more digits than a double, the nearest representable number inside, as a closed one."""
    spare = len(str(int(bound))) - PRECISION
    if spare <= 0:
        return bound, True
    step = Decimal(10) ** spare
    beside = _rounded(bound, -spare, direction)
    if beside == bound:
        beside += step if direction == ROUND_CEILING else -step
    return beside, False


def _from(low: Decimal, low_open: bool, last: int, decimals: int) -> Node:
    """The decimals from `low` on whose integer part is at most `last`."""
    size = min(decimals, max(1, PRECISION - len(str(int(low)))))
    rounded = _rounded(low, size, ROUND_CEILING)
    whole, fraction = _split(rounded)
    lower = seq(str(whole), _fraction(fraction, low_open and rounded == low, None, False, size))
    return alt(lower, seq(_natural(whole + 1, last), _fraction("", False, None, False, size)))


def _between(low: Decimal, low_open: bool, high: Decimal, high_open: bool, decimals: int = PRECISION) -> Node:
    # The fraction is as long as for doubles of this size; a bound with more digits is rounded into the interval.
    size = min(decimals, max(1, PRECISION - max(len(str(int(b))) for b in (low, high))))
    rounded_low, rounded_high = _rounded(low, size, ROUND_CEILING), _rounded(high, size, ROUND_FLOOR)
    low_open, high_open = low_open and rounded_low == low, high_open and rounded_high == high
    if rounded_high < rounded_low:
        return NEVER
    (whole, low_fraction), (last, high_fraction) = _split(rounded_low), _split(rounded_high)
    if whole == last:
        return seq(str(whole), _fraction(low_fraction, low_open, high_fraction, high_open, size))
    return alt(
        seq(str(whole), _fraction(low_fraction, low_open, None, False, size)),
        seq(_natural(whole + 1, last - 1), _fraction("", False, None, False, size)),
        seq(str(last), _fraction("", False, high_fraction, high_open, size)),
    )


def has_exponents(span: Range) -> bool:
    """Whether numbers within these bounds are written with an exponent: those beyond the digits of plain decimals."""
    bounds = [abs(bound) for bound in (span.low, span.high) if bound and not span.step]
    return any(bound > MAX_INTEGER or bound < Fraction(1, 10 ** (PRECISION - 1)) for bound in bounds)


def _scientific(low: Decimal, low_open: bool, high: Decimal | None, high_open: bool) -> Node:
    """The numbers within bounds that are not plain decimals: a digit, a fraction, an exponent."""
    options = []
    if high is not None and high > MAX_INTEGER:
        options.append(_decades(MAX_DIGITS, MAX_EXPONENT, low, low_open, high, high_open))
    if any(bound and abs(bound) < Decimal(1).scaleb(1 - PRECISION) for bound in (low, high)):
        options.append(_decades(-MAX_EXPONENT, -PRECISION, low, low_open, high, high_open))
    return alt(*options)


def _decades(
    first: int, last: int, low: Decimal, low_open: bool, high: Decimal | None, high_open: bool
) -> Node:
    """The numbers within bounds with exponents from `first` to `last`; numbers at a bound have fewer digits."""
    options: list[Node] = []
    if low and low.adjusted() >= first:
        first = low.adjusted()
        if first <= last:
            same = high is not None and high.adjusted() == first
            until = (_scaled(high, first), high_open) if same and high is not None else (Decimal(10), True)
            digits = _between(_scaled(low, first), low_open, *until)
            options.append(seq(digits, _E, _exponents(first, first)))
        first += 1
    if high is not None and first <= high.adjusted() <= last:
        last = high.adjusted()
        digits = _between(Decimal(1), False, _scaled(high, last), high_open)
        options.append(seq(digits, _E, _exponents(last, last)))
        last -= 1
    elif high is not None and high.adjusted() < first:
        last = first - 1
    if first <= last:
        digits = seq(_FIRST_DIGIT, optional(seq(".", repeat(_DIGIT, 1, PRECISION - 1))))
        options.append(seq(digits, _E, _exponents(first, last)))
    return alt(*options)


def _exponents(first: int, last: int) -> Node:
    """The exponents from `first` to `last`, which have the same sign."""
    if first < 0:
        return seq("-", _natural(-last, -first))
    return seq(optional(seq("+")), _natural(first, last))


def _scaled(value: Decimal, exponent: int) -> Decimal:
    with localcontext() as context:
        context.prec = 700
        return value.scaleb(-exponent)


def _rounded(value: Decimal, digits: int, direction: str) -> Decimal:
    with localcontext() as context:
        context.prec = 700  # every double has fewer digits than that
        return value.quantize(Decimal(1).scaleb(-digits), rounding=direction)


def _split(value: Decimal) -> tuple[int, str]:
    whole, _, fraction = f"{value:f}".partition(".")
    return int(whole), fraction.rstrip("0")


def _fraction(low: str, low_open: bool, high: str | None, high_open: bool, size: int) -> Node:
    digits = _after_point(low, low_open, high, high_open, size)
    return alt(EMPTY if _contains_zero(low, low_open, high, high_open) else NEVER, seq(".", digits))


def _contains_zero(low: str, low_open: bool, high: str | None, high_open: bool) -> bool:
    return not low and not low_open and not (high == "" and high_open)


def _after_point(low: str, low_open: bool, high: str | None, high_open: bool, size: int) -> Node:
    """One to `size` digits d with low <= 0.d <= high; the bounds, too, are digits after the point."""
    if size == 0:
        return NEVER
    if high is None and not low and not low_open:
        return repeat(_DIGIT, 1, size)
    first = int(low[0]) if low else 0
    last = 9 if high is None else int(high[0]) if high else 0
    options: list[Node] = []
    inner: list[int] = []
    for digit in range(first, last + 1):
        below, below_open = (low[1:], low_open) if digit == first else ("", False)
        above = high[1:] if high is not None and digit == last else None
        if not below and not below_open and above is None:
            inner.append(digit)
            continue
        ends = EMPTY if _contains_zero(below, below_open, above, high_open) else NEVER
        options.append(
            seq(str(digit), alt(ends, _after_point(below, below_open, above, high_open, size - 1)))
        )
    if inner:
        options.append(seq(_digits(inner[0], inner[-1]), repeat(_DIGIT, 0, size - 1)))
    return alt(*options)


class _Remainders:
    """Natural numbers divisible by `step`, digit by digit.

    Each digit is a separate lexeme: otherwise a lexer that takes the longest one would prefer `20` to `2` and `09`.
    """

    def __init__(self, step: int, rule: Callable[[str, Callable[[], Node]], Node]) -> None:
        self.step = step
        self.rule = rule

    @staticmethod
    def count(step: int, size: int) -> int:
        """The number of remainders between which `size` more digits distinguish: of 1,000 only 10 with two of them."""
        return step // gcd(step, 10**size)

    def natural(self, low: int, high: int) -> Node:
        options = []
        for size in range(len(str(low)), len(str(high)) + 1):
            least = max(low, 10 ** (size - 1) if size > 1 else 0)
            most = min(high, 10**size - 1)
            if least <= most:
                options.append(self._between(str(least), str(most), 0))
        return alt(*options)

    def _between(self, low: str, high: str, remainder: int) -> Node:
        if not low:
            return EMPTY if remainder == 0 else NEVER
        size = len(low)
        if low == "0" * size and high == "9" * size:
            return self._free(size, remainder)
        first, last = int(low[0]), int(high[0])
        options = []
        for digit in range(first, last + 1):
            below = low[1:] if digit == first else "0" * (size - 1)
            above = high[1:] if digit == last else "9" * (size - 1)
            following = (remainder * 10 + digit) % self.step
            options.append(seq(_one(digit), self._between(below, above, following)))
        return alt(*options)

    def _free(self, size: int, remainder: int) -> Node:
        if size == 0:
            return EMPTY if remainder == 0 else NEVER
        remainder %= self.count(self.step, size)
        return self.rule(f"multiple-{self.step}-{size}-{remainder}", lambda: self._digit(size, remainder))

    def _digit(self, size: int, remainder: int) -> Node:
        following = [(remainder * 10 + digit) % self.step for digit in range(10)]
        return alt(*(seq(_one(digit), self._free(size - 1, left)) for digit, left in enumerate(following)))


def _one(digit: int) -> Node:
    return CharClass(((0x30 + digit, 0x30 + digit),))
