"""The functions and constants of `calculate`, and the bounds on all intermediate numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from glyphscope.errors import ToolError

Number: TypeAlias = Fraction | float
Function: TypeAlias = Callable[[str, Sequence[Number]], Number]

MAX_BITS = 4096
"""The maximum size of a numerator or denominator: 1,233 digits; so each step takes only microseconds."""

CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def bounded(operate: Callable[..., Number], *values: Number) -> Number:
    """The operation's result, if it is a number within bounds. Raises ToolError."""
    try:
        return _bounded(operate(*values))
    except ZeroDivisionError:
        raise ToolError("This divides by zero.") from None
    except OverflowError:
        raise _too_large() from None
    except (ValueError, TypeError):  # TypeError: a complex result, or an operation without complex numbers
        raise ToolError("This has no real result: a root or a logarithm of a number that has none.") from None


def _bounded(value: Any) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _too_large()
        return value
    exact = Fraction(value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS:
        raise _too_large()
    return exact


def power(base: Number, exponent: Number) -> Number:
    """`base ** exponent`, exact if both are exact and the exponent is an integer; never too large. Raises ToolError."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if base in (1, -1):
            return base if exponent.numerator % 2 else Fraction(1)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if base and (bits - 1) * abs(exponent.numerator) > MAX_BITS:
            raise _too_large()
    return bounded(operator.pow, base, exponent)


def _too_large() -> ToolError:
    return ToolError(
        "A number in it is too large.", hint=f"At most {MAX_BITS * 3 // 10:,} digits are supported."
    )


def _whole(name: str, value: Number) -> int:
    if Fraction(value).denominator != 1:
        raise ToolError(f"{name} takes whole numbers.")
    return int(value)


def _exact(
    function: Callable[..., Any],
    least: int = 1,
    most: int = 1,
    convert: Callable[[str, Number], Any] = lambda _name, value: value,
) -> Function:
    """A function of `least` to `most` numbers, each converted by `convert` from the function's name and the number."""

    def call(name: str, values: Sequence[Number]) -> Number:
        _count(name, values, least, most)
        return bounded(lambda *given: function(*(convert(name, value) for value in given)), *values)

    return call


def _inexact(function: Callable[..., float], least: int = 1, most: int = 1) -> Function:
    return _exact(function, least, most, lambda _name, value: float(value))


def _integers(function: Callable[..., int], most: int) -> Function:
    return _exact(function, 1, most, _whole)


def _count(name: str, values: Sequence[Number], least: int, most: int) -> None:
    if not least <= len(values) <= most:
        numbers = f"{least} numbers" if least == most > 1 else f"{least} to {most} numbers"
        words = "one number" if most == 1 else numbers
        raise ToolError(f"{name} takes {words} in its parentheses, not {len(values)}.")


def _sqrt(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _factorial(number: int) -> int:
    if number < 0:
        raise ToolError("factorial takes numbers from 0.")
    if number > 600:
        raise _too_large()
    return math.factorial(number)


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    """Round to that many decimal places, halves away from zero, like the result of a calculation."""
    digits = _whole("round", places)
    if abs(digits) > 30:
        raise ToolError("round takes at most 30 decimal places.")
    scaled = abs(Fraction(value)) * Fraction(10) ** digits
    whole = math.floor(scaled + Fraction(1, 2))
    result = Fraction(whole if value >= 0 else -whole) / Fraction(10) ** digits
    return result if isinstance(value, Fraction) else float(result)


_MANY = 100

FUNCTIONS: dict[str, Function] = {
    "sqrt": _exact(_sqrt),
    "cbrt": _inexact(math.cbrt),
    "pow": _exact(power, 2, 2),
    "abs": _exact(abs),
    "round": _exact(_round, 1, 2),
    "floor": _exact(math.floor),
    "ceil": _exact(math.ceil),
    "trunc": _exact(math.trunc),
    "min": _exact(lambda *values: min(values), 1, _MANY),
    "max": _exact(lambda *values: max(values), 1, _MANY),
    "sum": _exact(lambda *values: sum(values, start=Fraction(0)), 1, _MANY),
    "mean": _exact(lambda *values: sum(values, start=Fraction(0)) / len(values), 1, _MANY),
    "gcd": _integers(math.gcd, _MANY),
    "lcm": _integers(math.lcm, _MANY),
    "factorial": _integers(_factorial, 1),
    "exp": _inexact(math.exp),
    "ln": _inexact(math.log),
    "log": _inexact(math.log, 1, 2),
    "log2": _inexact(math.log2),
    "log10": _inexact(math.log10),
    "sin": _inexact(math.sin),
    "cos": _inexact(math.cos),
    "tan": _inexact(math.tan),
    "asin": _inexact(math.asin),
    "acos": _inexact(math.acos),
    "atan": _inexact(math.atan),
    "atan2": _inexact(math.atan2, 2, 2),
    "sinh": _inexact(math.sinh),
    "cosh": _inexact(math.cosh),
    "tanh": _inexact(math.tanh),
    "hypot": _inexact(math.hypot, 1, _MANY),
    "degrees": _inexact(math.degrees),
    "radians": _inexact(math.radians),
}
