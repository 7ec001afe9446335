"""Numbers within bounds, against plain comparison."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from examples import at_most
from glyphscope.grammar.lark import to_lark
from glyphscope.grammar.lexemes import lexeme
from glyphscope.grammar.numbers import Bounds, integer_node, multiples_node, number_node
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.tree import NEVER

TOKENIZER = LLTokenizer("byte")


def reader(node):
    template = LLMatcher(TOKENIZER, LLMatcher.grammar_from_lark(f"start: T\nT: {lexeme(node)}"), log_level=0)

    def accepts(text):
        matcher = template.deep_copy()
        return matcher.try_consume_tokens(list(text.encode())) == len(text) and matcher.is_accepting()

    return accepts


integers = st.integers(-30, 30) | st.integers(-(10**6), 10**6) | st.integers(-(10**25), 10**25)
decimals = st.decimals(-1100, 1100, places=2) | st.decimals(-2, 2, places=4) | st.integers(-5, 5).map(Decimal)


@at_most(150)
@given(a=integers, b=integers, others=st.lists(integers, max_size=4))
def test_an_integer_passes_exactly_when_it_is_within(a, b, others):
    low, high = max(min(a, b), -(10**20) + 1), min(max(a, b), 10**20 - 1)
    node = integer_node(low, high)
    if low > high:
        assert node == NEVER
        return
    accepts = reader(node)
    for value in {v + d for v in (a, b, low, high, 0, *others) for d in (-10, -1, 0, 1, 10)}:
        assert accepts(str(value)) == (low <= value <= high), (value, low, high)
    assert not accepts("-0") and not accepts("00") and not accepts("")


@at_most(150)
@given(
    low=st.none() | decimals,
    high=st.none() | decimals,
    low_open=st.booleans(),
    high_open=st.booleans(),
    others=st.lists(decimals, max_size=4),
)
def test_a_decimal_passes_exactly_when_it_is_within(low, high, low_open, high_open, others):
    if low is None and high is None:
        return
    node = number_node(Bounds(low, high, low_open, high_open))
    accepts = (lambda text: False) if node == NEVER else reader(node)
    steps = [Decimal(s) for s in ("0", "0.1", "0.0001", "0.05", "1", "10")]
    near = [
        v + sign * step for v in (low, high, *others) if v is not None for step in steps for sign in (1, -1)
    ]
    for value in [*near, Decimal(0)]:
        within = (low is None or value > low or (value == low and not low_open)) and (
            high is None or value < high or (value == high and not high_open)
        )
        text = f"{value:f}" if value else "0"
        assert accepts(text) == within, (text, low, high, low_open, high_open)
        if "." in text:
            assert accepts(text + "0") == within and accepts(text.rstrip("0").rstrip(".")) == within


@pytest.mark.parametrize("bound", [0.1 + 0.2, 1e-9, 1.7976931348623157e308, 123456789.123456789, 5e-324])
def test_no_decimal_near_a_bound_is_rounded_over_it(bound):
    accepts = reader(number_node(Bounds(None, Decimal(str(bound)), False, True)))
    for digits in range(1, 19):
        text = f"{bound:.{digits}f}"
        if accepts(text):
            assert float(text) < bound


@at_most(40)
@given(low=st.integers(-5000, 5000), size=st.integers(0, 200_000), step=st.integers(2, 70))
def test_multiples_are_the_multiples_within(low, size, step):
    book = RuleBook()
    node = multiples_node(low, low + size, step, book.shared)
    if node is None:
        assert step > 64
        return
    if node == NEVER:
        assert not [v for v in range(low, low + size + 1) if v % step == 0]
        return
    book.add("call", node)
    lark = to_lark(book.grammar("call", ()))
    template = LLMatcher(TOKENIZER, LLMatcher.grammar_from_lark(lark), log_level=0)
    for value in [*range(low - step - 1, low + 12 * step), *range(low + size - 2 * step, low + size + step)]:
        matcher = template.deep_copy()
        text = str(value).encode()
        accepted = matcher.try_consume_tokens(list(text)) == len(text) and matcher.is_accepting()
        assert accepted == (low <= value <= low + size and value % step == 0), (value, low, size, step)


def test_a_number_that_a_step_binds_is_written_with_an_exponent():
    plain, free = reader(number_node(Bounds(), stepped=True)), reader(number_node(Bounds()))
    for text in ("0", "7", "-840.5", "0.25", "123456789.5"):
        assert plain(text) and free(text)
    for text in ("1e3", "-840.5e0", "5E-1"):
        assert free(text) and not plain(text)
    assert not plain("01") and not plain("1.")
