"""The number of examples of a property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Row = TypeVar("Row")

FULL = 2000
"""Examples of the profile that `make test` uses."""


def at_most(count: int) -> settings:
    """Return settings with the profile's number of examples, but in `make test` at most `count`, to stay quick.

    A deeper profile multiplies both by the same factor.
    """
    profile = settings().max_examples
    return settings(max_examples=min(profile, count * max(1, profile // FULL)))


def rounds(full: int, deep: int) -> int:
    """Return how often a test repeats what it draws itself: `deep` times in a deeper profile than `make test`'s."""
    return full if settings().max_examples <= FULL else deep


def some(rows: Sequence[Row], one_of: int) -> Sequence[Row]:
    """Return one in so many of a long list; a deeper profile takes all."""
    return rows[::one_of] if settings().max_examples <= FULL else rows
