"""The forecast of the time for the remaining samples, from the finished ones.

The time of a sample depends on its arm (a text that is stopped at its first error is short), and on whether its prompt
begins like the previous one: otherwise all of it must be read. Both are known in advance, so samples are grouped into
kinds by them; within a kind, scenarios differ, which averages out.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable
from functools import partial
from typing import NamedTuple

from glyphscope.evals.matrix.plan import Planned

LATEST = 100
"""The number of samples of a kind, the latest ones, from which its time is computed."""


class _Kind(NamedTuple):
    """Samples of one arm that take about as long; `reads`: their prompts differ from the previous sample's."""

    arm: str
    reads: bool


class Forecast:
    """The forecast for samples in the order in which they are made. Times are for one job, in seconds.

    The very first sample includes a warm-up, so it counts only while nothing else is known of its kind.
    """

    def __init__(self, planned: Iterable[Planned]) -> None:
        self._left: Counter[_Kind] = Counter()
        self._reading: set[str] = set()
        """The ids of the samples whose prompts are read: few, as arms and trials have the same ones."""
        before: Hashable = None
        for each in planned:
            prompt = each.prompt_kind
            if prompt != before:
                self._reading.add(each.id)
            self._left[_Kind(each.arm.id, prompt != before)] += 1
            before = prompt
        self._took: dict[_Kind, deque[float]] = defaultdict(partial(deque, maxlen=LATEST))
        self._totals: dict[_Kind, tuple[float, int]] = {}
        """The total of these times, and their number."""
        self._warmed_up: _Kind | None = None

    def add(self, planned: Planned, seconds: float) -> None:
        """Record the time of a finished sample."""
        kind = _Kind(planned.arm.id, planned.id in self._reading)
        self._left[kind] -= 1
        if kind == self._warmed_up:
            self._warmed_up = None
            self._took[kind].clear()
        elif not self._took:
            self._warmed_up = kind
        self._took[kind].append(seconds)
        self._totals[kind] = _total(sorted(self._took[kind])), len(self._took[kind])

    def cancel_arms(self, arms: Iterable[str]) -> None:
        """Drop the remaining samples of these arms."""
        for arm in arms:
            for reads in (True, False):
                self._left[_Kind(arm, reads)] = 0

    @property
    def left(self) -> float:
        """The time for all remaining samples; 0 before the first one is finished."""
        usual, _ = self._mean(self._totals)
        return sum(number * self._seconds(kind, usual) for kind, number in self._left.items() if number)

    def _seconds(self, kind: _Kind, usual: float) -> float:
        """The mean of its kind, or of the most similar kinds if it has no samples yet, pulled towards the mean of all
        samples as if one more had taken that long: a single long text must not dominate two or three samples.
        """
        for kinds in (
            (kind,),
            (each for each in self._totals if each.reads == kind.reads),
            (each for each in self._totals if each.arm == kind.arm),
        ):
            mean, made = self._mean(kinds)
            if made:
                return (mean * made + usual) / (made + 1)
        return usual

    def _mean(self, kinds: Iterable[_Kind]) -> tuple[float, int]:
        """The mean of these kinds, and the number of samples; 0.0 without any."""
        seconds, made = 0.0, 0
        for each in kinds:
            total, number = self._totals.get(each, (0.0, 0))
            seconds, made = seconds + total, made + number
        return seconds / made if made else 0.0, made


def _total(took: list[float]) -> float:
    """The sum of sorted times. A text that ran to its limit among few others says little about the rest: it counts as
    at most a multiple of the median, which grows with their number.
    """
    if len(took) < 3:
        return sum(took)
    most = took[len(took) // 2] * (2 + len(took) / 4)
    return sum(min(each, most) for each in took)
