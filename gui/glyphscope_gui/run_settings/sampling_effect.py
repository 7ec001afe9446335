"""What the sampling filters did in a run: how many tokens each left, in the middle of all that were drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median_low

from glyphscope.calling import RunState


@dataclass(frozen=True)
class SamplingEffect:
    """Medians over the `drawn` tokens of a run: how many were allowed, and how many each filter left of them.

    `single` counts the draws for which only one token was left, `longest` the tokens of the longest answer.
    """

    drawn: int
    allowed: int
    top_k: int
    top_p: int
    min_p: int
    single: int
    longest: int


def effect_of(state: RunState) -> SamplingEffect:
    """Over all stages of the run. Without a drawn token (a greedy run, an endpoint's), all but `longest` is 0."""
    left = list(_left(state))
    allowed, top_k, top_p, min_p = (median_low(column) for column in zip(*left)) if left else (0, 0, 0, 0)
    return SamplingEffect(
        drawn=len(left),
        allowed=allowed,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        single=sum(each[-1] == 1 for each in left),
        longest=max((len(stage.tokens) for stage in state.stages), default=0),
    )


def _left(state: RunState) -> Iterator[tuple[int, int, int, int]]:
    for stage in state.stages:
        for token in stage.tokens:
            if len(token.step.left) == 3:
                top_k, top_p, min_p = token.step.left
                yield token.step.allowed, top_k, top_p, min_p
