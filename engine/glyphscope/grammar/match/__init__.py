"""Texts against any context-free grammar: accepted or not, where it fails, what may come next, by which rules."""

from glyphscope.grammar.match.derivation import Derivation, derive
from glyphscope.grammar.match.earley import ActiveRule, Limits, MatchCancelled, MatchLimit, State
from glyphscope.grammar.match.report import Compiled, MatchReport, compile_grammar, match_text
from glyphscope.grammar.match.tokens import TokenTrie, allowed_tokens
from glyphscope.grammar.match.words import Expectation

__all__ = [
    "ActiveRule",
    "Compiled",
    "Derivation",
    "Expectation",
    "Limits",
    "MatchCancelled",
    "MatchLimit",
    "MatchReport",
    "State",
    "TokenTrie",
    "allowed_tokens",
    "compile_grammar",
    "derive",
    "match_text",
]
