"""The number of examples of a property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Row = TypeVar("Row")

FULL = 200
"""Examples of the profile that `make test` uses."""
PUSH = 50
"""Examples in `make test` of the properties that have a separate number."""


def at_most(count: int) -> settings:
    """Return settings with fewer examples than the profile has: `PUSH` at most in `make test`, to stay quick.

    A deeper profile takes `count` for each 2,000 that it has.
    """
    profile = settings().max_examples
    return settings(max_examples=min(profile, count, PUSH) if profile <= FULL else count * profile // 2000)


def rounds(full: int, deep: int) -> int:
    """Return how often a test repeats what it draws itself: `deep` times in a deeper profile than `make test`'s."""
    return full if settings().max_examples <= FULL else deep


def some(rows: Sequence[Row], one_of: int) -> Sequence[Row]:
    """Return one in so many of a long list; a deeper profile takes all."""
    return rows[::one_of] if settings().max_examples <= FULL else rows
