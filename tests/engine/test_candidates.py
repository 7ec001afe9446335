"""Known names in a prompt: their places, their similarity, and the cost of a hostile list of them."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.runs.strategies.routing.candidates import MAX_CANDIDATES, find_candidates

NAMES = {
    "item": ("Gjallarhorn", "Ace of Spades", "Osteo Striga", "Hunter's Trance", "1-Up"),
    "perk": ("Outlaw", "Rampage", "Hunter's Trance"),
    "activity": ("The Crucible", "Gambit", "Vault of Glass"),
}


def found(prompt: str) -> list[tuple[str, str, str]]:
    return [(one.name, one.kind, one.text) for one in find_candidates(prompt, NAMES)]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("what can Gjallarhorn roll with", [("Gjallarhorn", "item", "Gjallarhorn")]),
        ("what can gjalahorn roll with", [("Gjallarhorn", "item", "gjalahorn")]),
        ("does gjallar horn drop", [("Gjallarhorn", "item", "gjallar horn")]),
        ("the Gjallarhorn's rolls", [("Gjallarhorn", "item", "Gjallarhorn's")]),
        ("is the ace of spade good?", [("Ace of Spades", "item", "ace of spade")]),
        ("explain crucible", [("The Crucible", "activity", "crucible")]),
        ("explain the crucible", [("The Crucible", "activity", "the crucible")]),
        ("get a 1-up", [("1-Up", "item", "1-up")]),
        ("how do surge mods work", []),
        ("a gamble", []),
        ("", []),
    ],
)
def test_a_name_is_found_also_when_misspelt(prompt: str, names: list[tuple[str, str, str]]) -> None:
    assert found(prompt) == names


def test_a_name_known_under_two_kinds_is_listed_under_both() -> None:
    assert found("hunters trance")[:2] == [
        ("Hunter's Trance", "item", "hunters trance"),
        ("Hunter's Trance", "perk", "hunters trance"),
    ]


def test_the_best_candidates_come_first_and_never_overlap() -> None:
    candidates = find_candidates("rampge and vault of glas with outlaw", NAMES)
    assert [one.name for one in candidates] == ["Outlaw", "Vault of Glass", "Rampage"]
    assert [one.score for one in candidates] == sorted((one.score for one in candidates), reverse=True)
    spans = sorted((one.start, one.end) for one in candidates)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.slow
@at_most(300)
@given(st.text(st.sampled_from("abc' -Gjalhorn."), max_size=60), st.lists(st.text(max_size=12), max_size=6))
def test_any_prompt_and_names_give_spans_of_the_prompt(prompt: str, names: list[str]) -> None:
    known = {"thing": tuple(names), "item": ("Gjallarhorn",)}
    candidates = find_candidates(prompt, known)
    assert candidates == find_candidates(prompt, known)
    for one in candidates:
        assert prompt[one.start : one.end] == one.text
        assert one.name in known[one.kind]
        assert 0 <= one.score <= 100


@pytest.mark.slow
def test_candidates_in_a_long_prompt_are_limited() -> None:
    drawn = random.Random(1)
    word = lambda: "".join(drawn.choice("abcdefgh") for _ in range(7))  # noqa: E731
    names = {"thing": tuple(f"{word()} {word()}" for _ in range(20_000))}
    prompt = " ".join(names["thing"][-40:]) + " " + " ".join(word() for _ in range(50_000))
    assert len(find_candidates(prompt, names)) == MAX_CANDIDATES
