"""One text against one grammar, answered whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from glyphscope.grammar.match.compiled import compile_grammar
from glyphscope.grammar.match.state import ActiveRule, Limits
from glyphscope.grammar.match.words import Expectation
from glyphscope.grammar.tree import Grammar

SHOWN = 12


class MatchReport(NamedTuple):
    """Whether the text is accepted, or begins an accepted one; else the index of the character it fails at.

    `expected` and `rules` are told for the place where matching stopped: the text's end, or the failing character.
    `expectations` says of each expected thing which rule wants it.
    """

    accepted: bool
    prefix_ok: bool
    failed_at: int | None
    expected: tuple[str, ...]
    rules: tuple[ActiveRule, ...]
    expectations: tuple[Expectation, ...] = ()


def match_text(
    grammar: Grammar,
    text: str,
    *,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
) -> MatchReport:
    """Matches the text. Raises GrammarError, MatchLimit, MatchCancelled."""
    state = compile_grammar(grammar).start(limits).feed(text, cancel=cancel)
    return MatchReport(
        state.accepted,
        state.alive,
        state.failed_at,
        state.expected(SHOWN),
        state.active_rules(),
        state.expectations(SHOWN),
    )
