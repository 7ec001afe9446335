"""The matcher against enumerated texts, and on grammars that break other matchers."""

import itertools
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import MatchCancelled, MatchLimit, MatchLimits, chars, compile_grammar, match_text
from glyphscope.grammar.lark_check import check_lark
from glyphscope.grammar.tree import (
    CharClass,
    Grammar,
    Literal,
    Origin,
    Repeat,
    Rule,
    TokenMatch,
    alt,
    optional,
    repeat,
    seq,
    terminal,
)
from grammar_examples import DIGIT, JSON, made, ref
from grammar_strategies import LETTERS, grammars, language

SIZE = 4
ALL_TEXTS = ["".join(t) for n in range(SIZE + 1) for t in itertools.product(LETTERS, repeat=n)]


@at_most(300)
@given(grammars)
def test_the_matcher_accepts_exactly_what_the_grammar_derives(grammar):
    expected = set(language(grammar, SIZE))
    start = compile_grammar(grammar).start()
    assert {text for text in ALL_TEXTS if start.feed(text).accepted} == expected
    prefixes = {text[:end] for text in expected for end in range(len(text) + 1)}
    assert all(start.feed(prefix).alive for prefix in prefixes)


@pytest.mark.slow
@at_most(300)
@given(grammars, st.text(LETTERS, max_size=6))
def test_the_offered_characters_are_exactly_those_that_may_continue(grammar, text):
    state = compile_grammar(grammar).start()
    for char in text:
        offered = state.next_chars()
        for letter in LETTERS + "d\n":
            inside = any(low <= ord(letter) <= high for low, high in offered)
            assert state.feed(letter).alive == inside
        assert state.accepted or state.next_chars() or not state.alive
        state = state.feed(char)


@at_most(300)
@given(grammars, st.text(LETTERS, max_size=5))
def test_every_valid_prefix_can_be_completed(grammar, text):
    state = compile_grammar(grammar).start().feed(text)
    if not state.alive:
        return
    states, chosen = [state], Random(0)
    for _ in range(300):
        if any(state.accepted for state in states):
            return
        further = [state.feed(char) for state in states for char in LETTERS + "d"]
        alive = [state for state in further if state.alive]
        states = chosen.sample(alive, min(40, len(alive)))
    pytest.fail("no continuation is accepted")


@at_most(300)
@given(grammars, st.text(LETTERS, max_size=8), st.data())
def test_feeding_a_text_in_pieces_changes_nothing(grammar, text, data):
    start = compile_grammar(grammar).start()
    whole, cut, at = start.feed(text), start, 0
    while at < len(text):
        step = data.draw(st.integers(1, 3))
        cut = cut.feed(text[at : at + step])
        at += step
    assert (whole.alive, whole.accepted, whole.failed_at) == (cut.alive, cut.accepted, cut.failed_at)
    assert whole.expected() == cut.expected()
    assert whole.active_rules() == cut.active_rules()


def test_json_is_matched_and_an_error_has_its_place_and_reason():
    text = '{"a": [1, 2.5, {"b": "x\\n"}], "c": nul}'
    report = match_text(JSON, text)
    assert (report.accepted, report.prefix_ok, report.failed_at) == (False, False, len(text) - 1)
    assert report.expected == ('"l"',)
    assert [rule.name for rule in report.rules] == ["root", "value", "object", "member", "value"]
    assert [rule.start for rule in report.rules] == [0, 0, 0, 30, 35]
    assert match_text(JSON, text.replace("nul", "null")).accepted


def test_an_incomplete_text_is_distinguished_from_a_wrong_one():
    report = match_text(JSON, '{"a": tr')
    assert (report.accepted, report.prefix_ok, report.failed_at) == (False, True, None)
    assert report.expected == ('"ue"',)


def test_expected_names_literals_classes_tokens_and_the_end():
    grammar = made(
        root=seq("max=", ref("digits"), optional(alt(" page=", CharClass(chars.of('"'), True), TokenMatch("<think>")))),
        digits=repeat(DIGIT, 1),
    )  # fmt: skip
    start = compile_grammar(grammar).start()
    assert start.expected() == ('"max="',)
    assert start.feed("ma").expected() == ('"x="',)
    assert start.feed("max=").expected() == ("0-9",)
    expected = ("0-9", '" page="', 'any character but "', "token <think>", "end of text")
    assert start.feed("max=1").expected() == expected
    assert start.feed("max=1").expected(limit=2) == ("0-9", "end of text")
    assert start.feed("max=x").expected() == ("0-9",)


def test_active_rules_have_their_place_in_the_schema():
    origin = Origin("search", "/properties/max")
    rules = {
        "root": Rule("root", seq("max=", ref("n"))),
        "n": Rule("n", terminal(repeat(DIGIT, 1, 3)), origin),
    }
    report = match_text(Grammar(rules, "root"), "max=12345")
    assert report.failed_at == 7
    assert report.rules[-1] == ("n", 4, origin)
    assert report.expected == ("end of text",)


