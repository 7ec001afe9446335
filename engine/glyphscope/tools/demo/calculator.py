"""Arithmetic with a small parser, without `eval`: exact if possible, and bounded for any input.

    sum     = product (("+" | "-") product)*
    product = unary (("*" | "/" | "//" | "%") unary)*
    unary   = ("-" | "+") unary | power
    power   = atom ("**" unary)?
    atom    = number | constant | function "(" sum ("," sum)* ")" | "(" sum ")"

Precedence and the signs of `//` and `%` are the same as in Python. `^ × ÷ · −` are read as `** * / * -`. Literal
numbers are fractions, so 0.1 + 0.2 is 0.3; roots, logarithms, angles and fractional exponents convert them to floats.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from glyphscope.base.errors import ToolError

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


MAX_CHARACTERS = 1000
MAX_DEPTH = 40
"""The maximum nesting of brackets, signs and exponents; each costs a few Python frames."""

_DIGITS = 15
"""The significant digits of an inexact result, which every float has."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>\*\*|//|[-+*/%(),]))"
)
_SIGNS = str.maketrans({"×": "*", "÷": "/", "·": "*", "−": "-"})
_Operators: TypeAlias = dict[str, Callable[[Number, Number], Number]]
_SUMS: _Operators = {"+": operator.add, "-": operator.sub}
_PRODUCTS: _Operators = {
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}

_Token: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True)
class Calculation:
    """A result in digits; `value` is the number if JSON preserves it; `exact` unless something was rounded."""

    text: str
    value: int | float | str
    exact: bool


def calculate(expression: str, precision: int | None = None) -> Calculation:
    """The value of `expression`; with `precision` (0 to 15), exactly that many decimal places, halves away from zero.

    Raises ToolError for an invalid expression, a division by zero, no real result, or a result beyond the bounds.
    """
    result = evaluate(expression)
    try:
        return _decimal(result) if precision is None else _rounded(result, precision)
    except OverflowError:
        raise ToolError("The result is too large to be written in digits.") from None


def evaluate(expression: str) -> Number:
    """The value itself: a fraction as long as all operations are exact. Raises ToolError like `calculate`."""
    if len(expression) > MAX_CHARACTERS:
        raise ToolError(
            f"The expression has {len(expression):,} characters; at most {MAX_CHARACTERS:,} are read."
        )
    return _Parser(expression.translate(_SIGNS).replace("^", "**")).whole()


