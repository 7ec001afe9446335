"""The limits of a conversation: turns, tokens, time, turns without progress, and repeated calls."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from glyphscope.events import LimitReached, LoopSettings
from glyphscope.runs.context import Context
from glyphscope.runs.recorded import RecordedInteraction


def calls_per_turn(settings: LoopSettings) -> int | None:
    """The number of calls in one turn that are executed; None for any number."""
    if settings.max_tool_calls_per_turn is None and not settings.parallel_tool_calls:
        return 1
    return settings.max_tool_calls_per_turn


class Guards:
    """Counts turns, tokens and calls; methods return the event of a reached limit, without a timestamp, or None."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.request.loop
        self._calls: Counter[str] = Counter()
        self._unused = 0  # turns without a valid call, in a row

    @property
    def tokens_left(self) -> int:
        return self._settings.max_total_tokens - self._context.spent.tokens

    def before_turn(self, turns: int, *, last: bool) -> LimitReached | None:
        """The limit reached after `turns` turns. The turn that requests the last answer again is not counted."""
        if (late := self.late(turns)) is not None:
            return late
        if self.tokens_left <= 0:
            return self.tokens()
        if turns >= self._settings.max_turns and not last:
            return self._limit("max_turns", turns, f"The conversation took {turns} turns without an answer.")
        return None

    @property
    def out_of_time(self) -> bool:
        """Whether a generation must be stopped now; a recorded one stops where it did in the record."""
        recorded = isinstance(self._context.interaction, RecordedInteraction)
        return not recorded and self._worked >= self._settings.max_seconds

    @property
    def _worked(self) -> float:
        """Seconds since the run started, without the time spent waiting for a person."""
        return self._context.emitter.now - self._context.spent.waited

    def late(self, turns: int) -> LimitReached | None:
        """The time limit, if it is reached after this many turns; in a replay, as recorded."""
        interaction = self._context.interaction
        seconds = interaction.elapsed(turns) if isinstance(interaction, RecordedInteraction) else self._worked
        if seconds < self._settings.max_seconds:
            return None
        return self._limit("max_seconds", seconds, f"The conversation took {seconds:.1f} seconds.")

    def tokens(self) -> LimitReached:
        used = self._context.spent.tokens
        return self._limit("max_total_tokens", used, f"The model wrote {used} tokens.")

    def unused_turn(self, why: str) -> LimitReached | None:
        """Count a turn without a valid call; returns the limit if there were too many in a row."""
        self._unused += 1
        if self._unused < self._settings.max_invalid_turns:
            return None
        return self._limit(
            "max_invalid_turns",
            self._unused,
            f"Several turns in a row made no progress, the last one because {why}.",
        )

    def used_turn(self) -> None:
        self._unused = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> LimitReached | None:
        """Count a call that is to be executed; returns the limit if the same call was executed too often already."""
        key = json.dumps([tool, arguments], sort_keys=True)
        if self._calls[key] >= self._settings.max_identical_calls:
            used = self._calls[key] + 1
            return self._limit(
                "max_identical_calls",
                used,
                f"The same call of '{tool}' came {used} times and does not run again.",
            )
        self._calls[key] += 1
        return None

    def cut_answer(self, tokens: int) -> LimitReached:
        """The limit that cut off an answer: the tokens of a turn, or the model's context. An endpoint only says that it
        cut the answer off.
        """
        allowed = self._context.request.max_tokens
        remote = self._context.model.info.kind == "remote"
        if tokens >= allowed or remote:
            message = "The answer was cut off."
            if tokens < allowed:
                message = "The endpoint cut off the answer, at its own limit or where its context is full."
            return LimitReached(limit="max_tokens", allowed=allowed, used=tokens, message=message)
        context = self._context.model.info.context
        message = "The answer was cut off where the model's context is full."
        return LimitReached(limit="context", allowed=context, used=context, message=message)

    def ignored(self, calls: int, allowed: int) -> LimitReached:
        left = calls - allowed
        return LimitReached(
            limit="max_tool_calls_per_turn",
            allowed=allowed,
            used=calls,
            message=f"Of {calls} calls in one turn, {left} {'is' if left == 1 else 'are'} ignored.",
        )

    def _limit(self, name: str, used: float, message: str) -> LimitReached:
        return LimitReached(
            limit=name, allowed=float(getattr(self._settings, name)), used=used, message=message
        )
