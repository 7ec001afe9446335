"""The forecast of the time for the remaining samples, from the finished ones.

The time of a sample depends on its arm (a text that is stopped at its first error is short), and on whether its prompt
begins like the previous one: otherwise all of it must be read. Both are known in advance, so samples are grouped into
kinds by them; within a kind, scenarios differ, which averages out.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from glyphscope.evals.matrix.plan import Planned


class _Kind(NamedTuple):
    """Samples of one arm that take about as long; `reads`: their prompts differ from the previous sample's."""

    arm: str
    reads: bool


class Forecast:
    """The forecast for samples in the order in which they are made. Times are for one job, in seconds.

    The very first sample includes a warm-up, so it counts only while nothing else is known of its kind.
    """

    def __init__(self, planned: Iterable[Planned]) -> None:
        self._kinds: dict[str, _Kind] = {}
        before: Hashable = None
        for each in planned:
            prompt = each.prompt_kind
            self._kinds[each.id] = _Kind(each.arm.id, prompt != before)
            before = prompt
        self._left = Counter(self._kinds.values())
        self._took: dict[_Kind, list[float]] = defaultdict(list)
        self._warmed_up: _Kind | None = None

    def add(self, id: str, seconds: float) -> None:
        """Record the time of a finished sample."""
        kind = self._kinds[id]
        self._left[kind] -= 1
        if kind == self._warmed_up:
            self._warmed_up = None
            self._took[kind].clear()
        elif not self._took:
            self._warmed_up = kind
        insort(self._took[kind], seconds)

    def cancel_arms(self, arms: Iterable[str]) -> None:
        """Drop the remaining samples of these arms."""
        for arm in arms:
            for reads in (True, False):
                self._left[_Kind(arm, reads)] = 0

    @property
    def left(self) -> float:
        """The time for all remaining samples; 0 before the first one is finished."""
        return sum(number * self._seconds(kind) for kind, number in self._left.items() if number)

    def _seconds(self, kind: _Kind) -> float:
        """The mean of its kind, or of the most similar kinds if it has no samples yet, pulled towards the mean of all
        samples as if one more had taken that long: a single long text must not dominate two or three samples.
        """
        usual, _ = self._mean(self._took)
        of_arm = [each for each in self._took if each.arm == kind.arm]
        alike = [each for each in self._took if each.reads == kind.reads]
        for kinds in ([kind], alike, of_arm):
            mean, made = self._mean(kinds)
            if made:
                return (mean * made + usual) / (made + 1)
        return usual

    def _mean(self, kinds: Iterable[_Kind]) -> tuple[float, int]:
        """The mean of these kinds, and the number of samples; 0.0 without any."""
        took = [self._took.get(each, []) for each in kinds]
        made = sum(map(len, took))
        return sum(map(_total, took)) / made if made else 0.0, made


def _total(took: list[float]) -> float:
    """The sum of sorted times. A text that ran to its limit among few others says little about the rest: it counts as
    at most a multiple of the median, which grows with their number.
    """
    if len(took) < 3:
        return sum(took)
    most = took[len(took) // 2] * (2 + len(took) / 4)
    return sum(min(each, most) for each in took)
