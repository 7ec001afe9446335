"""Fair timing: compared runs alternate, so that other work of the machine affects all of them alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from glyphscope.events import RunRequest

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True)
class Plan:
    """The extent of measurements. More rounds give steadier medians; `call_rounds` use long prompts and are slowest.

    `call_tokens` is the limit of a call, by default that of a run: far from it, its budget has nothing to do, which no
    baseline has.
    """

    rounds: int
    call_rounds: int
    sizes: tuple[int, int, int]
    prompts: int
    call_tokens: int
    text_tokens: int


LIMIT = RunRequest(prompt="", registry={}).max_tokens
FULL = Plan(
    rounds=5, call_rounds=5, sizes=(1_000, 100_000, 1_000_000), prompts=7, call_tokens=LIMIT, text_tokens=96
)
QUICK = Plan(
    rounds=1, call_rounds=1, sizes=(1_000, 100_000, 1_000_000), prompts=2, call_tokens=LIMIT, text_tokens=48
)


def interleaved(runs: Mapping[K, Callable[[], T]], rounds: int) -> dict[K, list[T]]:
    """The results of each run, one per round. Every other round is reversed: A B, B A, A B, …"""
    results: dict[K, list[T]] = {key: [] for key in runs}
    for number in range(rounds):
        order = list(runs)
        for key in order if number % 2 == 0 else reversed(order):
            results[key].append(runs[key]())
    return results


def interleaved_by_prompt(
    runs: Mapping[tuple[str, int], Callable[[], T]], rounds: int
) -> dict[tuple[str, int], list[T]]:
    """`interleaved` for runs given by method and prompt: all rounds of a prompt are before those of the next.

    So a method that caches prompts evaluates each one only once.
    """
    results: dict[tuple[str, int], list[T]] = {}
    for prompt in dict.fromkeys(number for _, number in runs):
        results |= interleaved({key: run for key, run in runs.items() if key[1] == prompt}, rounds)
    return results


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The ratio in each round, in which both were disturbed alike."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def seconds(run: Callable[[], object]) -> float:
    """The duration of `run` in seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def private(process: int | str = "self") -> int:
    """The private memory of a process now, in bytes: `RssAnon`. The system has no peak of it; 0 where it has none."""
    with suppress(FileNotFoundError), open(f"/proc/{process}/status") as status:
        return sum(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))
    return 0


def model_processes() -> set[int]:
    """The processes of this one's models."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            parent = (entry / "status").read_text().split("PPid:")[1].split()[0]
            if int(parent) == os.getpid() and b"glyphscope.models.child" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
    return found


@dataclass(frozen=True)
class Stamped:
    """A generation: when the evaluation of its prompt's last token began, and the arrivals since.

    Each arrival has its time in seconds and the number of tokens that arrived.
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
    def intervals(self) -> list[float]:
        """Seconds between one arrival and the next."""
        times = [at for at, _ in self.arrivals]
        return [after - before for before, after in pairwise(times)]


def rates(runs: Sequence[Sequence[Stamped]]) -> list[float]:
    """Tokens per second in each round over several generations, each given by its rounds."""
    return [rate(generations) for generations in zip(*runs, strict=True)]


def rate(generations: Sequence[Stamped]) -> float:
    """Tokens per second over consecutive generations."""
    time_taken = sum(each.seconds for each in generations)
    return sum(each.tokens for each in generations) / time_taken if time_taken else 0.0
