"""The cost of a token once its logits are there: the mask read, the choice, and all figures with ten alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from glyphscope.events import Sampling
from glyphscope.models.decoding.loop import Evidence, best_token
from glyphscope.models.decoding.rows import Allowed, compiled
from glyphscope.models.decoding.sampler import SamplerState
from glyphscope_benchmarks.figures import Figure, Row
from glyphscope_benchmarks.timing import Plan, interleaved, ratios, seconds

SIZES = (49_152, 151_936, 262_144)
"""Logits of SmolLM2, Qwen 2.5 and Gemma."""
_SAMPLED = Sampling(
    temperature=0.8, top_k=40, top_p=0.95, repeat_penalty=1.1, frequency_penalty=0.1, presence_penalty=0.1
)
_CALLS, _ALLOWED, _RECENT = 200, 40, 300


def figures(plan: Plan) -> Iterator[Figure]:
    """Greedy tokens by the size of the vocabulary, and a sampled one of the largest."""
    for size, sampling in [(size, Sampling(temperature=0.0)) for size in SIZES] + [(SIZES[-1], _SAMPLED)]:
        taken = interleaved(_runs(size, sampling), plan.rounds)
        row = Row(
            f"evidence of a {'sampled' if sampling.temperature else 'greedy'} token, {size:,} logits, over exp",
            "ratio",
            f"the mask of {_ALLOWED} tokens read, the choice, and all figures with ten alternatives; over numpy's "
            "exp of the row and its sum",
        )
        times = {name: [each / _CALLS * 1e6 for each in rounds] for name, rounds in taken.items()}
        yield row.of(
            ratios(times["ours"], times["exp"]),
            note="in C" if compiled() is not None else "with numpy",
            samples={"ours_us": min(times["ours"]), "exp_us": min(times["exp"])},
        )


def _runs(size: int, sampling: Sampling) -> dict[str, Callable[[], float]]:
    random = np.random.default_rng(1)
    row = random.normal(0, 3, size).astype(np.float32)
    row[7] = 20
    bits = Allowed.listing([7, *random.choice(size, _ALLOWED, replace=False).tolist()], size).bits
    pieces = [b"x"] * size
    recent = random.integers(0, size, _RECENT).tolist()
    sampler = SamplerState(sampling, pieces)

    def ours() -> None:
        for _ in range(_CALLS):
            allowed = Allowed(bits.copy(), size)
            best = best_token(row)
            draw = sampler.draw(row, allowed, recent, best)
            evidence = Evidence(row, best, allowed)
            _ = evidence.logprob(draw.id), evidence.rank(draw.id), evidence.feasible, evidence.entropy
            evidence.alternatives(10, draw, pieces)

    def exp() -> None:
        for _ in range(_CALLS):
            np.exp(row - row.max()).sum()

    return {"ours": lambda: seconds(ours), "exp": lambda: seconds(exp)}