class _Parser:
    """Parses the tokens in one pass; every value is computed as soon as it is read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Number:
        if self._tokens[0][0] == "end":
            raise ToolError("The expression is empty.", hint="Write one such as 15 * 230 / 100.")
        value = self._sum()
        if self._here[0] != "end":
            raise self._unexpected()
        return value

    @property
    def _here(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *signs: str) -> str:
        kind, text, _ = self._here
        if kind != "sign" or text not in signs:
            return ""
        self._at += 1
        return text

    def _sum(self) -> Number:
        return self._left_to_right(_SUMS, self._product)

    def _product(self) -> Number:
        return self._left_to_right(_PRODUCTS, self._unary)

    def _left_to_right(self, operators: _Operators, operand: Callable[[], Number]) -> Number:
        value = operand()
        while sign := self._take(*operators):
            value = bounded(operators[sign], value, operand())
        return value

    def _unary(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ToolError(f"The expression is nested more than {MAX_DEPTH} levels deep.")
        sign = self._take("-", "+")
        value = self._unary() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Number:
        value = self._atom()
        return power(value, self._unary()) if self._take("**") else value

    def _atom(self) -> Number:
        kind, text, _ = self._here
        if kind == "number":
            self._at += 1
            return _number(text)
        if kind == "name":
            self._at += 1
            return self._named(text)
        if not self._take("("):
            raise self._unexpected()
        value = self._sum()
        self._close()
        return value

    def _named(self, name: str) -> Number:
        function = FUNCTIONS.get(name.lower())
        if self._take("("):
            if function is None:
                raise ToolError(
                    f"There is no function {name[:40]}.", hint=f"There are {', '.join(FUNCTIONS)}."
                )
            values: list[Number] = []
            while not values or self._take(","):
                values.append(self._sum())
            self._close()
            return function(name.lower(), values)
        if function is not None:
            raise ToolError(f"{name} is a function: write {name}(…).")
        constant = CONSTANTS.get(name.lower())
        if name.lower() == "of":
            raise ToolError('"of" is not an operator.', hint="15% of 230 is 15 / 100 * 230.")
        if constant is None:
            raise ToolError(
                f"{name[:40]!r} is not a known name.",
                hint=f"Write numbers, the constants {', '.join(CONSTANTS)}, or functions such as sqrt(2).",
            )
        return constant

    def _close(self) -> None:
        if not self._take(")"):
            raise self._unexpected()

    def _unexpected(self) -> ToolError:
        kind, text, at = self._here
        before = self._tokens[self._at - 1] if self._at else ("", "", 0)
        if kind == "end":
            missing = "a closing parenthesis" if before[0] != "sign" or before[1] == ")" else "a number"
            return ToolError(f"The expression ends too early: {missing} is missing.")
        hint = ""
        if text == "," and before[0] == "number":
            hint = "Write numbers without thousands separators: 1000 for 1,000."
        elif before[0] in ("number", "name") or before[1] == ")":
            if kind in ("number", "name") or text == "(":
                hint = "Write * between what is multiplied; 15% of 230 is 15 / 100 * 230."
        elif before[1] == "%":
            hint = "% is the remainder of a division; a percentage is 15 / 100."
        return ToolError(f"{text[:40]!r} is not allowed at character {at + 1} of the expression.", hint=hint)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            hint = "Leave currency signs, = and words out." if text[at] in "$€£=" else ""
            raise ToolError(f"{text[at]!r} at character {at + 1} is not part of an expression.", hint=hint)
        kind = match.lastgroup or ""
        found.append((kind, match[kind], match.start(kind)))
        at = match.end()
    return [*found, ("end", "", end)]


def _number(text: str) -> Number:
    exponent = text.lower().partition("e")[2] or "0"
    if len(exponent) > 5 or abs(int(exponent)) > 400:
        raise ToolError(f"The number {text[:40]} is too large or too small.", hint="Exponents go to 400.")
    return Fraction(text)


def _decimal(result: Number) -> Calculation:
    """All digits if their number is finite and not too large; otherwise 15 significant digits."""
    if isinstance(result, float):
        text = _plain(result)
        return Calculation(text, _json_number(text, result), False)
    if result.denominator == 1:
        text = str(result.numerator)
        return Calculation(text, _json_number(text, result), True)
    places = _places(result.denominator)
    if places is not None and places <= 2 * _DIGITS:
        text = _fixed(result, places)
        return Calculation(text, float(result), True)
    text = _plain(float(result))
    return Calculation(text, float(text), False)


def _rounded(result: Number, precision: int) -> Calculation:
    exact = Fraction(result)
    text = _fixed(exact, precision)
    return Calculation(
        text, _json_number(text, Fraction(text)), isinstance(result, Fraction) and Fraction(text) == exact
    )


def _fixed(value: Fraction, places: int) -> str:
    """The digits of `value` with that many decimal places; halves are rounded away from zero, as taught at school."""
    scaled = abs(value) * 10**places
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(whole).rjust(places + 1, "0")
    sign = "-" if value < 0 and whole else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _places(denominator: int) -> int | None:
    """The number of decimal places of 1/denominator; None if it is infinite."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _plain(value: float) -> str:
    text = format(value, f".{_DIGITS}g")
    return "0" if text == "-0" else text


def _json_number(text: str, value: Number) -> int | float | str:
    """A number that JSON readers preserve exactly (integers up to 2**53 and floats); others become a text of digits."""
    if isinstance(value, float):
        return float(text)
    if value.denominator != 1:
        return float(value)
    return int(value) if abs(value) <= 2**53 else text
