"""Changes between two prompts and the place where the cache was lost: exactly as the events show."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import PromptEvaluated, PromptPart, PromptRendered
from glyphscope.prompting.changes import advice, cache_loss, loss_words, prompt_changes

TOKENS = st.lists(st.sampled_from(["a", "b", " c", "", "☂", "de"]), max_size=14)


def prompt(tokens, cached=0, parts=(), counted=True):
    if isinstance(tokens, str):
        tokens = list(tokens)
    return PromptRendered(
        text="".join(tokens),
        tokens=len(tokens),
        cached=cached,
        parts=parts,
        lengths=tuple(map(len, tokens)) if counted else (),
    )


def read(done, ms=120.0):
    return PromptEvaluated(done=done, total=done, ms=ms)


@given(one=TOKENS, other=TOKENS, counted=st.booleans())
@at_most(100)
def test_a_difference_leads_from_one_prompt_to_the_other(one, other, counted):
    before, after = prompt(one, counted=counted), prompt(other, counted=counted)
    pieces = prompt_changes(before, after).pieces
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before.text
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after.text
    for piece in pieces:
        where = before if piece.kind == "removed" else after
        assert where.text[piece.start : piece.start + len(piece.text)] == piece.text
    if counted:
        changes = prompt_changes(before, after)
        assert changes.tokens("same") + changes.tokens("removed") == before.tokens
        assert changes.tokens("same") + changes.tokens("added") == after.tokens
        assert changes.is_same == (one == other)


@given(one=TOKENS, other=TOKENS)
@at_most(60)
def test_a_difference_is_as_short_as_possible(one, other):
    changes = prompt_changes(prompt(one), prompt(other))
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            longest[i + 1][j + 1] = longest[i][j] + 1 if a == b else max(longest[i][j + 1], longest[i + 1][j])
    assert changes.tokens("same") == longest[-1][-1]


def test_two_prompts_with_nothing_in_common_are_compared_in_bounded_time():
    one, other = ["a"] * 20_000, ["b"] * 20_000
    changes = prompt_changes(prompt(["x", *one, "z"]), prompt(["x", *other, "z"]))
    assert [piece.kind for piece in changes.pieces] == ["same", "removed", "added", "same"]


def test_without_tokens_words_are_compared_and_no_number_is_given():
    changes = prompt_changes(prompt("one two", counted=False), prompt("one three", counted=False))
    assert [(piece.kind, piece.text) for piece in changes.pieces] == [
        ("same", "one"),
        ("removed", " two"),
        ("added", " three"),
    ]
    assert changes.tokens("added") is None


PARTS = (PromptPart("system", 0, 2, 2), PromptPart("tools", 2, 22, 20, "/t"), PromptPart("user", 22, 24, 2))
BEFORE = prompt("ab" + "t" * 20 + "uv", parts=PARTS)


def test_the_cache_ends_where_the_prompts_differ_and_its_cost_is_the_runs():
    after = prompt("aX" + "t" * 20 + "uv", cached=1, parts=PARTS)
    loss = cache_loss(after, read(24), BEFORE)
    assert (loss.token, loss.again, loss.ms, loss.char, loss.why) == (1, 23, 120.0, 1, "changed")
    assert (loss.before, loss.after[:3], loss.part.name) == ("a", "Xtt", "system")
    assert (loss.common, loss.unchanged) == (1, 22)
    assert (
        loss_words(loss)
        == "From token 1 on: 23 tokens were read in 120 ms. There it differs from the previous prompt."
    )
    assert any("22 tokens behind it" in words for words in advice(after, loss))


@pytest.mark.parametrize(
    ("cached", "why", "words"),
    [
        (23, "kept", "All of it"),
        (5, "less", "not all of it was in the cache"),
        (0, "less", "Nothing was in the cache"),
    ],
)
def test_a_cache_that_ends_elsewhere_is_not_attributed_to_the_change(cached, why, words):
    after = prompt("ab" + "t" * 20 + "uX", cached=cached, parts=PARTS)
    loss = cache_loss(after, read(24), BEFORE)
    assert loss.why == why and words in loss_words(loss)
    assert not advice(after, loss)


def test_a_cache_longer_than_the_previous_prompt_is_not_explained_by_it():
    after = prompt("ax" + "t" * 20 + "uv", cached=9, parts=PARTS)
    loss = cache_loss(after, read(24), BEFORE)
    assert loss.why == "more" and "(1)" in loss_words(loss) and not advice(after, loss)


def test_unknown_figures_are_left_out():
    unknown = prompt("abc", cached=1, counted=False)
    loss = cache_loss(unknown, None, BEFORE)
    assert (loss.char, loss.part, loss.why, loss.unchanged, loss.ms) == (None, None, "unknown", None, None)
    assert loss_words(loss) == "From token 1 on: 2 tokens were read."
    assert "before" not in loss_words(cache_loss(prompt("abc"), read(3), None))
    endpoint = PromptRendered(text="abc", tokens=0, cached=0)
    assert cache_loss(endpoint, None, None) is None
    first = cache_loss(prompt("abc"), read(3), None, first=True)
    assert first.why == "first" and "No prompt was read before" in loss_words(first)


def test_advice_is_given_only_where_the_users_text_precedes_unchanged_parts():
    ahead = (PromptPart("user", 0, 2, 2), PromptPart("tools", 2, 22, 20), PromptPart("template", 22, 24, 2))
    assert advice(prompt("uv" + "t" * 22, parts=ahead)) == (
        "The user's text comes before the parts that stay the same: every change of it re-reads 20 tokens "
        "of system message, tools and examples behind it.",
    )
    assert advice(BEFORE) == ()


@given(one=TOKENS, other=TOKENS, cached=st.integers(0, 14))
@at_most(60)
def test_the_figures_of_a_loss_add_up(one, other, cached):
    after = prompt(other, cached=min(cached, len(other)))
    loss = cache_loss(after, None, prompt(one))
    if loss is None:
        return
    assert loss.token + loss.again == after.tokens
    if loss.char is not None:
        ends = [0, *accumulate(after.lengths)]
        assert loss.char == ends[loss.token]
    assert loss.unchanged is None or 0 <= loss.unchanged <= loss.again
