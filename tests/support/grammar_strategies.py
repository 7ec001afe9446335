"""Small random grammars over the letters a, b, c: trees, and an independent reference for the matcher."""

from __future__ import annotations

from hypothesis import strategies as st

from glyphscope.grammar import tree
from glyphscope.grammar.chars import union

LETTERS = "abc"
A, B, C = ((ord(letter), ord(letter)) for letter in LETTERS)
NAMES = ("root", "x", "y")

literals = st.text(LETTERS, max_size=3).map(tree.Literal)
classes = st.builds(
    tree.CharClass,
    st.sampled_from([(A,), (B,), (A, C), ((A[0], B[0]),), ((A[0], C[0]),), ()]),
    negated=st.sampled_from([False, False, False, True]),
)


def _repeats(inner: st.SearchStrategy[tree.Node]) -> st.SearchStrategy[tree.Node]:
    bounds = st.tuples(st.integers(0, 2), st.none() | st.integers(0, 3))
    return st.builds(lambda body, pair: tree.Repeat(body, *pair), inner, bounds)


def _inner(inner: st.SearchStrategy[tree.Node]) -> st.SearchStrategy[tree.Node]:
    several = st.lists(inner, max_size=3).map(tuple)
    return several.map(tree.Seq) | several.map(tree.Alt) | _repeats(inner)


def _regular_inner(inner: st.SearchStrategy[tree.Node]) -> st.SearchStrategy[tree.Node]:
    both = st.lists(inner, min_size=1, max_size=2).map(lambda parts: tree.Intersect(tuple(parts)))
    return _inner(inner) | both | inner.map(tree.Terminal)


regular_bodies = st.recursive(literals | classes, _regular_inner, max_leaves=7)
"""Bodies without references, with intersections; raw nodes, as no maker would simplify them."""


def _grammars_over(
    leaves: st.SearchStrategy[tree.Node], regular: st.SearchStrategy[tree.Node]
) -> st.SearchStrategy[tree.Grammar]:
    rule_names = st.sampled_from(NAMES).map(tree.RuleRef)
    bodies = st.recursive(leaves | rule_names | regular.map(tree.Terminal), _inner, max_leaves=6)
    return st.tuples(bodies, bodies, bodies).map(
        lambda made: tree.Grammar(
            {name: tree.Rule(name, body) for name, body in zip(NAMES, made, strict=True)}, "root"
        )
    )


grammars = _grammars_over(literals | classes, regular_bodies)
"""Any context-free grammar: ambiguous, cyclic, nullable, recursive on both sides, or without any text."""

WIDE = "aé日😀"
_wide_ranges = st.sampled_from(["é", "日", "😀"]).map(lambda c: (ord(c), ord(c))) | st.sampled_from(
    [
        (0, 0x7F),
        (0x7F, 0x80),
        (0xE0, 0x7FF),
        (0x7FF, 0x800),
        (0x800, 0xD7FF),
        (0xE000, 0x10FFFF),
        (0x62, 0x1F600),
    ]
)
_wide_leaves = st.text(WIDE, max_size=2).map(tree.Literal) | st.builds(
    lambda ranges, negated: tree.CharClass(union(ranges), negated),
    st.lists(_wide_ranges, max_size=2),
    st.booleans(),
)
wide_grammars = _grammars_over(_wide_leaves, st.recursive(_wide_leaves, _regular_inner, max_leaves=5))
"""The same over characters of one to four bytes of UTF-8, and over ranges of them."""


def language(grammar: tree.Grammar, size: int) -> frozenset[str]:
    """Return all texts of up to `size` letters, by enumeration: sets of texts, until none grows."""
    known: dict[str, frozenset[str]] = dict.fromkeys(grammar.rules, frozenset())
    while True:
        grown = {name: texts_of(rule.body, size, known) for name, rule in grammar.rules.items()}
        if grown == known:
            return known[grammar.root]
        known = grown


def texts_of(node: tree.Node, size: int, rules: dict[str, frozenset[str]] | None = None) -> frozenset[str]:
    """Return all texts of a node of up to `size` letters, where `rules` are known to have these texts."""
    if isinstance(node, tree.Literal):
        return frozenset({node.text} if len(node.text) <= size else ())
    if isinstance(node, tree.CharClass):
        inside = {c for c in LETTERS if any(low <= ord(c) <= high for low, high in node.ranges)}
        return frozenset((set(LETTERS) - inside if node.negated else inside) if size else ())
    if isinstance(node, tree.RuleRef):
        return (rules or {})[node.name]
    if isinstance(node, tree.TokenMatch):
        return frozenset()
    if isinstance(node, tree.Terminal):
        return texts_of(node.body, size, rules)
    if isinstance(node, tree.Alt):
        return frozenset().union(*(texts_of(option, size, rules) for option in node.options))
    if isinstance(node, tree.Intersect):
        return frozenset.intersection(*(texts_of(part, size, rules) for part in node.parts))
    if isinstance(node, tree.Seq):
        whole = frozenset({""})
        for part in node.parts:
            whole = _joined(whole, texts_of(part, size, rules), size)
        return whole
    once = texts_of(node.body, size, rules)
    whole = frozenset({""})
    for _ in range(node.minimum):
        whole = _joined(whole, once, size)
    more, left = whole, node.maximum
    while (left is None or left > node.minimum) and more:
        more = _joined(more, once, size) - whole
        whole |= more
        left = None if left is None else left - 1
    return whole if node.maximum is None or node.maximum >= node.minimum else frozenset()


def _joined(first: frozenset[str], second: frozenset[str], size: int) -> frozenset[str]:
    return frozenset(a + b for a in first for b in second if len(a) + len(b) <= size)


def gbnf_text(grammar: tree.Grammar) -> str:
    """Return the GBNF of a grammar without lexemes that intersect; plain, one rule a line, for these tests only.

    Raises ValueError for a node that GBNF cannot write.
    """
    return "".join(f"{name} ::= {_gbnf(rule.body)}\n" for name, rule in grammar.rules.items())


def _gbnf(node: tree.Node) -> str:
    if isinstance(node, tree.Literal):
        return f'"{node.text}"'
    if isinstance(node, tree.CharClass) and (node.ranges or node.negated):
        inside = "".join(f"{chr(low)}-{chr(high)}" for low, high in node.ranges)
        return f"[{'^' if node.negated else ''}{inside}]" if inside else "."
    if isinstance(node, tree.RuleRef):
        return node.name
    if isinstance(node, tree.Terminal):
        return f"({_gbnf(node.body)})"
    if isinstance(node, tree.Seq):
        return f"({' '.join(map(_gbnf, node.parts))})" if node.parts else '""'
    if isinstance(node, tree.Alt) and node.options:
        return f"({' | '.join(map(_gbnf, node.options))})"
    if isinstance(node, tree.Repeat) and (node.maximum is None or node.maximum >= node.minimum):
        high = "" if node.maximum is None else node.maximum
        return f"({_gbnf(node.body)}){{{node.minimum},{high}}}"
    raise ValueError(f"GBNF has no {type(node).__name__} like this")
