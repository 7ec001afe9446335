"""Makes a run's request from an arm and a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.running.scripted_tools import SCRIPTED
from glyphscope.evals.suites.suite import Scenario, Suite
from glyphscope.events import ApprovalRule, RunRequest, Sampling, notation_members
from glyphscope.registry import ToolRegistry
from glyphscope.strategies import compose
from glyphscope.structs import ready

_MEMBERS = frozenset(RunRequest.__struct_fields__)
_ALLOWED = (ApprovalRule(source=SCRIPTED, action="allow"),)


def request_for(
    arm: Arm,
    suite: Suite,
    scenario: Scenario,
    registry: ToolRegistry,
    sampling: Sampling,
    *,
    presets: Sequence[str] = (),
) -> RunRequest:
    """The request with the scenario's first prompt and the arm's settings, with the tools of `registry`.

    The scenario's members override the suite's, which override the arm's; nested settings (`loop`,
    `router`, `repair`) are merged by their members. `presets` of the tool loop come before all of these. Nothing
    waits for a person: calls are executed by the scripted tools. Raises GlyphscopeError for members that do not
    fit.
    """
    members = _merged(_merged(_of_arm(arm, suite), suite.request), scenario.request)
    if scenario.answers:
        members = _merged(members, {"router": {"answers": list(scenario.answers)}})
    executed = members["strategy"] == "loop" or bool(members.get("dispatch"))
    try:
        members["loop"] = _loop(members, presets)
        return msgspec.convert(
            {
                **members,
                "prompt": scenario.prompt,
                "registry": registry.to_document(),
                "sampling": sampling,
                "sources": {tool.name: SCRIPTED for tool in registry.allowed} if executed else {},
                "approvals": _ALLOWED if executed else (),
            },
            ready(RunRequest),
        )
    except msgspec.ValidationError as error:
        raise GlyphscopeError(
            f"The members of the request do not fit: {error}.", where=f"{suite.name}/{scenario.id}"
        ) from None


def _of_arm(arm: Arm, suite: Suite) -> dict[str, Any]:
    return {
        "stop_on": "error",
        **{name: value for name, value in msgspec.structs.asdict(arm).items() if name in _MEMBERS},
        **notation_members(arm.notation),
        "strategy": arm.strategy or suite.strategy,
        "repair": {"attempts": arm.repair, "extract": arm.repair > 0},
    }


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Both, with precedence for `over`; nested settings are merged by their members."""
    merged = {**under, **over}
    for name in ("loop", "router", "repair"):
        if name in under and isinstance(over.get(name), dict):
            merged[name] = {**under[name], **over[name]}
    return merged


def _loop(members: dict[str, Any], presets: Sequence[str]) -> dict[str, Any]:
    """The loop's settings: the recommended presets, the suite's presets, then settings given by name."""
    said = dict(members.get("loop", {}))
    names = [*(presets if members["strategy"] == "loop" else ()), *said.pop("presets", ())]
    composed = msgspec.to_builtins(compose(list(dict.fromkeys(names)))) if names else {}
    return {**composed, **said}
