"""Numbers within bounds, against plain comparison."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import build_value_grammar
from glyphscope.grammar.regular import fractions_node, integer_node, number_node
from glyphscope.grammar.tree import NEVER
from glyphscope.registry import Range
from glyphscope.validation import ValueValidator
from lark_reader import lark_reader


def between(low=None, high=None, low_open=False, high_open=False):
    return Range(*(None if end is None else Fraction(end) for end in (low, high)), low_open, high_open)


def reader(node):
    return (lambda _text: False) if node == NEVER else lark_reader(node)


integers = st.integers(-30, 30) | st.integers(-(10**6), 10**6) | st.integers(-(10**25), 10**25)
decimals = st.decimals(-1100, 1100, places=2) | st.decimals(-2, 2, places=4) | st.integers(-5, 5).map(Decimal)


@at_most(150)
@given(a=integers, b=integers, others=st.lists(integers, max_size=4))
def test_an_integer_is_accepted_exactly_when_it_is_within(a, b, others):
    low, high = max(min(a, b), -(10**20) + 1), min(max(a, b), 10**20 - 1)
    node = integer_node(low, high)
    if low > high:
        assert node == NEVER
        return
    accepts = reader(node)
    for value in {v + d for v in (a, b, low, high, 0, *others) for d in (-10, -1, 0, 1, 10)}:
        assert accepts(str(value)) == (low <= value <= high), (value, low, high)
    assert not accepts("-0") and not accepts("00") and not accepts("")


@pytest.mark.slow
@at_most(150)
@given(
    low=st.none() | decimals,
    high=st.none() | decimals,
    low_open=st.booleans(),
    high_open=st.booleans(),
    others=st.lists(decimals, max_size=4),
)
def test_a_decimal_is_accepted_exactly_when_it_is_within(low, high, low_open, high_open, others):
    if low is None and high is None:
        return
    node = number_node(between(low, high, low_open, high_open))
    accepts = reader(node)
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
    accepts = reader(number_node(between(None, Decimal(str(bound)), False, True)))
    for digits in range(1, 19):
        text = f"{bound:.{digits}f}"
        if accepts(text):
            assert float(text) < bound


magnitudes = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(1, 10**15 - 1),
    st.integers(-314, 285),
)


@at_most(150)
@given(
    low=st.none() | st.just(Decimal(0)) | magnitudes,
    high=st.none() | magnitudes,
    low_open=st.booleans(),
    high_open=st.booleans(),
    value=magnitudes,
    negative=st.booleans(),
)
@example(
    Decimal("9.8E-15"), Decimal("9E-16"), False, False, Decimal("9.5E-15"), False
)  # there is nothing between them
def test_a_number_of_any_size_is_never_over_a_bound(low, high, low_open, high_open, value, negative):
    if low is None and high is None:
        return
    bounds = between(low, high, low_open, high_open)
    if negative:
        bounds = between(high and -high, None if low is None else -low, high_open, low_open)
    node = number_node(bounds)
    accepts = reader(node)
    sign = "-" if negative else ""
    near = [
        bound * step
        for bound in (low, high)
        if bound
        for step in map(Decimal, ("1", "1.00000000000001", "0.99999999999999", "1.5", "0.5"))
    ]
    for number in (value, *near):
        for text in {
            f"{sign}{number:f}",
            f"{sign}{number:.17g}".replace("e+", "e"),
            f"{sign}{number:.15g}",
            f"{sign}{number:.0f}",
        }:
            if accepts(text):
                read = abs(float(text))
                assert low is None or read > float(low) or (read == float(low) and not low_open), text
                assert high is None or read < float(high) or (read == float(high) and not high_open), text


FAR = [
    (("1e-300", "1e300"), ["1e-300", "2.5e-20", "0.05", "1.55", "3", "123456789012.345", "1e+20", "7.25e299", "1e300"],
     ["0", "-1", "9e-301", "1.1e300", "1e301", "0.1e-5"]),
    (("0", "1e300"), ["0", "0.000123", "1.55", "1e25"], ["-1", "1e-20", "2e300"]),
    (("-1e300", "-1e-300"), ["-1e-300", "-1.55", "-1e300"], ["0", "-2e300", "1.55"]),
    (("0", "1e12"), ["0.00012345", "1.5", "999999999999.99", "1000000000000"], ["1000000000000.1", "1e12"]),
    (("1e-30", "2.5e-20"), ["1e-30", "2.5e-20", "9.99999999999999e-21"], ["2.6e-20", "9e-31", "0", "0.1"]),
    (("0", "1e-20"), ["0", "1e-20", "3.5e-21"], ["1.1e-20", "0.1", "0.00000000000001"]),
    (("1e25", "3e25"), ["1e25", "2.99e25", "10000000000000000000000001"], ["3.1e25", "9e24"]),
]  # fmt: skip


@pytest.mark.parametrize(("ends", "good", "bad"), FAR, ids=[str(row[0]) for row in FAR])
def test_bounds_beyond_plain_decimals_are_enforced(ends, good, bad):
    accepts = reader(number_node(between(*map(Decimal, ends))))
    assert [text for text in good if not accepts(text)] == []
    assert [text for text in bad if accepts(text)] == []


@pytest.mark.parametrize(("ends", "good", "bad"), FAR, ids=[str(row[0]) for row in FAR])
def test_what_a_grammar_writes_within_far_bounds_is_valid_at_every_character(ends, good, bad):
    for text in good:
        validator = ValueValidator({"type": "number", "minimum": float(ends[0]), "maximum": float(ends[1])})
        for char in text:
            validator.feed(char)
        validator.finish()
        assert validator.valid, (text, validator.violations)


@at_most(60)
@given(st.integers(10**24, 10**26), st.integers(0, 10**26) | st.integers(0, 50), st.integers(-60, 60))
def test_long_bounds_are_exact_and_not_nested(low, size, beside):
    high = low + size
    accepts = reader(number_node(between(Decimal(low), Decimal(high))))
    for value in (low, high, low + beside, high + beside, (low + high) // 2):
        assert accepts(str(value)) == (low <= value <= high)


def test_a_range_of_very_large_numbers_is_a_grammar():
    accepts = reader(number_node(between(Decimal(10) ** 20, Decimal(2) * 10**84)))
    assert accepts("1" + "0" * 84) and accepts("1" * 85) and not accepts("21" + "0" * 83)


@pytest.mark.parametrize(
    "high", ["1e15", "1e16", "1e17", "9100000000000000", "1e20", "1e300", "123456789012345678"]
)
def test_a_decimal_that_rounds_to_an_open_bound_is_rejected(high):
    accepts = reader(number_node(between(Decimal(0), Decimal(high), False, True)))
    top = int(Decimal(high))
    for below in range(1, 40):
        for text in (f"{top - below}", f"{top - below}.9", f"{top - 1}.{'9' * below}"):
            assert not accepts(text) or float(text) < float(high), text
    assert accepts("0") and accepts("999.5") and not accepts(str(top))


@pytest.mark.slow
@at_most(40)
@given(low=st.integers(-5000, 5000), size=st.integers(0, 200_000), step=st.integers(2, 70))
def test_multiples_are_the_multiples_within(low, size, step):
    schema = {"type": "integer", "minimum": low, "maximum": low + size, "multipleOf": step}
    try:
        grammar = build_value_grammar(schema, "json")
    except GrammarError as error:
        assert "No value can be valid" in str(error)
        assert not [v for v in range(low, low + size + 1) if v % step == 0]
        return
    if grammar.unenforced:
        assert step > 64
        return
    accepts = lark_reader(grammar)
    for value in [*range(low - step - 1, low + 12 * step), *range(low + size - 2 * step, low + size + step)]:
        assert accepts(str(value)) == (low <= value <= low + size and value % step == 0), (
            value,
            low,
            size,
            step,
        )


@pytest.mark.parametrize(("step", "most_rules"), [(5, 30), (24, 80), (55, 260), (250, 150), (10_000, 30)])
def test_remainders_between_which_further_digits_cannot_distinguish_are_one_rule(step, most_rules):
    bounds = {"minimum": -(10**19), "maximum": 10**19}
    grammar = build_value_grammar({"type": "integer", "multipleOf": step} | bounds, "json")
    assert len(grammar.rules) <= most_rules
    accepts = lark_reader(grammar)
    for near in (0, step, -3 * step, 7 * step, 101 * step, -(10**9) * step, 123_456_789_012 * step):
        for value in {near + off for off in (-step // 2, -10, -5, -1, 0, 1, 5, 10, 100)}:
            assert accepts(str(value)) == (value % step == 0), value


def test_a_number_with_a_step_has_no_exponent():
    plain, free = reader(number_node(between(), decimals=15)), reader(number_node(between()))
    for text in ("0", "7", "-840.5", "0.25", "123456789.5"):
        assert plain(text) and free(text)
    for text in ("1e3", "-840.5e0", "5E-1"):
        assert free(text) and not plain(text)
    assert not plain("01") and not plain("1.")


@pytest.mark.slow
@at_most(60)
@given(
    step=st.sampled_from(["0.1", "0.01", "0.25", "0.5", "0.05", "0.125", "0.0005", "0.02"]),
    low=st.none() | decimals,
    size=st.none() | st.integers(0, 3).map(Decimal) | st.decimals(0, 1, places=3),
    opens=st.tuples(st.booleans(), st.booleans()),
    others=st.lists(decimals, max_size=4),
)
def test_a_multiple_of_a_fraction_is_accepted_exactly_when_it_is_within(step, low, size, opens, others):
    high = None if low is None or size is None else low + size
    node = fractions_node(between(low, high, *opens), Fraction(step))
    accepts = reader(node)
    near = [v for v in (low, high, *others) if v is not None]
    for value in {v // 1 + Decimal(step) * k for v in near for k in range(-5, 50)} | set(near):
        within = (low is None or value > low or (value == low and not opens[0])) and (
            high is None or value < high or (value == high and not opens[1])
        )
        text = f"{value.normalize():f}" if value else "0"
        assert accepts(text) == (within and not Fraction(value) % Fraction(step)), (text, low, high)


@pytest.mark.parametrize("step", ["0.3", "1.5", "0.0000000001024"])
def test_a_step_with_too_many_endings_is_reported(step):
    assert fractions_node(between(), Fraction(step)) is None
