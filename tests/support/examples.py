"""How many examples a property is tried on."""

from __future__ import annotations

from hypothesis import settings


def at_most(count: int) -> settings:
    """The profile's number of examples, but no more than `count`: for properties whose every example is slow."""
    return settings(max_examples=min(count, settings().max_examples))
