"""Under a mask with a budget an answer never ends cut off, and where there is room nothing changes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from budgeted import Words, budget_of, least, random_words, run
from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import build_value_grammar, lark_rules, pack, to_lark, unpack
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.grammar.reach import open_ended, reach
from glyphscope.grammar.tree import CharClass, Grammar, Repeat, Rule, RuleRef, TokenMatch, alt, optional, seq
from glyphscope.models.decoding import TokenMask
from grammar_strategies import grammars, wide_grammars
from schema_strategies import schemas

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 5},
        "limit": {"type": "integer", "minimum": 10, "maximum": 99},
        "tags": {"type": "array", "items": {"enum": ["alpha", "beta", "é日本"]}, "minItems": 2},
        "code": {"type": "string", "pattern": "^[a-z]{3,}-[0-9]{2}$"},
        "inner": {
            "type": "object",
            "properties": {"on": {"type": "boolean"}, "off": {"type": "null"}},
            "required": ["on"],
        },
    },
    "required": ["query", "tags", "inner"],
    "additionalProperties": False,
}
DEEP: dict[str, Any] = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "required": ["name", "kids"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}  # fmt: skip
MATRIX: dict[str, Any] = {
    "type": "array",
    "minItems": 3,
    "items": {"type": "array", "minItems": 2, "items": {"type": "string", "minLength": 2, "maxLength": 9}},
}
SCHEMAS = {"nested": NESTED, "deep": DEEP, "matrix": MATRIX, "object": {"type": "object"}, "any": {}}
SPECIAL = [b"<think>", b"</think>", b"<call>", b"<turn>"]


def turn(*, words: bool = False) -> Grammar:
    """Return a grammar of reasoning, then a call in markers that are tokens; both may contain long characters."""
    free = Repeat(CharClass(((0x3C, 0x3C), *(((0x73, 0x73),) if words else ())), negated=True), 0, None)
    call = seq(TokenMatch("call"), '{"name":"', CharClass(((0xE9, 0xE9), (0x1F600, 0x1F64F))), '","é":日}')
    rules = [
        Rule("root", seq(optional(RuleRef("reasoning")), RuleRef("call"), TokenMatch("turn"))),
        Rule("reasoning", seq(TokenMatch("think"), RuleRef("thoughts"), TokenMatch("/think"))),
        Rule("thoughts", alt(free, seq("so ", RuleRef("thoughts"), " then")) if words else free),
        Rule("call", call),
    ]
    return Grammar({rule.name: rule for rule in rules}, "root")


def built(schema: Any, order: str = "schema", notation: str = "json") -> Grammar:
    return build_value_grammar(schema, notation, order=order)  # type: ignore[arg-type]


def never_cut_off(grammar: Grammar, words: Words, needed: int, seed: int, *extras: int) -> None:
    assert needed < 400
    for extra in extras:
        made = run(grammar, words, needed + extra, seed)
        assert made.complete, (made.text, needed, extra, made.narrowed)


@pytest.mark.parametrize("most", [2, 3, 8])
@pytest.mark.parametrize("grammar", ["root ::= [a-z]+", 'root ::= "a" [ ]*', 'root ::= ("ab" | "abab")+'])
def test_a_text_that_could_be_longer_ends_with_an_end_token(grammar, most):
    rules = load_gbnf(grammar)
    for seed in range(8):
        words = random_words(Random(seed), ["abc"])
        made = run(rules, words, least(rules, words) + most, seed)
        assert made.complete and made.steps[-1].end, made.text


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_an_answer_that_has_the_tokens_of_the_shortest_text_is_complete(name, order, notation):
    grammar = built(SCHEMAS[name], order, notation)
    for seed in range(4):
        words = random_words(Random(seed), ["query", "alpha", "inner"])
        never_cut_off(grammar, words, least(grammar, words), seed, 0, 1, 2, 5, 20)


@pytest.mark.slow
@at_most(200)
@given(schemas, st.integers(0, 2**32), st.integers(0, 12), st.sampled_from(["schema", "any"]))
def test_an_answer_of_any_schema_is_complete(schema, seed, extra, order):
    try:
        grammar = built(schema, order)
        to_lark(grammar)
    except GrammarError:
        assume(False)
    words = random_words(Random(seed), [str(schema)])
    needed = least(grammar, words)
    assume(needed < 400)
    never_cut_off(grammar, words, needed, seed, extra)


@pytest.mark.slow
@at_most(200)
@given(grammars, st.integers(0, 2**32), st.integers(0, 6))
def test_an_answer_of_any_grammar_is_complete(grammar, seed, extra):
    try:
        to_lark(grammar)
    except GrammarError:
        assume(False)
    words = random_words(Random(seed), ["abc", "aab", "bca", "xyé"])
    needed = least(grammar, words)
    assume(0 < needed < 200)
    never_cut_off(grammar, words, needed, seed, extra)


@pytest.mark.slow
@at_most(200)
@given(schemas, st.integers(0, 2**32), st.sampled_from(["schema", "any"]))
def test_where_there_is_room_the_mask_is_what_the_grammar_allows(schema, seed, order):
    try:
        grammar = built(schema, order)
        to_lark(grammar)
    except GrammarError:
        assume(False)
    words = random_words(Random(seed), [str(schema)])
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    budget = budget_of(grammar, words, mask, always=True)
    tokens: list[int] = []
    random = Random(seed)
    while len(tokens) < 40 and not mask.stopped:
        allowed = mask.allowed()
        narrow, kind = budget.narrowed(tokens, allowed, 1 << 20)
        assert narrow is allowed and not kind
        assert budget.least(tokens, 0) < 1 << 20 and not budget._off
        token = random.choice(allowed.ids().tolist())
        mask.commit(token)
        tokens.append(token)
        if token == words.eos_token_id:
            break


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True])
def test_an_answer_with_special_tokens_and_incomplete_characters_is_complete(words):
    grammar = turn(words=words)
    for seed in range(6):
        vocabulary = random_words(Random(seed), ["so 日本 then é😀"], special=SPECIAL)
        never_cut_off(grammar, vocabulary, least(grammar, vocabulary), seed, 0, 1, 2, 3, 8, 40)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 1, 5, 30])
@pytest.mark.parametrize("words", [False, True])
def test_reasoning_over_its_budget_is_closed_as_soon_as_possible(words, budget):
    grammar = turn(words=words)
    closed = 0
    for seed in range(12):
        vocabulary = random_words(Random(seed), ["so then"], special=SPECIAL)
        made = run(grammar, vocabulary, 400, seed, reasoning=budget)
        assert made.complete
        pieces = [vocabulary.tokens[step.id] for step in made.steps]
        if pieces[0] != b"<think>":
            continue
        end = pieces.index(b"</think>")
        # open ends are completed: half a character, or the continuation that each "s" requires
        begun = b"".join(pieces[: budget + 1]).count(b"s")
        assert end <= 1 + budget + 3 + begun * len("o  then")
        late = made.steps[budget + 1 : end + 1]
        closed += any(step.narrowed == "reasoning" for step in late)
    assert closed


def test_a_budget_of_reasoning_changes_nothing_before_it_is_used():
    grammar, vocabulary = turn(), random_words(Random(3), special=SPECIAL)
    for seed in range(8):
        free = run(grammar, vocabulary, 60, seed, budgeted=False)
        made = run(grammar, vocabulary, 60, seed, reasoning=15)
        same = min(made.narrowed, default=len(made.steps))
        assert [s.id for s in made.steps][:same] == [s.id for s in free.steps][:same]
        assert same >= 15 or made.steps[same].narrowed == "tokens" or same == len(made.steps)


def test_a_forced_text_is_tokenized_shorter_where_the_budget_needs_it():
    grammar = load_gbnf('root ::= "abcdefgh" [x]? "ij"')
    words = Words([b"ab", b"abc", b"cd", b"def", b"efgh", b"defgh", b"hij", b"ghij", b"abcdef"])
    needed = least(grammar, words)
    assert needed == 2
    for extra in range(4):
        assert run(grammar, words, needed + extra).complete


def test_the_context_is_a_budget_too():
    grammar = built(NESTED)
    words = random_words(Random(1))
    needed = least(grammar, words)
    for extra in range(4):
        made = run(grammar, words, 10_000, seed=extra, room=needed + extra)
        assert made.complete and len(made.steps) <= needed + extra


def test_an_answer_whose_shortest_text_is_too_long_runs_as_without_a_budget():
    grammar = built(NESTED)
    words = random_words(Random(1))
    needed = least(grammar, words)
    short = run(grammar, words, needed - 1, seed=4)
    free = run(grammar, words, needed - 1, seed=4, budgeted=False)
    assert not short.complete and not short.narrowed
    assert [s.id for s in short.steps] == [s.id for s in free.steps]


def test_the_missing_tokens_are_counted_where_no_answer_can_be_complete():
    grammar = built(NESTED)
    words = random_words(Random(1))
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    budget = budget_of(grammar, words, mask)
    needed = least(grammar, words)
    assert budget.least([], needed - 1) == needed
    assert budget.least([], needed) == 0


def test_far_from_the_limit_the_budget_reads_nothing():
    grammar = built(NESTED)
    words = random_words(Random(1))
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    rules = lark_rules(grammar)
    near = reach(rules)
    assert near is not None and near < 120
    budget = budget_of(grammar, words, mask)
    allowed = mask.allowed()
    assert budget.narrowed([], allowed, near + 2) == (allowed, "") and budget.fitting([], [5], near + 3) == [
        5
    ]
    assert budget._reader is None


@at_most(300)
@given(st.one_of(grammars, wide_grammars))
def test_packed_rules_equal_the_rules(grammar):
    made = unpack(pack(grammar))
    assert made.root == grammar.root and list(made.rules) == list(grammar.rules)
    assert all(made.rules[name].body == rule.body for name, rule in grammar.rules.items())


@pytest.mark.slow
@at_most(300)
@given(schemas, st.sampled_from(["schema", "any"]))
def test_packed_rules_of_a_schema_equal_its_rules(schema, order):
    try:
        grammar = lark_rules(built(schema, order))
    except GrammarError:
        assume(False)
    made = unpack(pack(grammar))
    assert {n: r.body for n, r in made.rules.items()} == {n: r.body for n, r in grammar.rules.items()}


@pytest.mark.parametrize("grammar", [
    'root ::= <[97]> "b" [x-z]{2,9} <[100]>',
    'root ::= "[" (!<[93]>){3,8} <[93]> "end"',
    'root ::= ("é" | "日本")+ <think> [^<]* </think> "!"',
])  # fmt: skip
@pytest.mark.slow
def test_an_answer_with_tokens_that_the_grammar_numbers_or_names_is_complete(grammar):
    rules = load_gbnf(grammar)
    for seed in range(8):
        words = random_words(Random(seed), ["bend", "日本"], special=SPECIAL)
        never_cut_off(rules, words, least(rules, words), seed, 0, 1, 2, 4)


@pytest.mark.slow
@at_most(200)
@given(st.one_of(grammars, wide_grammars), st.integers(0, 2**32))
def test_the_reach_of_a_grammar_bounds_every_distance_to_the_end(grammar, seed):
    try:
        to_lark(grammar)
    except GrammarError:
        assume(False)
    near = reach(unpack(pack(lark_rules(grammar))))
    assume(near is not None)
    words = random_words(Random(seed), ["aab", "é日😀"])
    mask = TokenMask(words.tokenizer, to_lark(grammar))
    budget = budget_of(grammar, words, mask, always=True)
    tokens: list[int] = []
    random = Random(seed)
    while not mask.stopped and len(tokens) < 30:
        assert budget.least(tokens, 0) <= near + 1  # and an end token
        token = random.choice(mask.allowed().ids().tolist())
        if token == words.eos_token_id:
            break
        mask.commit(token)
        tokens.append(token)


@pytest.mark.parametrize(
    ("text", "longer"),
    [
        ('("a" | "aa") "a"', True),
        ('("a" | "ab") ("c" | "bcd")', True),
        ('x "a"\nx ::= [ab] | "ab"', False),
        ('"a"? "b"', False),
        ("[0-9]+", True),
        ('"(" root ")" | "x"', False),
        ('"(" root ")" | "x" | "xy"', True),
    ],
)
def test_an_end_token_is_counted_where_a_text_can_be_the_beginning_of_another(text, longer):
    assert open_ended(load_gbnf(f"root ::= {text}\n")) is longer
