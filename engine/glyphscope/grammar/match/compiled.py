"""A grammar made ready for matching."""

from __future__ import annotations

from functools import lru_cache

from glyphscope.grammar.identity import ByIdentity
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.match.state import Limits, State, start_state
from glyphscope.grammar.tree import Grammar


class Compiled(RuleAutomata):
    """A grammar to match texts against. Raises GrammarError for one that cannot be."""

    def start(self, limits: Limits | None = None) -> State:
        """The state before the first character."""
        return start_state(self, limits or Limits())


def compile_grammar(grammar: Grammar) -> Compiled:
    """The grammar, ready for matching; the last few are kept. Raises GrammarError."""
    return _compiled(ByIdentity(grammar))


@lru_cache(maxsize=8)
def _compiled(key: ByIdentity) -> Compiled:
    return Compiled(key.grammar)
