"""Fair clocks: what is compared takes turns, so that whatever else the machine does falls on all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True)
class Plan:
    """How much is measured. More rounds, steadier medians; `call_rounds` evaluate long prompts, and take longest."""

    rounds: int
    call_rounds: int
    sizes: tuple[int, int, int]
    prompts: int
    call_tokens: int
    text_tokens: int


FULL = Plan(
    rounds=5, call_rounds=5, sizes=(1_000, 100_000, 1_000_000), prompts=7, call_tokens=48, text_tokens=96
)
QUICK = Plan(
    rounds=1, call_rounds=1, sizes=(1_000, 100_000, 1_000_000), prompts=2, call_tokens=32, text_tokens=48
)


def interleaved(runs: Mapping[K, Callable[[], T]], rounds: int) -> dict[K, list[T]]:
    """Each run's results, one for each round. Every other round goes backwards: A B, B A, A B, …"""
    results: dict[K, list[T]] = {key: [] for key in runs}
    for number in range(rounds):
        order = list(runs)
        for key in order if number % 2 == 0 else reversed(order):
            results[key].append(runs[key]())
    return results


def interleaved_by_prompt(
    runs: Mapping[tuple[str, int], Callable[[], T]], rounds: int
) -> dict[tuple[str, int], list[T]]:
    """`interleaved` runs of several ways, given by way and prompt: all rounds of a prompt before those of the next.

    So a side that caches a prompt evaluates it once.
    """
    results: dict[tuple[str, int], list[T]] = {}
    for prompt in dict.fromkeys(number for _, number in runs):
        results |= interleaved({key: run for key, run in runs.items() if key[1] == prompt}, rounds)
    return results


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """One by the other, round by round: both were disturbed alike."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def seconds(run: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Stamped:
    """A generation: when the evaluation of its prompt's last token began, and what arrived since.

    Of each arrival the time in seconds and the number of tokens that came with it.
    """

    start: float
    arrivals: tuple[tuple[float, int], ...]

    @property
    def tokens(self) -> int:
        return sum(count for _, count in self.arrivals)

    @property
    def seconds(self) -> float:
        """From the start to the last arrival."""
        return self.arrivals[-1][0] - self.start if self.arrivals else 0.0

    @property
    def after_first(self) -> Stamped:
        """The generation since its first arrival, whose own tokens no longer count."""
        first = self.arrivals[0][0] if self.arrivals else self.start
        return Stamped(first, tuple(arrival for arrival in self.arrivals if arrival[0] > first))

    @property
    def intervals(self) -> list[float]:
        """Seconds between one arrival and the next."""
        times = [at for at, _ in self.arrivals]
        return [after - before for before, after in pairwise(times)]


def rates(runs: Sequence[Sequence[Stamped]]) -> list[float]:
    """Tokens per second of each round over several generations, each given by its rounds."""
    return [rate(generations) for generations in zip(*runs, strict=True)]


def rate(generations: Sequence[Stamped]) -> float:
    """Tokens per second over generations, one after the other."""
    time_taken = sum(each.seconds for each in generations)
    return sum(each.tokens for each in generations) / time_taken if time_taken else 0.0
