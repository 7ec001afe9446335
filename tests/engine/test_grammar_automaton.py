"""Regular bodies as automata, against enumerated texts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.regular import pattern_node, string_node
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.tree import Alt, CharClass, Intersect, Literal, Repeat, RuleRef, Seq, Terminal
from grammar_strategies import LETTERS, regular_bodies, texts_of

SIZE = 4
ALL_TEXTS = ["".join(t) for n in range(SIZE + 1) for t in itertools.product(LETTERS, repeat=n)]
LOWER = CharClass(((ord("a"), ord("z")),))


def read(automaton, text):
    state = automaton.start
    for index, char in enumerate(text):
        found = [
            target for ranges, target in automaton.moves(state) if chars.intersection(ranges, chars.of(char))
        ]
        after = automaton.after(state, char)
        assert found == ([after] if after else [])
        if after is None:
            return index, None
        state = after
    return len(text), state


def accepts(automaton, text):
    _, state = read(automaton, text)
    return state is not None and state.final


@at_most(300)
@given(regular_bodies)
def test_it_accepts_what_the_body_means_and_nothing_else(body):
    automaton, expected = Automaton.of(body), texts_of(body, SIZE)
    assert {text for text in ALL_TEXTS if accepts(automaton, text)} == expected


@at_most(300)
@given(regular_bodies)
def test_every_state_offered_leads_to_acceptance(body):
    automaton = Automaton.of(body)
    states, waiting = {automaton.start}, [automaton.start]
    sources = {}
    while waiting and len(states) < 300:
        state = waiting.pop()
        moves = automaton.moves(state)
        covered = sorted(r for ranges, _ in moves for r in ranges)
        assert all(a[1] < b[0] for a, b in itertools.pairwise(covered)), "the sets of characters overlap"
        for _, target in moves:
            sources.setdefault(target, set()).add(state)
            if target not in states:
                states.add(target)
                waiting.append(target)
    if waiting:
        return
    live = {state for state in states if state.final}
    todo = list(live)
    while todo:
        for source in sources.get(todo.pop(), ()):
            if source not in live:
                live.add(source)
                todo.append(source)
    assert live >= states - {automaton.start}


@at_most(300)
@given(regular_bodies, st.integers(0, 4), st.integers(0, 9), regular_bodies, st.text(LETTERS, max_size=4))
def test_a_run_of_characters_leads_to_the_state_to_which_they_lead_one_by_one(body, low, more, rest, text):
    automaton = Automaton.of(Seq((Repeat(Alt((Literal(text[:1]), body)), low, low + more), rest)))
    text = text[:1] * 6 + text
    last, end = automaton.run(automaton.start, text, 0, len(text))
    state = automaton.start
    for at in range(end):
        assert not state.final, "another rule may continue here"
        state = automaton.after(state, text[at])
    assert state is last


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        Repeat(LOWER, 0, 10_000),
        Repeat(Repeat(LOWER, 1, 3), 0, 3_500),
        Repeat(Seq((LOWER, Repeat(Literal("."), 0, 1))), 2, 10_000),
        Intersect((Repeat(LOWER, 3, 10_000), pattern_node("^[a-m]+$"))),
        string_node("json", (pattern_node("^[a-z]*$"),), 5, 10_000).body,
    ],
)  # fmt: skip
def test_large_counts_are_counted_not_expanded(body):
    automaton = Automaton.of(body)
    text = "ab" * 5_000
    if isinstance(body, Seq):
        text = f'"{text}"'
    widest, state = 0, automaton.start
    for char in text:
        state = automaton.after(state, char)
        widest = max(widest, len(state.terms))
    assert state.final
    assert widest <= 8
    assert automaton.after(state, "a") is None or isinstance(body.body, Seq | Repeat)


def test_states_of_a_long_text_are_dropped_from_the_cache(monkeypatch):
    monkeypatch.setattr("glyphscope.grammar.regular.automaton.MAX_REMEMBERED", 100)
    automaton = Automaton.of(Repeat(LOWER, 0, 5_000))
    _, state = read(automaton, "a" * 5_000)
    assert state.final
    assert len(automaton._states) < 1_000


@pytest.mark.slow
def test_an_empty_intersection_is_found_empty_also_late():
    lengths = Intersect((Repeat(Literal("ab"), 0, None), Repeat(LOWER, 9_999, 9_999)))
    assert Automaton.of(lengths).moves(Automaton.of(lengths).start) == ()
    inside = Automaton.of(Seq((Literal("x"), Terminal(lengths))))
    assert inside.moves(inside.start) == ()


def test_a_search_without_an_end_is_an_error(monkeypatch):
    monkeypatch.setattr("glyphscope.grammar.regular.automaton.MAX_SEARCH", 500)
    body = Intersect((pattern_node("a[ab]{12}$"), pattern_node("b[ab]{12}$")))
    with pytest.raises(GrammarError, match="intersection"):
        Automaton.of(body)


@pytest.mark.slow
def test_a_body_deeper_than_the_stack_is_read():
    body = Literal("a")
    for _ in range(5_000):
        body = Seq((Repeat(body, 0, 1), Literal("b")))
    automaton = Automaton.of(body)
    assert accepts(automaton, "bbb")
    assert not accepts(automaton, "ba")


def test_a_reference_in_a_lexeme_is_an_error():
    with pytest.raises(GrammarError, match="cannot refer to a rule"):
        Automaton.of(Seq((Literal("a"), RuleRef("x"))))
