"""A figure of the bench: its repeats, its method and its target."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError

Verdict: TypeAlias = Literal["met", "missed", "undecidable"]


class Target(msgspec.Struct, frozen=True):
    """The maximum or minimum value that the figure must have."""

    kind: Literal["at most", "at least"]
    value: float

    def met_by(self, measured: float) -> bool:
        return measured <= self.value if self.kind == "at most" else measured >= self.value

    def verdict(self, repeats: Sequence[float]) -> Verdict:
        """The median decides; a miss is undecidable if any repeat meets the target."""
        if self.met_by(statistics.median(repeats)):
            return "met"
        return "undecidable" if any(map(self.met_by, repeats)) else "missed"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the answer.

    `measured` is the median of the `repeats`, between `minimum` and `maximum`; None, with the reason in `note`, if it
    could not be measured. `verdict` is None then, and if there is no target. `better` states which values are better,
    even without a target. `compares` describes the measurement exactly; `samples` are the values behind the figure,
    each with its unit in its name.
    """

    name: str
    unit: str
    measured: float | None
    minimum: float | None = None
    maximum: float | None = None
    repeats: int = 0
    better: Literal["lower", "higher"]
    target: Target | None
    verdict: Verdict | None = None
    compares: str
    note: str = ""
    samples: dict[str, float] = {}


@dataclass(frozen=True)
class Row:
    """A figure before it is measured."""

    name: str
    unit: str
    compares: str
    target: Target | None = None
    higher_is_better: bool = False
    """Only for a figure without a target, which would determine it."""

    def of(
        self, repeats: Sequence[float], *, note: str = "", samples: dict[str, float] | None = None
    ) -> Figure:
        """The figure with its values, one per repeat, at least one."""
        return Figure(
            name=self.name,
            unit=self.unit,
            measured=statistics.median(repeats),
            minimum=min(repeats),
            maximum=max(repeats),
            repeats=len(repeats),
            better=self._better,
            target=self.target,
            verdict=None if self.target is None else self.target.verdict(repeats),
            compares=self.compares,
            note=note,
            samples=samples or {},
        )

    def missing(self, reason: str) -> Figure:
        """The figure that could not be measured."""
        return Figure(
            name=self.name,
            unit=self.unit,
            measured=None,
            better=self._better,
            target=self.target,
            compares=self.compares,
            note=f"not measured: {reason}",
        )

    @property
    def _better(self) -> Literal["lower", "higher"]:
        higher = self.higher_is_better or (self.target is not None and self.target.kind == "at least")
        return "higher" if higher else "lower"


def at_most(value: float) -> Target:
    return Target("at most", value)


def at_least(value: float) -> Target:
    return Target("at least", value)


def measured_or_missing(rows: Iterable[Row], measure: Callable[[], list[Figure]]) -> list[Figure]:
    """The figures of `measure`; if it fails in a way that a user can fix, missing figures with the reason."""
    try:
        return measure()
    except GlyphscopeError as error:
        return [row.missing(error.message) for row in rows]
