"""The terms of rule trees."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.regular.derivatives import Term, Terms
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import Node


def term_of(
    node: Node,
    terms: Terms,
    meet: Callable[[list[Term]], Term],
    other: Callable[[Term], Term],
    call: Callable[[str], Term] | None = None,
    *,
    backwards: bool = False,
) -> Term:
    """The term of a node. `meet` makes an intersection, `other` what a term is not; `call` a reference, which is an
    error without it.

    `backwards`: of the texts read from their ends. Raises GrammarError.
    """

    def make(node: Node, parts: list[Term]) -> Term:
        if isinstance(node, tree.Literal):
            return terms.text(node.text[::-1] if backwards else node.text)
        if isinstance(node, tree.CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            return terms.chars(chars.intersection(ranges, chars.ALL))
        if isinstance(node, tree.Seq):
            whole = terms.empty
            for part in parts if backwards else reversed(parts):
                whole = terms.cat(part, whole)
            return whole
        if isinstance(node, tree.Alt):
            return terms.choice(parts)
        if isinstance(node, tree.Repeat):
            return terms.loop(parts[0], node.minimum, node.maximum)
        if isinstance(node, tree.RuleRef):
            if call is None:
                raise GrammarError("A lexeme cannot refer to a rule.", where=node.name)
            return call(node.name)
        if isinstance(node, tree.Intersect):
            return terms.never if terms.never in parts else meet(parts)
        if isinstance(node, tree.Except):
            return other(parts[0])
        if isinstance(node, tree.Unordered):
            return _members(node, parts, terms, backwards)
        return terms.token(node) if isinstance(node, tree.TokenMatch) else parts[0]

    return bottom_up(node, attrgetter("inner"), make)


def _members(node: tree.Unordered, parts: list[Term], terms: Terms, backwards: bool) -> Term:
    *listed, separator = parts
    entries = terms.entries(node, tuple(listed), separator)
    last = len(node.members)
    possible = sum(term is not terms.never for term in listed[:last])
    if entries.dead & node.required or (listed[last] is terms.never and possible < node.low):
        return terms.never
    some = terms.members(entries, due=True)
    if node.leading:
        some = terms.cat(some, separator) if backwards else terms.cat(separator, some)
    return terms.choice((terms.empty, some)) if node.may_end(0, 0) else some
