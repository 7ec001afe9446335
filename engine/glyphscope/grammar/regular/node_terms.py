"""The terms of rule trees."""

from __future__ import annotations

from collections.abc import Callable

from glyphscope.errors import GrammarError
from glyphscope.grammar import chars, tree
from glyphscope.grammar.regular.derivatives import Term, Terms
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
    done: list[Term] = []
    waiting: list[tuple[Node, int]] = [(node, -1)]
    while waiting:
        node, taken = waiting.pop()
        if taken >= 0:
            parts = done[len(done) - taken :]
            del done[len(done) - taken :]
            done.append(
                other(parts[0])
                if isinstance(node, tree.Except)
                else _joined(node, parts, terms, meet, backwards)
            )
        elif isinstance(node, tree.Literal):
            done.append(terms.text(node.text[::-1] if backwards else node.text))
        elif isinstance(node, tree.CharClass):
            ranges = chars.complement(node.ranges) if node.negated else node.ranges
            done.append(terms.chars(chars.intersection(ranges, chars.ALL)))
        elif isinstance(node, tree.TokenMatch):
            done.append(terms.token(node))
        elif isinstance(node, tree.RuleRef):
            if call is None:
                raise GrammarError("A lexeme cannot refer to a rule.", where=node.name)
            done.append(call(node.name))
        else:
            waiting.append((node, len(node.inner)))
            waiting += [(part, -1) for part in reversed(node.inner)]
    return done[0]


def _joined(
    node: Node, parts: list[Term], terms: Terms, meet: Callable[[list[Term]], Term], backwards: bool
) -> Term:
    if isinstance(node, tree.Seq):
        whole = terms.empty
        for part in parts if backwards else reversed(parts):
            whole = terms.cat(part, whole)
        return whole
    if isinstance(node, tree.Alt):
        return terms.choice(parts)
    if isinstance(node, tree.Intersect):
        return terms.never if terms.never in parts else meet(parts)
    if isinstance(node, tree.Repeat):
        return terms.loop(parts[0], node.minimum, node.maximum)
    if isinstance(node, tree.Unordered):
        return _members(node, parts, terms, backwards)
    return parts[0]


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
