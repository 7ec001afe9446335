"""Whether the beginning of a number can still become one that its bounds allow.

An integer literal `p` can become every `p` with digits behind it; a plain decimal also gets a fraction. So what a
prefix can become is a chain of half-open intervals [p·10^k, (p+1)·10^k) on the magnitude, and a bound, a step or an
enumeration leaves something of it or nothing. Exact arithmetic throughout: 0.1 is one tenth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from glyphscope.notation.scalars import DECIMAL, INTEGER


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds (None: no bound), multiples of `step` (0: all)."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    step: Fraction = Fraction(0)

    @property
    def unbounded(self) -> bool:
        return self.low is None and self.high is None and not self.step

    def above(self, low: Fraction, is_open: bool) -> Range:
        """The range from `low` on; itself where that leaves all of it."""
        if self.low is None or low > self.low or (low == self.low and is_open):
            return replace(self, low=low, low_open=is_open)
        return self

    def below(self, high: Fraction, is_open: bool) -> Range:
        """The range up to `high`; itself where that leaves all of it."""
        if self.high is None or high < self.high or (high == self.high and is_open):
            return replace(self, high=high, high_open=is_open)
        return self

    def mirrored(self) -> Range:
        """The range of the negatives."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Range(low, high, self.high_open, self.low_open, self.step)

    def contains(self, value: Fraction) -> bool:
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        if self.high is not None and (value > self.high or (self.high_open and value == self.high)):
            return False
        return not self.step or (value / self.step).denominator == 1

    def empty(self, kinds: int) -> bool:
        """Whether no number of these kinds lies in the range."""
        if kinds & DECIMAL and not self.step:
            if self.low is None or self.high is None:
                return False
            return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))
        if self.low is None or self.high is None:
            return False
        step = self.step if kinds & DECIMAL else whole_step(self.step)
        return not _multiple_between(self.low, self.low_open, self.high, self.high_open, step)


EVERY_NUMBER = Range()


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The least common multiple of two steps; 0 stands for no step."""
    if not a or not b:
        return a or b
    return Fraction(
        a.numerator * b.numerator // gcd(a.numerator, b.numerator), gcd(a.denominator, b.denominator)
    )


def whole_step(step: Fraction) -> Fraction:
    """The step between the integers among the multiples of `step`."""
    return Fraction(step.numerator) if step else Fraction(1)


def can_become(prefix: str, kinds: int, span: Range) -> bool:
    """Whether a plain number literal that begins with `prefix` is of one of `kinds` and lies in `span`.

    `prefix` is a prefix of a JSON number without an exponent.
    """
    negative = prefix.startswith("-")
    digits = prefix[1:] if negative else prefix
    if negative:
        span = span.mirrored()
    if span.high is not None and span.high < 0:
        return False
    if not digits:  # a lone minus: any magnitude
        return _magnitude_left(Fraction(0), None, kinds, span)
    whole, dot, fraction = digits.partition(".")
    if dot:
        if not kinds & DECIMAL:
            return False
        start = Fraction(int(whole + fraction), 10 ** len(fraction))
        return _magnitude_left(start, start + Fraction(1, 10 ** len(fraction)), DECIMAL, span)
    start, scale = Fraction(int(whole)), 1
    while True:
        if kinds & INTEGER and scale == 1 and span.contains(start) and whole_step(span.step):
            return True
        if _magnitude_left(start * scale, (start + 1) * scale, kinds, span):
            return True
        if not start or (span.high is not None and start * scale > span.high):
            return False
        if span.high is None:
            return True
        scale *= 10


def _magnitude_left(start: Fraction, end: Fraction | None, kinds: int, span: Range) -> bool:
    """Whether [start, end) and the range (of magnitudes, so from 0 on) have a number of these kinds in common."""
    low, low_open = start, False
    if span.low is not None and span.low >= start:
        low, low_open = span.low, span.low_open
    high, high_open = end, True
    if span.high is not None and (end is None or span.high < end):
        high, high_open = span.high, span.high_open
    if high is None:
        return True
    if low > high or (low == high and (low_open or high_open)):
        return False
    if kinds & DECIMAL and not span.step:
        return True
    step = span.step if kinds & DECIMAL else whole_step(span.step)
    return _multiple_between(low, low_open, high, high_open, step)


def _multiple_between(low: Fraction, low_open: bool, high: Fraction, high_open: bool, step: Fraction) -> bool:
    first = -(-low // step)  # ceil
    if low_open and first * step == low:
        first += 1
    value = first * step
    return value < high or (value == high and not high_open)
