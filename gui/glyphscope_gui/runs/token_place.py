"""A place in a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenPlace:
    """A token of a run: the index of its stage among the run's stages, and its index in that stage."""

    stage: int
    token: int
