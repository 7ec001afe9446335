"""Bounds of length inside a pattern: the same strings as an intersection, or no bound at all."""

from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.grammar.regular import pattern_node, within_lengths
from glyphscope.grammar.tree import CharClass, Intersect
from grammar_strategies import regular_bodies, texts_of

SIZE = 6


@at_most(300)
@given(body=regular_bodies, low=st.integers(0, 4), more=st.none() | st.integers(-1, 3))
def test_the_remaining_strings_have_the_requested_lengths(body, low, more):
    high = None if more is None else low + more
    bounded = within_lengths(body, low, high)
    if bounded is not None:
        expected = {t for t in texts_of(body, SIZE) if low <= len(t) <= (SIZE if high is None else high)}
        assert texts_of(bounded, SIZE) == expected


def test_common_patterns_with_lengths_need_no_intersection():
    for pattern in (
        "^[a-z]+$",
        "^[A-Za-z0-9_-]*$",
        "^[a-z][a-z0-9_]*$",
        "^v[0-9]+[.]x$",
        "^(?:[a-z]+|[0-9]+)$",
        "^https://",
    ):
        bounded = within_lengths(pattern_node(pattern), 3, 64)
        assert bounded is not None and not isinstance(bounded, Intersect | CharClass)
    assert within_lengths(pattern_node("^[a-z]+-[a-z]+$"), 3, 64) is None
