"""Derivations: one tree, always the same, whose spans are texts of their rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.errors import GrammarError
from glyphscope.grammar.match.derivation import derive
from glyphscope.grammar.match.earley import Limits, MatchCancelled, MatchLimit
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.tree import Alt, CharClass, Grammar, Literal, Repeat, Seq, alt, optional, repeat, seq
from grammar_examples import JSON, made, ref
from grammar_strategies import LETTERS, NAMES, grammars, language

LOWER = CharClass(((ord("a"), ord("z")),))


def shown(tree, text):
    inner = " ".join(shown(child, text) for child in tree.children)
    return f"{tree.rule}:{text[tree.start : tree.end]}" + (f"({inner})" if inner else "")


def nodes(tree):
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


@pytest.mark.slow
@at_most(300)
@given(grammars)
def test_each_span_is_a_text_of_its_rule_and_spans_are_in_order(grammar):
    rules = {name: compile_grammar(Grammar(grammar.rules, name)).start() for name in NAMES}
    for text in sorted(language(grammar, 4)):
        tree = derive(grammar, text)
        assert (tree.rule, tree.start, tree.end) == ("root", 0, len(text))
        for node in nodes(tree):
            assert rules[node.rule].feed(text[node.start : node.end]).accepted
            at = node.start
            for child in node.children:
                assert at <= child.start < child.end <= node.end
                at = child.end
            assert without(grammar, node, text), "the parts do not derive their rule"


def without(grammar, node, text):
    """Whether the rule's body derives the span from its parts."""
    marks = {name: chr(0x100 + index) for index, name in enumerate(NAMES)}
    written, at = "", node.start
    for child in node.children:
        written += text[at : child.start] + marks[child.rule]
        at = child.end
    written += text[at : node.end]
    return compile_grammar(marked(grammar, node.rule, marks)).start().feed(written).accepted


def marked(grammar, rule, marks):
    """Return the rule alone: a reference is its mark, or nothing where its rule derives the empty text."""

    def change(node):
        if hasattr(node, "name"):
            empty = compile_grammar(Grammar(grammar.rules, node.name)).start().accepted
            return alt(marks[node.name], "") if empty else Literal(marks[node.name])
        if isinstance(node, Seq):
            return Seq(tuple(change(part) for part in node.parts))
        if isinstance(node, Alt):
            return Alt(tuple(change(option) for option in node.options))
        if isinstance(node, Repeat):
            return Repeat(change(node.body), node.minimum, node.maximum)
        return node

    return made(root=change(grammar.rules[rule].body))


@at_most(300)
@given(grammars, st.text(LETTERS, max_size=6))
def test_a_tree_exists_exactly_when_the_text_is_accepted(grammar, text):
    accepted = compile_grammar(grammar).start().feed(text).accepted
    assert (derive(grammar, text) is not None) == accepted


def test_the_longest_parts_from_the_left_are_chosen():
    words = made(root=repeat(ref("word")), word=repeat(LOWER, 1))
    assert shown(derive(words, "abc"), "abc") == "root:abc(word:abc)"
    pair = made(root=seq(ref("word"), ref("word")), word=repeat(LOWER, 1))
    assert shown(derive(pair, "abc"), "abc") == "root:abc(word:ab word:c)"
    first = made(root=alt(ref("x"), ref("y")), x=seq("a"), y=seq("a"))
    assert shown(derive(first, "a"), "a") == "root:a(x:a)"
    dangling = made(root=ref("s"), s=alt("x", seq("i", ref("s")), seq("i", ref("s"), "e", ref("s"))))
    assert shown(derive(dangling, "iixex"), "iixex") == "root:iixex(s:iixex(s:ixex(s:x s:x)))"


def test_json_is_a_tree_of_its_rules():
    text = '{"a": [1]}'
    found = shown(derive(JSON, text), text)
    assert found == (
        'root:{"a": [1]}(value:{"a": [1]}(object:{"a": [1]}(member:"a": [1](string:"a" ws:  '
        "value:[1](array:[1](value:1(number:1)))))))"
    )


def test_rules_that_derive_nothing_are_left_out_and_the_empty_text_is_one_rule():
    grammar = made(root=seq(ref("x"), optional(seq("a")), ref("x")), x=alt("", "b"))
    assert shown(derive(grammar, "ab"), "ab") == "root:ab(x:b)"
    assert shown(derive(grammar, ""), "") == "root:"
    assert derive(made(root=seq("a", ref("root"))), "a") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [alt("", seq("a", ref("root"))), alt("", seq(ref("root"), "a")), alt("a", seq(ref("root"), "a", ref("none")))],
)  # fmt: skip
def test_long_lists_become_deep_trees_without_a_stack(body):
    text = "a" * 100_000
    tree = derive(made(root=body, none=alt("", "b")), text, limits=Limits(items=0))
    assert sum(1 for _ in nodes(tree)) >= len(text)


def test_ambiguity_cycles_and_cancelling_end_the_derivation():
    cyclic = made(root=alt(ref("x"), "a"), x=alt(ref("root"), "b"))
    assert shown(derive(cyclic, "b"), "b") == "root:b(x:b)"
    ambiguous = made(root=alt("a", seq(ref("root"), ref("root"))))
    with pytest.raises(MatchLimit):
        derive(ambiguous, "a" * 5_000, limits=Limits(items=20_000))
    with pytest.raises(MatchCancelled):
        derive(JSON, '"aaaa"', cancel=lambda: True)


def test_a_tree_that_is_too_large_is_an_error(monkeypatch):
    monkeypatch.setattr("glyphscope.grammar.match.derivation.MAX_RULES", 100)
    with pytest.raises(GrammarError, match="more than 100 rules"):
        derive(JSON, "[" + "1," * 200 + "1]")
