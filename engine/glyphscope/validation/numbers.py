"""Whether the prefix of a number can still become a number within its bounds.

An integer literal `p` can be extended by k digits, and a decimal also by a fraction. So the magnitudes that a prefix
can become are half-open intervals [p·10^k, (p+1)·10^k), k = 0, 1, …, and the question is whether one of them contains a
number in the range.
"""

from __future__ import annotations

from fractions import Fraction

from glyphscope.notation.scalars import DECIMAL
from glyphscope.registry.facts import Range


def is_empty(span: Range, kinds: int) -> bool:
    """Whether no number of these kinds is in the range."""
    if span.low is None or span.high is None:
        return False
    return not _has_number(span.low, span.low_open, span.high, span.high_open, kinds, span.step)


def _whole_step(step: Fraction) -> Fraction:
    """The step between the integers among the multiples of `step` (0: all numbers)."""
    return Fraction(step.numerator) if step else Fraction(1)


def can_become(prefix: str, kinds: int, span: Range) -> bool:
    """Whether a plain number literal that begins with `prefix` can be of one of `kinds` and in `span`.

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
    start, end = Fraction(int(whole)), Fraction(int(whole) + 1)
    while not _magnitude_left(start, end, kinds, span):
        if not start or (span.high is not None and start > span.high):
            return False
        if span.high is None:
            return True
        start, end = start * 10, end * 10
    return True


def _magnitude_left(start: Fraction, end: Fraction | None, kinds: int, span: Range) -> bool:
    """Whether [start, end) contains a number of these kinds in the range. `start` >= 0; `end` None: unbounded."""
    low, low_open = start, False
    if span.low is not None and span.low >= start:
        low, low_open = span.low, span.low_open
    high, high_open = end, True
    if span.high is not None and (end is None or span.high < end):
        high, high_open = span.high, span.high_open
    return high is None or _has_number(low, low_open, high, high_open, kinds, span.step)


def _has_number(
    low: Fraction, low_open: bool, high: Fraction, high_open: bool, kinds: int, step: Fraction
) -> bool:
    """Whether a number of these kinds, a multiple of `step` (0: any), is between the bounds."""
    if low > high or (low == high and (low_open or high_open)):
        return False
    if kinds & DECIMAL and not step:
        return True
    step = step if kinds & DECIMAL else _whole_step(step)
    first = -(-low // step)  # rounded up
    if low_open and first * step == low:
        first += 1
    value = first * step
    return value < high or (value == high and not high_open)
