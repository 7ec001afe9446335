"""A grammar compiled for matching, and the report on a text: whether it matches, and how it can continue."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from glyphscope.grammar.match.earley import ActiveRule, MatchLimits, State, state_before
from glyphscope.grammar.match.longest import state_kind, with_lexeme_ends
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.match.words import Continuation
from glyphscope.grammar.tree import ByIdentity, Grammar


class Compiled(RuleAutomata):
    """A grammar to match texts against. Raises GrammarError like `RuleAutomata`."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(with_lexeme_ends(grammar))

    def start(self, limits: MatchLimits | None = None) -> State:
        """The state before the first character."""
        return state_before(self, self.grammar.root, limits, state_kind(self.grammar))


def compile_grammar(grammar: Grammar) -> Compiled:
    """The grammar, ready for matching; the last few are cached. Raises GrammarError."""
    return _compiled(ByIdentity(grammar))


@lru_cache(maxsize=8)
def _compiled(key: ByIdentity[Grammar]) -> Compiled:
    return Compiled(key.value)


_SHOWN = 12
"""The maximum number of expectations in a report."""


class MatchReport(NamedTuple):
    """Whether the text is accepted, or begins an accepted text; otherwise the index of the failing character.

    `expected` and `rules` refer to the place where matching stopped: the text's end, or the failing character.
    `expectations` are the same as `expected`, each with its rule.
    """

    accepted: bool
    prefix_ok: bool
    failed_at: int | None
    expected: tuple[str, ...]
    rules: tuple[ActiveRule, ...]
    expectations: tuple[Continuation, ...] = ()


def match_text(
    grammar: Grammar,
    text: str,
    *,
    limits: MatchLimits | None = None,
    cancel: Callable[[], bool] | None = None,
) -> MatchReport:
    """Match the text. Raises GrammarError, MatchLimit, MatchCancelled.

    U+0000 is never accepted: llama.cpp ends a text there, and no notation of calls has it unescaped.
    """
    read, nul, _ = text.partition("\0")
    state = compile_grammar(grammar).start(limits).feed(read, cancel=cancel)
    return MatchReport(
        state.accepted and not nul,
        state.alive and not nul,
        len(read) if nul and state.alive else state.failed_at,
        state.expected(_SHOWN),
        state.active_rules(),
        state.expectations(_SHOWN),
    )
