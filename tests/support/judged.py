"""Scenarios that are really run, with scripted models, and judged."""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.running.requests import request_for
from glyphscope.evals.running.scripted_tools import ScriptedTools
from glyphscope.evals.scoring.scorer import Verdict, score
from glyphscope.evals.suites.suite import Expectation, ExpectedCall, Scenario, Suite
from glyphscope.events import RunRequest, Sampling
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.runs import NonInteractive, RunState, history_after, run_state
from glyphscope.strategies import run
from glyphscope.tools.demo import DemoTools
from talks import Talker

SUITE = Suite(glyphscope_suite=1, name="made", about="made for a test")
PLAIN: dict[str, Any] = {"model": "scripted:x", "constraint": "off"}


def expectation(*calls: ExpectedCall, **expect: Any) -> Expectation:
    return Expectation(calls=calls, **expect)


def call_of(tool: str, **arguments: Any) -> ExpectedCall:
    return ExpectedCall(tools=(tool,), arguments=arguments)


def asked(expect: Expectation, **members: Any) -> Scenario:
    return Scenario(**{"id": "one", "prompt": "Find x.", "expect": expect, **members})


def requested(scenario: Scenario, registry: ToolRegistry | None = None, **arm: Any) -> RunRequest:
    """Return the scenario's request without a constraint; members of the arm by their names."""
    return request_for(
        Arm(**{**PLAIN, **arm}), SUITE, scenario, registry or default_registry(), Sampling(seed=7)
    )


def made(scenario: Scenario, *said: Any, **arm: Any) -> list[RunState]:
    """Return the runs of all turns of the scenario, in which the model says those texts one after the other."""
    return _made(scenario, said, arm)[0]


def verdict(scenario: Scenario, *said: Any, **arm: Any) -> Verdict:
    """Return the verdict on these turns, with the workspace as the demo tools left it."""
    states, workspace = _made(scenario, said, arm)
    return score(scenario, states, workspace=workspace)


def _made(
    scenario: Scenario, said: tuple[Any, ...], arm: dict[str, Any]
) -> tuple[list[RunState], dict[str, Any] | None]:
    model = arm.pop("model", None) or Talker(*said)
    request = requested(scenario, arm.pop("registry", None), **arm)
    demo = DemoTools() if scenario.demo else None
    try:
        interaction = NonInteractive({"scripted": ScriptedTools(scenario.script, request.registry, demo)})
        states = [run_state(run(request, model, interaction))]
        for turn in scenario.turns:
            history = history_after(states[-1], request)
            request = msgspec.structs.replace(request, prompt=turn.prompt, history=history)
            states.append(run_state(run(request, model, interaction)))
        return states, None if demo is None else demo.workspace
    finally:
        if demo is not None:
            demo.close()


def reasons(judged: Verdict) -> list[str]:
    return [failure.reason for failure in judged.failures]


def shares(judged: Verdict) -> tuple[bool | None, ...]:
    """Return the shares of parsed, valid, right tool, right arguments, ok."""
    return judged.parsed, judged.valid, judged.right_tool, judged.right_arguments, judged.ok
