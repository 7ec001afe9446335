"""What a run has used of what it may use, whole: for the gauges above its timeline."""

from __future__ import annotations

from dataclasses import dataclass

from glyphscope.calling import RunState
from glyphscope.events import QuestionAsked, RepairTried


@dataclass(frozen=True)
class Budget:
    """`used` of `most`, under the name of its setting; `fired` where it ended something."""

    name: str
    title: str
    used: float
    most: float
    fired: bool = False

    @property
    def words(self) -> str:
        """`Turns 3 of 8`."""
        if self.name == "max_seconds":
            return f"{self.title} {self.used:.0f} of {self.most:g} s"
        return f"{self.title} {self.used:,.0f} of {self.most:,.0f}"


def budgets(state: RunState, now: float, fired: frozenset[str] = frozenset()) -> tuple[Budget, ...]:
    """Those that hold for this run's strategy; `now` in seconds since it started, `fired` the limits that did."""
    if state.started is None:
        return ()
    request = state.started.request
    found: list[Budget] = []
    if request.strategy == "loop":
        limits = request.loop
        turns = max((stage.turn for stage in state.stages), default=0)
        tokens = sum(len(stage.tokens) for stage in state.stages)
        for name, title, used, most in (
            ("max_turns", "Turns", turns, limits.max_turns),
            ("max_total_tokens", "Tokens", tokens, limits.max_total_tokens),
            ("max_seconds", "Time", now, limits.max_seconds),
        ):
            found.append(Budget(name, title, used, most, name in fired))
    if request.repair.attempts:
        tried = sum(_count(stage.outline, RepairTried) for stage in state.stages)
        found.append(Budget("attempts", "Repairs", tried, request.repair.attempts))
    asked = sum(_count(stage.outline, QuestionAsked) for stage in state.stages)
    if asked and request.strategy == "route-execute":
        found.append(Budget("max_questions", "Questions", asked, request.router.max_questions))
    return tuple(found)


def _count(events: list, kind: type) -> int:  # type: ignore[type-arg]
    return sum(isinstance(event, kind) for event in events)
