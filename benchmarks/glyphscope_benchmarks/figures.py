"""A figure of the bench: the measurement, its method and its target."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec

from glyphscope.errors import GlyphscopeError


class Target(msgspec.Struct, frozen=True):
    """The value that the figure has to be at most, or at least."""

    kind: Literal["at most", "at least"]
    value: float

    def met_by(self, measured: float) -> bool:
        return measured <= self.value if self.kind == "at most" else measured >= self.value


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the answer.

    `measured` is None where it could not be, and `note` says why; `met` is None then, and where there is no target.
    `compares` says exactly what was measured; `samples` are the values behind the figure, each with its unit in its
    name.
    """

    name: str
    unit: str
    measured: float | None
    target: Target | None
    met: bool | None
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

    def of(self, value: float, *, note: str = "", samples: dict[str, float] | None = None) -> Figure:
        """The figure with its value."""
        return Figure(
            name=self.name,
            unit=self.unit,
            measured=value,
            target=self.target,
            met=None if self.target is None else self.target.met_by(value),
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
            target=self.target,
            met=None,
            compares=self.compares,
            note=f"not measured: {reason}",
        )


def at_most(value: float) -> Target:
    return Target("at most", value)


def at_least(value: float) -> Target:
    return Target("at least", value)


def measured_or_missing(rows: Iterable[Row], measure: Callable[[], list[Figure]]) -> list[Figure]:
    """The rows of `measure`; where it fails in a way that a user can fix, the same rows with the reason."""
    try:
        return measure()
    except GlyphscopeError as error:
        return [row.missing(error.message) for row in rows]
