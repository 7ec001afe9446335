"""Scenarios that are really run, with scripted models, and judged."""

from __future__ import annotations

import threading
from typing import Any

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.running import SampleAndRuns, run_sample
from glyphscope.evals.suites.suite import Expectation, Scenario, Suite
from glyphscope.events import ExpectedCall
from glyphscope.registry import default_registry
from glyphscope.runs import RunState, run_state
from talks import Talker

SUITE = Suite(glyphscope_suite=1, name="made", about="made for a test")
PLAIN: dict[str, Any] = {"model": "scripted:x", "constraint": "off"}


def expectation(*calls: ExpectedCall, **expect: Any) -> Expectation:
    return Expectation(calls=calls, **expect)


def call_of(tool: str, **arguments: Any) -> ExpectedCall:
    return ExpectedCall(tools=(tool,), arguments=arguments)


def asked(expect: Expectation, **members: Any) -> Scenario:
    return Scenario(**{"id": "one", "prompt": "Find x.", "expect": expect, **members})


def sample_of(scenario: Scenario, *said: Any, **arm: Any) -> SampleAndRuns:
    """Return the sample of a model that says those texts one after the other, without a constraint, and its runs.

    `model` and `registry` are the model itself and the suite's tools; the other names are members of the arm.
    """
    model = arm.pop("model", None) or Talker(*said)
    registry = arm.pop("registry", None) or default_registry()
    suite = LoadedSuite(msgspec.structs.replace(SUITE, registry=registry.to_document()), b"")
    planned = Planned(Arm(**{**PLAIN, **arm}), suite, scenario, 1, 7)
    return run_sample(planned, model, threading.Event())


def verdict(scenario: Scenario, *said: Any, **arm: Any) -> Sample:
    return sample_of(scenario, *said, **arm)[0]


def made(scenario: Scenario, *said: Any, **arm: Any) -> list[RunState]:
    """Return the runs of all turns of the scenario."""
    return [run_state(events) for events in sample_of(scenario, *said, **arm)[1]]


def reasons(judged: Sample) -> list[str]:
    return [failure.reason for failure in judged.failures]


def shares(judged: Sample) -> tuple[bool | None, ...]:
    """Return the shares of parsed, valid, right tool, right arguments, ok."""
    return judged.parsed, judged.valid, judged.right_tool, judged.right_arguments, judged.ok
