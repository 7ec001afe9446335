"""The calculator: Python's arithmetic where it is exact, bounded everywhere, and a message for every error."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import ToolError
from glyphscope.tools.demo import MAX_CHARACTERS, MAX_DEPTH, calculate, evaluate

numbers = st.one_of(
    st.integers(0, 10**6).map(str),
    st.decimals(0, 1000, places=3).map(str),
    st.sampled_from(["0", "1", "2", ".5", "5.", "1e3", "25E-2", "0.1"]),
)
gaps = st.sampled_from(["", " ", "  "])


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%"])
    return st.one_of(
        st.tuples(inner, gaps, operators, gaps, inner).map("".join),
        st.tuples(st.sampled_from("+-"), gaps, inner).map("".join),
        inner.map(lambda text: f"({text})"),
        st.tuples(inner, st.sampled_from(["**2", " ** 3", "**-1", "**0", "**-2**2", "**2**1"])).map("".join),
    )


expressions = st.recursive(numbers, _wider, max_leaves=12)


def pythons_own(expression: str) -> Any:
    """Return Python's value of the text, each number in it being a fraction."""
    literal = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
    text = literal.sub(lambda m: f"Fraction('{'0' * m[0].startswith('.')}{m[0].rstrip('.')}')", expression)
    return eval(text, {"Fraction": Fraction, "__builtins__": {}})


@at_most(300)
@given(expressions)
def test_a_value_equals_pythons_own(expression: str) -> None:
    assume(len(expression) <= MAX_CHARACTERS)
    try:
        ours: Any = evaluate(expression)
    except ToolError as error:
        if "divides by zero" in error.message:
            with pytest.raises(ZeroDivisionError):
                pythons_own(expression)
            return
        assume("too large" not in error.message and "nested" not in error.message)
        raise
    assert ours == pythons_own(expression)


@at_most(300)
@given(st.fractions(max_denominator=10**6), st.integers(0, 15))
def test_a_rounded_result_is_the_nearest(value: Fraction, places: int) -> None:
    text = calculate(f"{value.numerator} / {value.denominator}", places).text
    assert len(text.partition(".")[2]) == places
    distance = abs(Fraction(text) - value)
    assert distance * 2 * 10**places <= 1
    if distance * 2 * 10**places == 1:
        assert abs(Fraction(text)) > abs(value), "halves go away from zero"


@at_most(300)
@given(st.floats(-50, 50, allow_nan=False), st.sampled_from(["sin", "cos", "exp", "atan", "tanh", "cbrt"]))
def test_a_function_equals_the_one_of_math(value: float, name: str) -> None:
    expected = getattr(math, name)(float(Fraction(repr(value)) if "e" not in repr(value) else value))
    assert float(evaluate(f"{name}({value!r})")) == expected


@at_most(300)
@given(st.text(alphabet="0123456789.+-*/%(),^ eEpisqrtnx_$\x00é×", max_size=60))
def test_any_text_is_a_result_or_a_tool_error(text: str) -> None:
    try:
        result = calculate(text, 3)
    except ToolError as error:
        assert error.message
    else:
        assert re.fullmatch(r"-?\d+\.\d{3}", result.text)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("15 * 230 / 100", "34.5"),
        ("0.1 + 0.2", "0.3"),
        ("1/3", "0.333333333333333"),
        ("-2**2", "-4"),
        ("2**3**2", "512"),
        ("2^10", "1024"),
        ("6 × 7 − 2 ÷ 4", "41.5"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("sqrt(16) + sqrt(1/4)", "4.5"),
        ("2 * PI", "6.28318530717959"),
        ("log(8, 2)", "3"),
        ("max(1, 2.5, -3)", "2.5"),
        ("round(2.5) + round(-2.675, 2)", "0.32"),
        ("factorial(20)", "2432902008176640000"),
        ("(-1) ** (10**300)", "1"),
        ("0 ** 0", "1"),
    ],
)
def test_a_result_has_its_shortest_form(expression: str, text: str) -> None:
    assert calculate(expression).text == text


def test_a_result_beyond_json_numbers_keeps_its_digits() -> None:
    assert calculate("2**53").value == 2**53
    assert calculate("2**53 + 1").value == "9007199254740993"
    assert calculate("34.5", 2) == calculate("69/2", 2)
    assert calculate("1/3").exact is False
    assert calculate("34.5").exact is True
    assert calculate("pi", 3).exact is False


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("9**9**9", "too large"),
        ("9" * 900 + "*" + "9" * 90 + "**9", "too large"),
        ("10**-99999999999", "too large"),
        ("1e999999999", "too large or too small"),
        ("2**0.5**-9999", "too large"),
        ("factorial(1e9)", "too large"),
        ("exp(1e5)", "too large"),
        ("(" * 10_000_000, "10,000,000 characters"),
        ("(" * 500, f"more than {MAX_DEPTH} levels"),
        ("-" * 500 + "1", f"more than {MAX_DEPTH} levels"),
        ("2**" * 300 + "2", f"more than {MAX_DEPTH} levels"),
        ("1/0", "divides by zero"),
        ("1 % 0", "divides by zero"),
        ("0 ** -1", "divides by zero"),
        ("sqrt(-1)", "no real result"),
        ("(-8) ** (1/3)", "no real result"),
        ("log(0)", "no real result"),
        ("gcd(1.5, 2)", "whole numbers"),
        ("sqrt(1, 2)", "takes one number"),
        ("min()", "is not allowed at"),
        ("", "empty"),
        (" \n ", "empty"),
        ("2 +", "a number is missing"),
        ("(2", "closing parenthesis"),
        ("1,000 + 1", "thousands separators"),
        ("2 (3)", "Write * between"),
        ("15% of 230", "15 / 100 * 230"),
        ("$5", "currency"),
        ("x + 1", "not a known name"),
        ("__import__('os')", "not part"),
        ("__import__(1)", "no function __import__"),
        ("sqrt", "write sqrt(…)"),
        ("open(1)", "no function open"),
        ("1\x002", "not part"),
        ("٣ + 1", "not part"),
    ],
    ids=lambda text: text[:40],
)
def test_an_error_of_an_expression_is_explained(expression: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        calculate(expression)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600
