"""Matching of texts as llguidance reads them: with a lexer that takes the longest lexeme and never goes back.

The lexer reads with all lexemes that may come at a place. As long as one of them can continue, it does; then all that
match there end together. So a text is divided in one way only, and the lexer needs no memory: each lexeme in the
rules is followed by a token without text (`LEXEME_END`), and a character is read without one if that is possible,
else after one. A lazy lexeme (`LAZY_END`) ends as soon as it can, before any other. If what `%ignore` allows
(`SKIP_END`) ends, no other lexeme does; it comes only where another lexeme may come. The lexer reads bytes: it also
continues, and is then stuck, if another character with the same first byte could continue.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import cast

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import Item, MatchLimits, State
from glyphscope.grammar.match.rule_automata import RuleAutomata
from glyphscope.grammar.match.words import END, Continuation
from glyphscope.grammar.tree import Grammar, Node, Rule, TokenMatch, walk

LEXEME_END, LAZY_END, SKIP_END = TokenMatch("\0lexeme"), TokenMatch("\0lazy"), TokenMatch("\0skip")
LEXEME_ENDS = frozenset({LEXEME_END, LAZY_END, SKIP_END})


def state_kind(grammar: Grammar) -> type[State]:
    """The kind of state that reads texts of the grammar."""
    return LongestState if grammar.lexer else State


def with_lexeme_ends(grammar: Grammar) -> Grammar:
    """The grammar with a token after each of its lexemes; the same if it has no lexer, or has them."""
    lexer = grammar.lexer
    if lexer is None or any(
        node in LEXEME_ENDS for rule in grammar.rules.values() for node in walk(rule.body)
    ):
        return grammar
    rules = {}
    for name, rule in grammar.rules.items():
        end: Node = SKIP_END if name in lexer.skipped else LEXEME_END
        body = rule.body
        if (grown := lexer.lazy.get(name)) is not None:
            end = tree.Alt((LAZY_END, LEXEME_END))
            body = _with_lexeme(body, tree.terminal(grown))
        rules[name] = Rule(name, _ended(body, end), rule.origin)
    return dataclasses.replace(grammar, rules=rules)


_CHUNK = 4096
"""The number of characters that are read at once if they continue a lexeme."""
_LEXEMES = (tree.Terminal, tree.Literal, tree.CharClass)


def _with_lexeme(node: Node, lexeme: Node) -> Node:
    """The body of a rule of one lexeme with another one."""
    if isinstance(node, _LEXEMES):
        return lexeme
    return tree.with_parts(node, [_with_lexeme(part, lexeme) for part in node.inner])


def _ended(node: Node, end: Node) -> Node:
    if isinstance(node, _LEXEMES):
        return tree.Seq((node, end))
    return tree.with_parts(node, [_ended(part, end) for part in node.inner])


class LongestState(State):
    """The state after the characters read so far; the lexeme that is being read may still grow."""

    __slots__ = ("_is_boundary", "_known_end")

    def __init__(
        self, compiled: RuleAutomata, limits: MatchLimits, items: tuple[Item, ...], position: int, step: int, work: int,
        before: State | None = None,
    ) -> None:  # fmt: skip
        super().__init__(compiled, limits, items, position, step, work, before)
        self._is_boundary = position == 0  # no lexeme is being read

    def feed(self, text: str, *, cancel: Callable[[], bool] | None = None) -> State:
        state: LongestState = self
        lazy = bool(self._compiled.rules_with(LAZY_END))
        at = 0
        while at < len(text) and state.items:
            state = state._after(text[at], cancel)
            at += 1
            if state.items and not lazy and not state._is_boundary:  # the rest of the lexeme at once
                grown = state._read(text[at : at + _CHUNK], cancel)
                at += grown.position - state.position
                state = grown if grown.items else cast(LongestState, grown._before)
        return state

    def _after(self, char: str, cancel: Callable[[], bool] | None) -> LongestState:
        dead = self._of((), self.position, self._step, self._work, self._before or self)
        if self._is_boundary and self._is_over():
            return dead
        grown = self._read(char, cancel)
        if grown.items:
            return grown._ended_early()
        growing = self._growing()
        if not char.isascii():
            alike = chars.with_same_first_byte(((ord(char),) * 2,))
            if chars.intersection(alike, growing):
                return dead
        ended = self._ended()
        following = dead if ended._is_over() else ended._read(char, cancel)
        if not following.items:
            return dead
        # If the lexeme before could have grown, llguidance does not end a lazy one at its first character (as of
        # 1.9.1).
        return following if growing else following._ended_early()

    def _read(self, char: str, cancel: Callable[[], bool] | None) -> LongestState:
        state = State.feed(self, char, cancel=cancel)
        assert isinstance(state, LongestState)
        return state

    def _ended_early(self) -> LongestState:
        """The state after a lazy lexeme if one can end here."""
        if not self._compiled.rules_with(LAZY_END):
            return self
        lazy = self._fed(LAZY_END)
        lazy._is_boundary = True
        return lazy if lazy.items else self

    def _fed(self, end: TokenMatch) -> LongestState:
        state = State.feed_special(self, -1, str(end.token))
        assert isinstance(state, LongestState)
        return state

    def _ended(self) -> LongestState:
        """The state after the lexeme that is being read; dead if it cannot end here."""
        try:
            return self._known_end  # type: ignore[has-type, no-any-return]
        except AttributeError:
            ended = self._fed(SKIP_END) if self._compiled.rules_with(SKIP_END) else self
            if ended is self or not ended.items:
                ended = self._fed(LEXEME_END)
            self._known_end = ended
            return ended

    def _is_over(self) -> bool:
        """Whether nothing but what is ignored could come next, so that this cannot come either."""
        steps, skipped = self._compiled.automaton.steps, self._compiled.rules_with(SKIP_END)
        return bool(skipped) and not any(
            steps(place).moves or steps(place).tokens
            for place, frame in self._closure().items
            if frame.rule not in skipped
        )

    def _growing(self) -> Ranges:
        """The characters that continue the lexeme that is being read."""
        steps = self._compiled.automaton.steps
        return chars.union(
            *(move.ranges for place, _ in self._closure().items for move in steps(place).moves)
        )

    @property
    def accepted(self) -> bool:
        return self._closure().accepted or self._ended()._closure().accepted

    def next_chars(self) -> Ranges:
        growing, after = self._growing(), self._ended()._growing()
        return chars.union(growing, chars.subtract(after, chars.with_same_first_byte(growing)))

    def feed_token(self, token: int, text: str) -> State:
        spelled = self.feed(text)
        special = self.feed_special(token, text)
        if not special.items or not spelled.items:
            return special if special.items else spelled
        return self._of(
            tuple(dict.fromkeys((*special.items, *spelled.items))),
            spelled.position,
            spelled._step,
            self._work,
        )

    def feed_special(self, token: int, name: str) -> State:
        now, after = State.feed_special(self, token, name), State.feed_special(self._ended(), token, name)
        return after if after.items else now

    def token_matches(self) -> tuple[TokenMatch, ...]:
        return tuple(match for match in super().token_matches() if match not in LEXEME_ENDS)

    def expectations(self, limit: int = 12) -> tuple[Continuation, ...]:
        state = self._before or self
        assert isinstance(state, LongestState)
        both = (*State.expectations(state, 10 * limit), *State.expectations(state._ended(), 10 * limit))
        ends = [each for each in both if each.words == END][:1]
        listed = dict.fromkeys(each for each in both if each.words != END and "\0" not in each.words)
        return (*list(listed)[: limit - len(ends)], *ends)

    @property
    def ways(self) -> tuple[Item, ...]:
        return (*self._closure().items, *self._ended()._closure().items)
