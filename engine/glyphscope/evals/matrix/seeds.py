"""Experiments on one prompt (columns of settings, two prompts, several seeds) as samples of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.suites.suite import VERSION, Expectation, Scenario, Suite
from glyphscope.events import RunRequest
from glyphscope.runs import PreparedRequest, RunState, prepare

MAX_SEEDS = 1000
_SEEDS = re.compile(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*")


def seeds_of(text: str) -> tuple[int, ...]:
    """The seeds of `1-10` or `1,3,7-9`, each once, in that order. Raises GlyphscopeError."""
    seeds: dict[int, None] = {}
    for piece in text.split(","):
        match = _SEEDS.fullmatch(piece)
        if match is None:
            raise GlyphscopeError(
                f"“{piece.strip()}” is not a seed.", where="seeds", hint="Write 1-10, or 1,3,7-9."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= MAX_SEEDS or len(seeds) + last - first >= MAX_SEEDS:
            raise GlyphscopeError(f"At most {MAX_SEEDS:,} seeds can be compared.", where="seeds")
        if last < first:
            raise GlyphscopeError(
                f"{first}-{last} runs backwards.", where="seeds", hint=f"Write {last}-{first}."
            )
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def distinct_seeds(seeds: Sequence[int], *requests: RunRequest) -> tuple[int, ...]:
    """The seeds that can give different answers: only the first if none of the requests samples at random."""
    return tuple(seeds) if any(request.sampling.temperature > 0 for request in requests) else tuple(seeds[:1])


def seeded(request: RunRequest, seed: int) -> RunRequest:
    """The request with that seed. It executes nothing, and no cache changes its result."""
    sampling = msgspec.structs.replace(request.sampling, seed=seed)
    return msgspec.structs.replace(request, sampling=sampling, repeatable=True, dispatch=False)


RunKey: TypeAlias = tuple[str, int]
"""A run of a plan: the name of its arm, and its seed."""


@dataclass(frozen=True)
class RequestPlan:
    """An experiment on one scenario. Its arms are whole requests, by name; a trial is a run with one of the `seeds`.
    Without seeds, each request is run once, unchanged.
    """

    arms: Mapping[str, RunRequest | PreparedRequest]
    seeds: tuple[int, ...] = ()

    @cached_property
    def samples(self) -> tuple[Planned, ...]:
        """All trials of the first arm, then all of the next, so that each prompt is evaluated once. An arm's name is
        the id of its scenario. Raises RegistryError.
        """
        prepared = {name: prepare(request) for name, request in self.arms.items()}
        scenarios = tuple(
            Scenario(id=name, prompt=each.request.prompt, expect=Expectation())
            for name, each in prepared.items()
        )
        suite = LoadedSuite(Suite(glyphscope_suite=VERSION, name="seeds", about="", scenarios=scenarios), b"")
        return tuple(
            Planned(
                Arm(model=request.model),
                suite,
                scenario,
                trial,
                request.sampling.seed,
                replace(each, request=request),
            )
            for scenario, each in zip(scenarios, prepared.values())
            for trial, request in enumerate(self._trials(each.request), 1)
        )

    def _trials(self, request: RunRequest) -> list[RunRequest]:
        return [seeded(request, seed) for seed in self.seeds] or [request]


class RunResults(Protocol):
    """The figures of an experiment, counted from its runs."""

    def add(self, planned: Planned, state: RunState) -> object:
        """Add a run that has ended."""


def run_key(planned: Planned) -> RunKey:
    """The key of a sample of a `RequestPlan`."""
    return planned.scenario.id, planned.seed
