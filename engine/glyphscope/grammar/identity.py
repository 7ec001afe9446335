"""Grammars as the keys of caches."""

from __future__ import annotations

from glyphscope.grammar.tree import Grammar


class ByIdentity:
    """A grammar is made once and never changes; hashing it by its rules would cost as much as emitting it."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def __hash__(self) -> int:
        return id(self.grammar)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.grammar is self.grammar
