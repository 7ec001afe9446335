"""Texts of grammars: accepted, ended, the same for a seed, and through every alternative."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command
from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.grammar import MatchLimit, MatchLimits, compile_grammar, covering_texts, sample_texts
from glyphscope.grammar.regular import pattern_node
from glyphscope.grammar.tree import CharClass, Intersect, TokenMatch, alt, repeat, seq, terminal
from glyphscope.registry import default_registry
from glyphscope.turns import build_call_grammar
from grammar_examples import DIGIT, JSON, made, ref
from grammar_strategies import LETTERS, grammars, language


@at_most(300)
@given(grammars, st.integers(0, 5))
def test_every_sample_is_accepted_and_one_is_shortest(grammar, seed):
    start = compile_grammar(grammar).start(MatchLimits(items=50_000))
    if not start.alive:
        with pytest.raises(GrammarError, match="no text"):
            sample_texts(grammar, 3, seed=seed)
        return
    for text in sample_texts(grammar, 3, seed=seed, depth=5) + covering_texts(grammar, limit=20):
        try:
            assert start.feed(text).accepted, text
        except MatchLimit:  # the grammar is too ambiguous
            continue
    first = covering_texts(grammar)[0]
    short = min(map(len, language(grammar, 4)), default=5)  # of those in LETTERS, with up to 4 letters
    assert len(first) <= short or short == 5
    assert len(first) >= min(short, 5) or not set(first) <= set(LETTERS)


def test_a_seed_gives_the_same_texts_and_another_seed_others():
    assert sample_texts(JSON, 20, seed=1) == sample_texts(JSON, 20, seed=1)
    assert sample_texts(JSON, 20, seed=1) != sample_texts(JSON, 20, seed=2)
    assert len(set(sample_texts(JSON, 50))) > 15


@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_calls_are_sampled_from_the_grammar_of_a_registry(notation):
    grammar = build_call_grammar(default_registry(), notation, "flat")
    start = compile_grammar(grammar).start()
    texts = sample_texts(grammar, 100, seed=3)
    assert all(start.feed(text).accepted for text in texts)
    assert all(any(tool.name in text for text in texts) for tool in default_registry().allowed)


def test_every_rule_and_alternative_is_covered():
    texts = covering_texts(JSON)
    start = compile_grammar(JSON).start()
    begun = [start.feed(text[:size]) for text in texts for size in range(len(text) + 1)]
    assert {rule.name for state in begun for rule in state.active_rules()} == set(JSON.rules)
    joined = "\n".join(texts)
    assert all(piece in joined for piece in ["true", "false", "null", "-", "\\", ",", "."])
    assert min(texts, key=len) == texts[0]


def test_growth_is_bounded():
    bushy = made(root=alt("a", seq(ref("root"), ref("root"), ref("root"))))
    assert max(map(len, sample_texts(bushy, 20, depth=1_000))) < 100_000
    deep = made(root=alt("a", seq("(", ref("root"), ")")))
    assert max(map(len, sample_texts(deep, 200, depth=3))) < 40


def test_endless_repetitions_of_nothing_end():
    grammar = made(root=repeat(ref("x"), 10**9, 10**9), x=alt("", "a"))
    start = compile_grammar(grammar).start()
    texts = sample_texts(grammar, 3) + covering_texts(grammar)
    assert all(start.feed(text).accepted for text in texts)


def test_intersections_are_sampled_within_their_bounds():
    body = Intersect((pattern_node("^[a-z]+-[0-9]+$"), repeat(CharClass(((0x2D, 0x7A),)), 8, 9)))
    grammar = made(root=terminal(body))
    start = compile_grammar(grammar).start()
    texts = sample_texts(grammar, 30)
    assert all(start.feed(text).accepted for text in texts)
    assert {len(text) for text in texts} == {8, 9}


def test_other_characters_of_a_class_are_sampled_rarely():
    text = "".join(sample_texts(made(root=repeat(CharClass((), True), 300, 300)), 3))
    plain = sum(char.isascii() and char.isprintable() for char in text)
    assert 0.8 < plain / len(text) < 1


@pytest.mark.slow
def test_an_impossible_sample_is_an_error():
    with pytest.raises(GrammarError, match="no text"):
        sample_texts(made(root=seq("a", TokenMatch(5))), 1)
    with pytest.raises(GrammarError, match="shortest text"):
        sample_texts(made(root=repeat(repeat(DIGIT, 10_000, 10_000), 1_000, 1_000)), 1)
    doubled = {f"r{i}": seq(ref(f"r{i + 1}"), ref(f"r{i + 1}")) for i in range(2_000)}
    with pytest.raises(GrammarError, match="shortest text"):
        sample_texts(made(**doubled, r2000=seq("a")), 1)
    with pytest.raises(GrammarError, match="missing"):
        covering_texts(made(root=ref("missing")))


@pytest.mark.parametrize(
    ("path", "text", "ambiguous"),
    [
        ("a.gbnf", 'root ::= a | b\na ::= "x"\nb ::= [a-z]', {"root": "x"}),
        ("a.gbnf", 'root ::= "a"* "a"*', {"root": "a"}),
        ("a.gbnf", 'root ::= e\ne ::= "1" ("+" e)*', {"e": "1+1+1"}),
        ("a.gbnf", 'root ::= [a-z]+ " " ("a" | "b")*', {}),
        ("a.gbnf", 'root ::= a "!"\na ::= "x" | [x]', {"a": "x"}),  # and not root, which only uses it
        ("a.lark", "start: WORD WORD\nWORD: /[a-z]+/", {}),  # the lexer decides where a lexeme ends
        ("a.lark", "start: (WORD | WORD NUMBER?) NUMBER?\nWORD: /[a-z]+/\nNUMBER: /[0-9]+/", {"start": None}),
    ],
)
def test_an_ambiguous_rule_is_found_with_a_text_that_it_reads_in_several_ways(
    tmp_path, path, text, ambiguous
):
    (tmp_path / path).write_text(text)
    given = ("grammar", "check", "--ambiguous", tmp_path / path)
    found = json.loads(command(*given, "--json").stdout)["ambiguous"]
    assert all(
        f"{name} is ambiguous: it reads {json.dumps(found[name])}" in command(*given).stderr for name in found
    )
    assert found.keys() == ambiguous.keys()
    assert all(ambiguous[name] in (text, None) for name, text in found.items())


def test_ambiguous_rules_of_a_grammar_with_errors_are_not_looked_for(tmp_path):
    (tmp_path / "a.gbnf").write_text("root ::= a\n")
    given = ("grammar", "check", "--ambiguous", tmp_path / "a.gbnf")
    assert json.loads(command(*given, "--json").stdout)["ambiguous"] is None
    assert "were not looked for, as the grammar has errors" in command(*given).stderr
