"""Budgets of tokens under a mask: an answer is complete within its limit, and reasoning ends within its budget.

Beside the mask's parser, a second parser of the same rules (`grammar/match`) starts once the tokens left may be as few
as a completion needs. From then on, the mask admits a token only if a known completion still fits after it. The cost
of a completion is counted in this vocabulary's tokens (`match/remaining.py`), each literal and character separately;
some token always lowers it by one, so once a completion fits, one stays reachable at every step. If none fits, the
whole shortest text is cut into as few tokens as possible, and only these are admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from glyphscope.decoding.answer_reader import NEVER, AnswerReader
from glyphscope.decoding.sampler import Allowed
from glyphscope.decoding.token_texts import Spelling
from glyphscope.errors import GrammarError
from glyphscope.events import Narrowed


class Budget:
    """One generation's budget, consulted before each choice; `tokens` are the answer's tokens so far.

    `near`: no completion takes more tokens than that, so nothing is checked before; None if unknown. `reasoning` is
    the number of tokens after which reasoning must end. `takes` returns whether the mask could continue with a token.
    Once a grammar turns out to be too ambiguous, there is no budget any longer.
    """

    def __init__(
        self,
        rules: bytes,
        near: int | None,
        spelling: Spelling,
        takes: Callable[[int], bool],
        reasoning: int | None = None,
    ) -> None:
        self._rules = rules
        # plus an end token
        self._near = near + 1 if near is not None and spelling.has_plain_bytes else NEVER
        self._spelling = spelling
        self._takes = takes
        self._most_reasoning = reasoning
        self._soon = NEVER if reasoning is None else reasoning
        self._reader: AnswerReader | None = None
        self._planned: list[int] = []
        self._read = 0
        self._off = False

    def least(self, tokens: Sequence[int], left: int) -> int:
        """The fewest tokens that complete the answer, if they may be more than are `left`; otherwise 0."""
        if left > self._near:
            return 0
        try:
            reader = self._synced(tokens)
            if not reader.state.alive or reader.cost <= left:
                return 0
            planned = reader.plan()
        except GrammarError:
            self._off = True
            return 0
        return 0 if planned is None or len(planned) <= left else len(planned)

    def fitting(self, tokens: Sequence[int], forced: list[int], left: int) -> list[int]:
        """The first of the forced tokens, after which a completion still fits."""
        if self._off or not forced or left - len(forced) > self._near:
            return forced
        try:
            return self._fitting(tokens, forced, left)
        except GrammarError:
            self._off = True
            return forced

    def narrowed(self, tokens: Sequence[int], allowed: Allowed, left: int) -> tuple[Allowed, Narrowed]:
        """The mask reduced to tokens whose completion fits in `left` tokens, and the budget that is the reason."""
        if self._off or (left > self._near and len(tokens) < self._soon):
            return allowed, ""
        try:
            return self._narrowed(tokens, allowed, left)
        except GrammarError:
            self._off = True
            return allowed, ""

    def _fitting(self, tokens: Sequence[int], forced: list[int], left: int) -> list[int]:
        reader = self._synced(tokens)
        if self._tight(reader, left):
            planned = self._plan(reader, left)
            if planned is None:
                return forced
            return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(forced, planned))]
        costs = reader.costs_along(forced)
        for count in range(len(forced), 0, -1):
            if costs[count - 1] <= left - count:
                return forced[:count]
        return [] if reader.state.alive else forced

    def _narrowed(self, tokens: Sequence[int], allowed: Allowed, left: int) -> tuple[Allowed, Narrowed]:
        reader = self._synced(tokens)
        if not reader.state.alive:  # the mask parses the text differently: nothing is known
            self._off = True
            return allowed, ""
        tight = self._tight(reader, left)
        ways = reader.ways(allowed)
        good = reader.costs(ways) <= left - 1
        kind: Narrowed = "tokens"
        if self._reasoning_is_over(reader, len(tokens)):
            closing = good & (reader.exits(ways) < reader.exit)
            if closing.any() and (closing != good).any():
                good, kind = closing, "reasoning"
        if good.all() and not tight:
            return allowed, ""
        planned = self._plan(reader, left) if tight or not good.any() else []
        if planned is None:
            self._off = tight
            return allowed, ""
        narrow = ways.those(good)
        if planned and (allowed[planned[0]] or (not good.any() and self._takes(planned[0]))):
            narrow[planned[0]] = True
        if not narrow.any():
            return allowed, ""
        return (narrow, kind) if (narrow != allowed).any() else (allowed, "")

    def _tight(self, reader: AnswerReader, left: int) -> bool:
        """Whether no known completion fits; one without an end token is better than none."""
        tight = reader.cost > left
        if tight and self._plan(reader, left) is None and reader.without_end():
            return reader.cost > left
        return tight

    def _plan(self, reader: AnswerReader, left: int) -> list[int] | None:
        """The tokens of the shortest text from here on, if they fit."""
        if not self._planned:
            self._planned = reader.plan() or []
        return self._planned if self._planned and len(self._planned) <= left else None

    def _reasoning_is_over(self, reader: AnswerReader, count: int) -> bool:
        if self._most_reasoning is None:
            return False
        missing = self._most_reasoning - reader.reasoned
        self._soon = count + missing
        return missing <= 0 and reader.exit > 0

    def _synced(self, tokens: Sequence[int]) -> AnswerReader:
        """The reader after the tokens."""
        if self._reader is None:
            self._reader = AnswerReader(self._rules, self._spelling, self._most_reasoning is not None)
        new = list(tokens[self._read :])
        self._read = len(tokens)
        for token in new:
            self._planned = self._planned[1:] if self._planned and token == self._planned[0] else []
        self._reader.read(new)
        return self._reader
