"""Values as JavaScript prints them (ECMA-262), for files of programs that are written in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_EXACT = 2**53
"""Integers up to here are exact; JavaScript has no other numbers than doubles."""


def js_number(value: int | float) -> int | float:
    """The number as JavaScript has it: rounded to a double; infinity if it is too large."""
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return value
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def js_text(value: Any) -> str:
    """`String(value)`."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_text(value)
        case list():
            return ",".join("" if each is None else js_text(each) for each in value)
    return "[object Object]"


def js_json(value: Any, indent: int = 0) -> str:
    """`JSON.stringify(value, null, indent)`."""
    return "".join(_json(value, indent, "\n"))


def _json(value: Any, indent: int, line: str) -> Iterator[str]:
    inner = line + " " * indent
    start, between, end = (inner, f",{inner}", line) if indent else ("", ",", "")
    if isinstance(value, dict) and value:
        for number, (key, each) in enumerate(value.items()):
            yield f"{between if number else '{' + start}{_quoted(key)}:{' ' if indent else ''}"
            yield from _json(each, indent, inner)
        yield f"{end}}}"
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield between if number else f"[{start}"
            yield from _json(each, indent, inner)
        yield f"{end}]"
    elif isinstance(value, str):
        yield _quoted(value)
    else:
        yield "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else js_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number_text(value: int | float) -> str:
    """The shortest digits that are this double, with an exponent from 1e21 and up to 1e-7."""
    number = js_number(value)
    if isinstance(number, int):
        return str(number)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    sign, digits_, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digits_))
    if digits == "0":
        return "0"
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{text}" if sign else text