def test_states_share_their_past_without_interference():
    base = compile_grammar(JSON).start().feed('{"a": [1')
    first, second = base.feed(", 2]"), base.feed("]}")
    assert first.alive and second.accepted
    assert base.feed("]}").accepted and not first.accepted
    assert first.feed("}").accepted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "char"),
    [
        (alt("", seq("a", ref("root"))), "a"),
        (alt("", seq(ref("root"), "a")), "a"),
        (seq("a", alt(ref("root"), "b", "")), "a"),
        (repeat(seq("a", repeat(seq("b")))), "a"),
        (alt(ref("root"), seq("a", optional(ref("root")))), "a"),
    ],
)
def test_long_lists_of_either_recursion_stay_linear(body, char):
    text = char * 100_000
    state = compile_grammar(made(root=body)).start(MatchLimits(items=0)).feed(text)
    assert state.accepted
    assert len(state.active_rules()) <= 200


STRING = seq('"', repeat(alt(seq("\\", "n"), CharClass(chars.of('"\\'), negated=True)), 0, 1_000_000), '"')


@pytest.mark.parametrize(
    "grammar",
    [made(root=terminal(STRING)), check_lark(r'start: /"(\\n|[^"\\]){0,1000000}"/').grammar],
    ids=["automaton", "longest lexemes"],
)
def test_a_million_characters_of_a_string_with_a_bound_are_read_in_seconds(grammar):
    start, begun = compile_grammar(grammar).start(), process_time()
    assert start.feed('"' + "a" * 500_000 + "\\n" * 1_000 + "b" * 499_000 + '"').accepted
    assert start.feed('"' + "a" * 1_000_001).failed_at == 1_000_001
    assert process_time() - begun < 5


@pytest.mark.slow
def test_deep_nesting_needs_no_stack():
    grammar = made(root=seq("[", optional(ref("root")), "]"))
    state = compile_grammar(grammar).start().feed("[" * 200_000)
    assert set(state.expected()) == {'"["', '"]"'}
    assert state.feed("]" * 199_999).alive
    assert state.feed("]" * 200_000).accepted


@pytest.mark.slow
def test_counted_rules_are_counted():
    grammar = made(root=seq("[", repeat(ref("item"), 0, 5_000), "]"), item=seq(DIGIT, optional(seq(","))))
    start = compile_grammar(grammar).start(MatchLimits(items=0))
    assert start.feed("[" + "1," * 5_000 + "]").accepted
    assert start.feed("[" + "1" * 5_001).failed_at == 5_001
    assert start.feed("[" + "1" * 5_000).expected() == ('","', '"]"')


@pytest.mark.slow
def test_too_many_ways_are_an_error():
    grammar = made(root=alt("a", seq(ref("root"), ref("root"))))
    with pytest.raises(MatchLimit, match="too many ways"):
        compile_grammar(grammar).start(MatchLimits(items=50_000)).feed("a" * 100_000)


def test_a_long_match_can_be_stopped():
    asked = []
    with pytest.raises(MatchCancelled):
        compile_grammar(JSON).start().feed(
            '"' + "a" * 1_000_000, cancel=lambda: asked.append(1) or len(asked) > 3
        )
    assert len(asked) == 4


def test_a_grammar_without_a_text_is_dead_from_the_start():
    state = compile_grammar(made(root=seq("a", ref("root")))).start()
    assert (state.alive, state.accepted, state.failed_at) == (False, False, 0)
    assert state.feed("a").expected() == ()
    assert state.active_rules() == ()


def test_characters_without_a_possible_end_are_not_offered():
    state = compile_grammar(
        made(root=alt("b", seq("a", ref("endless"))), endless=seq("x", ref("endless")))
    ).start()
    assert state.next_chars() == chars.of("b")


def test_a_repetition_with_a_maximum_below_its_minimum_has_no_text():
    assert not compile_grammar(made(root=Repeat(Literal(""), 1, 0))).start().alive


def test_an_undefined_rule_is_named():
    with pytest.raises(GrammarError, match="missing"):
        compile_grammar(made(root=seq("a", ref("missing"))))


def test_tokens_are_matched_by_number_by_name_and_by_what_they_are_not():
    grammar = made(root=seq(alt(TokenMatch(5), TokenMatch("<think>")), repeat(TokenMatch(7, True)), "end"))
    start = compile_grammar(grammar).start()
    assert not start.feed("<think>").alive
    assert start.feed_token(5, "<x>").alive
    thinking = start.feed_token(9, "<think>")
    assert thinking.alive and thinking.position == 7
    assert not thinking.feed_token(7, "en").feed("x").alive
    assert thinking.feed_token(7, "en").feed("d").accepted
    assert thinking.feed_token(8, "some").feed_token(8, "").feed("end").accepted


def test_lone_surrogates_and_controls_are_characters():
    assert match_text(JSON, "\ud800").failed_at == 0
    assert match_text(JSON, '"\x01\uffff"').accepted
    assert match_text(JSON, '"\x00"').failed_at == 1  # llama.cpp cannot read U+0000
