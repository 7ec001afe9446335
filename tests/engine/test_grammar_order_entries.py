"""Entries in any order by themselves, against every text: mask, matcher, GBNF and samples."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.grammar import covering_texts, match_text, sample_texts
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.grammar.tree import NEVER, Grammar, Literal, Node, Rule, Unordered, seq, unordered
from lark_reader import lark_reader

LETTERS = "abcd"


@st.composite
def entries(draw: st.DrawFn) -> tuple[Node, frozenset[str]]:
    """An `Unordered` over letters, and its texts of up to five entries, enumerated."""
    members = [(Literal(letter), draw(st.booleans())) for letter in LETTERS[: draw(st.integers(1, 4))]]
    free = Literal("x") if draw(st.booleans()) else NEVER
    low = draw(st.integers(0, 3))
    high = draw(st.none() | st.integers(0, 4))
    leading = draw(st.booleans())
    node = unordered(members, Literal(","), free, low=low, high=high, leading=leading)
    letters = [letter for letter, _ in members]
    texts = set()
    for count in range(6):
        for chosen in itertools.product([letter.text for letter in letters] + ["x"], repeat=count):
            named = [letter for letter in chosen if letter != "x"]
            right = (
                len(named) == len(set(named))
                and (free != NEVER or len(named) == count)
                and all(letter.text in named for letter, required in members if required)
                and low <= count
                and (high is None or count <= high)
            )
            if right:
                texts.add("".join(f",{letter}" for letter in chosen)[0 if leading else 1 :])
    return node, frozenset(texts)


def longest(text: str) -> int:
    return text.count(",") + 1


@at_most(150)
@given(entries(), st.data())
def test_entries_are_accepted_in_every_order_and_no_other_text_is(
    made: tuple[Node, frozenset[str]], data: st.DataObject
) -> None:
    node, texts = made
    if node == NEVER:
        assert not texts
        return
    grammar = Grammar({"root": Rule("root", seq("<", node, ">"))}, "root", lexed=True)
    mask = lark_reader(grammar)
    emitted = emit_gbnf(grammar)
    plain = load_gbnf(emitted.text)
    several = isinstance(node, Unordered) and (node.counted + 1) << len(node.members) > 16
    assert not emitted.unenforced or several, "enumerated entries are counted"
    tried = {*texts, *("".join(data.draw(st.lists(st.sampled_from("abcdx,"), max_size=7))) for _ in range(5))}
    for text in sorted(tried, key=lambda text: (len(text), text))[:150]:
        whole, right = f"<{text}>", text in texts
        report = match_text(grammar, whole)
        assert report.accepted == mask(whole) == right, text
        assert match_text(plain, whole).accepted <= right or emitted.unenforced, text
        if not several and longest(text) < 6:
            assert match_text(plain, whole).accepted == right, text
        if report.failed_at is not None:
            begun = whole[: report.failed_at]
            assert any(f"<{one}>".startswith(begun) for one in texts), text
            assert not any(f"<{one}>".startswith(whole[: report.failed_at + 1]) for one in texts), text
    for text in (*sample_texts(grammar, 20), *covering_texts(grammar)):
        assert match_text(grammar, text).accepted
        assert mask(text)
    best = min(texts, key=len)
    assert len(covering_texts(grammar)[0]) == len(best) + 2, "the first one is a shortest"
