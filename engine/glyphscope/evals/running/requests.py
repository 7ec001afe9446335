"""From an arm and a scenario to the run's request, and from a finished run to what the next turn starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from glyphscope.calling import RunState, StageState, compose
from glyphscope.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.running.scripted_tools import SCRIPTED
from glyphscope.evals.suites.suite import Scenario, Suite
from glyphscope.events import (
    ApprovalRule,
    Message,
    QuestionAnswered,
    QuestionAsked,
    RunRequest,
    Sampling,
    ToolCall,
    ToolResult,
)
from glyphscope.notation.native import native_format
from glyphscope.registry import ToolRegistry

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
    """The scenario's first prompt, asked of the arm, with the tools of `registry`.

    What the scenario says wins over what the suite says, and that over the arm's; settings of settings (`loop`,
    `router`, `repair`) are merged by their members. `presets` of the tool loop come before all of these. Nobody is
    asked anything: calls that are carried out are the scripted tools'. Raises GlyphscopeError for members that do not
    fit.
    """
    members = _merged(_merged(_of_arm(arm, suite), suite.request), scenario.request)
    if scenario.answers:
        members = _merged(members, {"router": {"answers": list(scenario.answers)}})
    carried_out = members["strategy"] == "loop" or bool(members.get("dispatch"))
    try:
        members["loop"] = _loop(members, presets)
        return msgspec.convert(
            {
                **members,
                "prompt": scenario.prompt,
                "registry": registry.to_document(),
                "sampling": sampling,
                "sources": {tool.name: SCRIPTED for tool in registry.allowed} if carried_out else {},
                "approvals": _ALLOWED if carried_out else (),
            },
            RunRequest,
        )
    except msgspec.ValidationError as error:
        raise GlyphscopeError(
            f"The members of the request do not fit: {error}.", where=f"{suite.name}/{scenario.id}"
        ) from None


def history_after(state: RunState, request: RunRequest) -> tuple[Message, ...]:
    """What was said until the end of this run, for the `history` of the next turn's request.

    That is the prompt, what the model wrote that came to something, and each result as it was told. Of a run that came
    to nothing it is the model's last text: a conversation goes on from what was said. Turns of the tool loop that came
    to nothing are left out, as the loop itself leaves them out.
    """
    messages = [*request.history, Message("user", request.prompt)]
    settled = request if state.started is None else state.started.request
    said = _conversation(state, settled) if settled.strategy == "loop" else _one_call(state, settled)
    return (*messages, *(message for message in said if message.content or message.tool_calls))


def _of_arm(arm: Arm, suite: Suite) -> dict[str, Any]:
    native = arm.notation == "native"
    return {
        "model": arm.model,
        "preset": arm.preset,
        "notation": "json" if native else arm.notation,
        "native": "auto" if native else "",
        "shape": arm.shape,
        "constraint": arm.constraint,
        "thinking": arm.thinking,
        "constrain_from": arm.constrain_from,
        "order": arm.order,
        "strategy": arm.strategy or suite.strategy,
        "stop_on": "error",
        "repair": {"attempts": arm.repair, "extract": arm.repair > 0},
    }


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Both, `over` winning; the settings of settings by their members."""
    merged = {**under, **over}
    for name in ("loop", "router", "repair"):
        if name in under and isinstance(over.get(name), dict):
            merged[name] = {**under[name], **over[name]}
    return merged


def _loop(members: dict[str, Any], presets: Sequence[str]) -> dict[str, Any]:
    """The loop's settings: presets first, those of the suite after the recommended ones, then what is said by name."""
    said = dict(members.get("loop", {}))
    names = [*(presets if members["strategy"] == "loop" else ()), *said.pop("presets", ())]
    composed = msgspec.to_builtins(compose(list(dict.fromkeys(names)))) if names else {}
    return {**composed, **said}


def _conversation(state: RunState, request: RunRequest) -> Iterator[Message]:
    """The turns of a tool loop that were kept."""
    for stage in state.stages:
        if stage.calls:
            native = request.native == "template"
            yield _called(stage) if native else Message("assistant", _up_to_last_call(stage))
        yield from _results(stage, request)
    if state.answer is not None:
        yield Message("assistant", state.answer.text)


def _up_to_last_call(stage: StageState) -> str:
    """The text as the loop keeps it; where a transform changed it, the calls alone."""
    last = stage.calls[-1].text
    place = stage.text.rfind(last)
    if place < 0:
        return "\n".join(call.text for call in stage.calls)
    return stage.text[: place + len(last)].strip()


def _one_call(state: RunState, request: RunRequest) -> Iterator[Message]:
    """Questions that were answered, then the call (or what was written in its place), then its result."""
    question = ""
    for stage in state.stages:
        for event in stage.outline:
            if isinstance(event, QuestionAsked):
                question = event.question
            elif isinstance(event, QuestionAnswered) and event.answer:
                yield Message("assistant", question)
                yield Message("user", event.answer)
                question = ""
    called = next((stage for stage in reversed(state.stages) if stage.calls), None)
    if called is not None and request.native == "template" and not question:
        yield _called(called)
    else:
        text = question or _as_native(_written(state), request, whole=state.call is not None)
        yield Message("assistant", text.strip())
    for stage in state.stages:
        yield from _results(stage, request)


def _written(state: RunState) -> str:
    if state.call is not None:
        return state.call.text
    return next((stage.text for stage in reversed(state.stages) if stage.text), "")


def _as_native(text: str, request: RunRequest, *, whole: bool) -> str:
    """The text as the model's own notation has it: with what the answer was begun with, and a call closed."""
    native = native_format(request.native) if request.native else None
    if native is None or not (whole or request.constraint != "off"):
        return text
    if native.begun and native.marker not in text:
        text = native.begun + text
    if not whole or not native.closing or text.rstrip().endswith(native.closing):
        return text
    return f"{text}\n{native.closing}" if native.begun.endswith("\n") else text + native.closing


def _called(stage: StageState) -> Message:
    """A turn in the model's own form, for its template to write."""
    parts = {"text": "", "reasoning": ""}
    for segment in stage.segments:
        if segment.kind in parts:
            parts[segment.kind] += stage.text[segment.start : segment.end]
    calls = tuple(ToolCall(call.tool, call.arguments, call.call) for call in stage.calls)
    return Message("assistant", parts["text"].strip(), calls, parts["reasoning"].strip())


def _results(stage: StageState, request: RunRequest) -> Iterator[Message]:
    results = [event for event in stage.outline if isinstance(event, ToolResult)]
    if request.native != "template":
        return (Message("tool", event.told) for event in results)
    return (Message("tool", event.told, tool_call_id=event.call, name=event.tool) for event in results)
