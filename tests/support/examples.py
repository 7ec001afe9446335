"""How many examples a property is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Row = TypeVar("Row")

FULL = 2000
"""Examples of the profile with which `make test` runs."""


def at_most(count: int) -> settings:
    """The profile's number of examples, but in `make test` no more than `count`: so that all of it stays quick.

    A deeper profile has as many times more of them as it has of the others.
    """
    profile = settings().max_examples
    return settings(max_examples=min(profile, count * max(1, profile // FULL)))


def some(rows: Sequence[Row], one_of: int) -> Sequence[Row]:
    """One of so many of a long list; a deeper profile takes all."""
    return rows[::one_of] if settings().max_examples <= FULL else rows
