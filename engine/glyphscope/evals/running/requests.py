"""Makes a run's request: from an arm and a scenario, or from another request and the settings that a comparison varies.

The tools that answer by a scenario's script give every arm of a matrix the same results.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration
from glyphscope.base.shorten import shorten
from glyphscope.base.structs import ready
from glyphscope.evals.matrix.arms import LONG, Arm, variables_of
from glyphscope.evals.suites.suite import SCRIPTED, Scenario, ScriptedResult, Suite, answer_of
from glyphscope.events import (
    ApprovalRule,
    LoopSettings,
    RunRequest,
    Sampling,
    ToolContent,
    notation_members,
    settings_of,
    under_constraint,
)
from glyphscope.registry import Tool, ToolRegistry, parse_document
from glyphscope.runs.strategies import compose
from glyphscope.tools import CallOptions, Outcome, ToolSource
from glyphscope.validation.matching import has_all

_MEMBERS, _SAMPLING = frozenset(RunRequest.__struct_fields__), frozenset(Sampling.__struct_fields__)
_LOOP = frozenset(settings_of(LoopSettings)) - _MEMBERS


def request_for(
    arm: Arm,
    suite: Suite,
    scenario: Scenario,
    registry: ToolRegistry,
    sampling: Sampling,
    *,
    presets: Sequence[str] = (),
    servers: Mapping[str, str] | None = None,
) -> RunRequest:
    """The request with the scenario's first prompt and the arm's settings, with the tools of `registry`.

    The scenario's members override the suite's, which override the arm's, but for the arm's own texts of the prompt;
    nested settings (`loop`, `router`, `repair`) are merged by their members. `presets` of the tool loop come before
    all of these. Nothing waits for a person: calls are executed by the scripted tools, or by the server that `servers`
    names for a tool, if the scenario's script does not. An answer that is not a call is
    given by the strategy direct, whatever the arm's is. Raises GlyphscopeError for members that do not fit.
    """
    texts = {name: value for name in LONG if (value := getattr(arm, name)) is not None}
    members = _merged(_merged(_of_arm(arm, suite), suite.request), scenario.request) | texts
    if arm.tool_search is not None:
        members = _merged(members, {"loop": {"tool_search": arm.tool_search}})
    if scenario.answers:
        members = _merged(members, {"router": {"answers": list(scenario.answers)}})
    members["answer"] = answer_of(suite, scenario, arm.answer)
    if not members["answer"].is_call:
        members["strategy"] = "direct"
    executed = members["strategy"] == "loop" or bool(members.get("dispatch"))
    scripted = {entry.tool for entry in scenario.script}
    sources = {
        tool.name: SCRIPTED if tool.name in scripted else (servers or {}).get(tool.name, SCRIPTED)
        for tool in registry.allowed
    }
    try:
        members["loop"] = _loop(members, presets)
        return msgspec.convert(
            {
                **members,
                "prompt": scenario.prompt,
                "registry": registry.to_document(),
                "sampling": sampling,
                "sources": sources if executed else {},
                "approvals": [
                    ApprovalRule(source=each, action="allow") for each in dict.fromkeys(sources.values())
                ]
                if executed
                else (),
            },
            ready(RunRequest),
        )
    except msgspec.ValidationError as error:
        raise GlyphscopeError(
            f"The members of the request do not fit: {error}.", where=f"{suite.name}/{scenario.id}"
        ) from None


def changed_request(base: RunRequest, settings: Mapping[str, Any]) -> RunRequest:
    """The request with these settings changed: members of a request, of its sampling or of its tool loop, by name.

    No tool runs outside of a tool loop, and no grammar is custom, as it is written for one notation.
    The order of arguments is the default under the constraint if it was the default before.
    """
    sampling = {name: value for name, value in settings.items() if name in _SAMPLING}
    loop = {name: value for name, value in settings.items() if name in _LOOP}
    return msgspec.structs.replace(
        under_constraint(base, settings.get("constraint", base.constraint)),
        **_members_of(settings),
        sampling=msgspec.structs.replace(base.sampling, **sampling),
        loop=msgspec.structs.replace(base.loop, **loop),
        grammar=None,
        dispatch=False,
    )


def _members_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are members of a request. A model's own notation defines its shape."""
    members = {
        name: value
        for name, value in settings.items()
        if name in _MEMBERS and not (name in LONG and value is None)
    }
    if isinstance(given := members.get("template_vars"), str):
        members["template_vars"] = variables_of(given)
    if (notation := settings.get("notation")) is not None:
        members |= notation_members(notation)
    if notation == "native":
        members.pop("shape", None)
    return members


def _of_arm(arm: Arm, suite: Suite) -> dict[str, Any]:
    return {
        "stop_on": "error",
        **_members_of(msgspec.structs.asdict(arm)),
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


class ScriptedTools:
    """A source of the registry's tools: the script answers calls, and `others` (the demo tools, MCP servers) execute
    those of their tools that it does not answer; the first that has a tool.

    A call without an answer is a tool error: its message says that there is no result for such a call, not that the
    tool does not exist, which would make the model choose another. A scripted timeout returns at once. Thread-safe; the
    caller closes the others.
    """

    name = identity = SCRIPTED

    def __init__(
        self,
        script: Sequence[ScriptedResult],
        registry: ToolRegistry | dict[str, Any],
        *others: ToolSource,
    ) -> None:
        """Raises RegistryError for an invalid document."""
        known = registry if isinstance(registry, ToolRegistry) else parse_document(registry)
        self._tools = tuple(known.allowed)
        self._names = frozenset(tool.name for tool in self._tools)
        self._others = {tool.name: other for other in reversed(others) for tool in other.tools()}
        self._lock = threading.Lock()
        self._script = tuple(script)
        self._used = [0] * len(self._script)

    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def claims(self, tool: str) -> dict[str, Any]:
        return {}

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        if options["cancel"].is_set():
            return Outcome(fault="cancelled", message="The call was cancelled before it began.")
        entry = self._next(tool, arguments)
        if entry is not None:
            return _outcome(entry, options["seconds"])
        if (other := self._others.get(tool)) is not None:
            return other.call(tool, arguments, **options)
        if tool not in self._names:
            return Outcome(fault="unknown", message=f"No executor for '{shorten(tool, 60)}'.")
        message = "has nothing for this call: no result for these arguments, or none that is left."
        return Outcome(fault="tool", message=f"'{shorten(tool, 60)}' {message}")

    def close(self) -> None:
        """Do nothing: it has no resources."""

    def _next(self, tool: str, arguments: dict[str, Any]) -> ScriptedResult | None:
        """The first entry that still applies to the call, counted as used once more."""
        with self._lock:
            for index, entry in enumerate(self._script):
                if entry.tool != tool or (entry.times and self._used[index] >= entry.times):
                    continue
                if has_all(entry.arguments, arguments):
                    self._used[index] += 1
                    return entry
        return None


def _outcome(entry: ScriptedResult, seconds: float) -> Outcome:
    if entry.fault == "timeout":
        message = entry.text or f"The tool did not answer within {duration(seconds)}."
        return Outcome(fault="timeout", message=message)
    if entry.fault:
        return Outcome(fault=entry.fault, message=entry.text or "The tool failed.")
    if entry.structured is None:
        return Outcome(content=(ToolContent(text=entry.text),))
    content = (ToolContent(text=entry.text),) if entry.text else ()
    return Outcome(content=content, structured=entry.structured)
