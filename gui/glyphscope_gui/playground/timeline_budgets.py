"""The budgets of a whole run and their use so far: for the gauges above its timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glyphscope.events import LimitReached, QuestionAsked, RepairTried
from glyphscope.runs import RunState
from glyphscope.text.figures import count, duration, estimate
from glyphscope_gui.shared.language import tr

_TITLES = {
    "max_tool_args_bytes": tr("Arguments"),
    "max_tool_output_bytes": tr("Result"),
    "max_tool_calls_per_turn": tr("Calls per turn"),
    "max_identical_calls": tr("Same call"),
    "max_invalid_turns": tr("No-progress turns"),
    "fix_empty_final": tr("Empty answers"),
}
"""Titles of limits that are shown only once reached."""


@dataclass(frozen=True)
class Budget:
    """`used` of `most`, under the name of its setting; `fired` where it was reached."""

    name: str
    title: str
    used: float
    most: float
    fired: bool = False

    @property
    def words(self) -> str:
        """`Turns 3 of 8`."""
        if self.name == "max_seconds":
            used, most = estimate(self.used) if self.used >= 0.5 else "0 s", duration(self.most)
        else:
            used, most = count(round(self.used)), count(round(self.most))
        return tr("{title} {used} of {most}", title=self.title, used=used, most=most)


def budgets(
    state: RunState, now: float, fired: Mapping[str, LimitReached] | None = None
) -> tuple[Budget, ...]:
    """The budgets of this run's strategy, and those that were reached; `now` in seconds since the run
    started.

    The time in which a person was asked does not count.
    """
    fired = fired or {}
    if state.started is None:
        return ()
    request = state.started.request
    found: list[Budget] = []
    if request.strategy == "loop":
        limits = request.loop
        turns = max((stage.turn for stage in state.stages), default=0)
        tokens = sum(len(stage.tokens) for stage in state.stages)
        for name, title, used, most in (
            ("max_turns", tr("Turns"), turns, limits.max_turns),
            ("max_total_tokens", tr("Tokens"), tokens, limits.max_total_tokens),
            ("max_seconds", tr("Time"), max(now - state.waited, 0.0), limits.max_seconds),
        ):
            found.append(Budget(name, title, used, most, name in fired))
    if request.repair.attempts:
        tried = sum(_count(stage.outline, RepairTried) for stage in state.stages)
        found.append(Budget("attempts", tr("Repairs"), tried, request.repair.attempts))
    asked = sum(_count(stage.outline, QuestionAsked) for stage in state.stages)
    if asked and request.strategy == "route-execute":
        found.append(Budget("max_questions", tr("Questions"), asked, request.router.max_questions))
    known = {budget.name for budget in found}
    for name, event in fired.items():
        if name not in known:
            found.append(Budget(name, _TITLES.get(name, name), event.used, event.allowed, True))
    return tuple(found)


def _count(events: list, kind: type) -> int:  # type: ignore[type-arg]
    return sum(isinstance(event, kind) for event in events)
