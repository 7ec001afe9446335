"""The validated texts of a run, each with the verdict in the record, for a test to check.

Not all of them can be validated separately from their run. Omitted ones are reported with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.events import (
    AnyEvent,
    Extracted,
    Routed,
    RunRequest,
    StageKind,
    StageStarted,
    TransformActed,
    Violation,
)
from glyphscope.runs import RunState, StageState, reduce_event

Judge: TypeAlias = Literal["run", "call", "name", "arguments"]
"""The validator: the run's validator of calls, or the validator of a bare call or of one part of a call."""


class Verdict(NamedTuple):
    """A violation in the form that a test compares."""

    code: str
    char: int
    path: str


@dataclass(frozen=True)
class JudgedText:
    """A text of a `stage`. With `ended`, its end was also validated, and `valid` is the final verdict.

    `tool` and `arguments` are those of a valid call. `only` is the stage's only tool, if it had just one; `part_of` is
    the tool whose arguments the text is.
    """

    stage: str
    judge: Judge
    text: str
    ended: bool
    valid: bool
    verdicts: tuple[Verdict, ...] = ()
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    only: str = ""
    part_of: str = ""


class JudgedTexts(NamedTuple):
    """The texts; `omitted` has the reason for each text that is not included."""

    texts: tuple[JudgedText, ...]
    omitted: tuple[str, ...]


@dataclass
class _Stage:
    name: str
    kind: StageKind
    only: str = ""
    part_of: str = ""
    run: RunState = field(default_factory=RunState)
    """The state from this stage's events only, until it finished."""
    decided: int = 0
    """The number of tokens when the last violation was reported."""

    @property
    def state(self) -> StageState:
        return self.run.present

    def add(self, event: AnyEvent) -> None:
        if isinstance(event, Violation):
            if self.state.finished is not None:
                return
            self.decided = len(self.state.tokens)
        reduce_event(self.run, event)


_UNJUDGED: dict[StageKind, str] = {
    "continuation": "it continues a text that is judged already",
    "router": "a router's choice is not a call",
    "judge": "a judge's verdict is not a call",
}
"""The reason for omitting the text of such a stage."""


def judged_texts(request: RunRequest, events: Iterable[AnyEvent]) -> JudgedTexts:
    """The validated texts in the order of the run."""
    texts: list[JudgedText] = []
    omitted: list[str] = []
    for stage in _stages(events):
        if stage.kind == "tool":
            continue
        if reason := _UNJUDGED.get(stage.kind):
            omitted.append(f"{stage.name}: {reason}")
        elif stage.kind in ("turn", "final"):
            texts += _turn_calls(stage, request, omitted)
        else:
            own = _model_text(stage)
            if own is None:
                omitted.append(f"{stage.name}: it did not finish")
            else:
                texts.append(own)
            if request.native != "template":  # where a call's text cannot be validated by itself
                texts += _extracted_calls(stage, own)
    return JudgedTexts(tuple(texts), tuple(omitted))


def _stages(events: Iterable[AnyEvent]) -> list[_Stage]:
    stages: list[_Stage] = []
    routed = named = ""
    repaired: StageKind = "call"
    for event in events:
        if isinstance(event, StageStarted):
            kind = event.kind
            if kind != "repair":
                repaired = kind
            elif repaired == "router":
                kind = "router"
            only = routed if repaired == "executor" else ""
            stages.append(_Stage(event.stage, kind, only, named if kind == "arguments" else ""))
        elif isinstance(event, Routed):
            routed = event.tool
        elif stages:
            stages[-1].add(event)
            if stages[-1].kind == "name":
                known = stages[-1].state.tool
                named = known.name if known is not None else ""
    return stages


def _model_text(stage: _Stage) -> JudgedText | None:
    """The model's text in this stage; None if its validation cannot be reproduced."""
    state, finished = stage.state, stage.state.finished
    if finished is None:
        return None
    judge: Judge = "name" if stage.kind == "name" else "arguments" if stage.kind == "arguments" else "run"
    ended = finished.reason not in ("aborted", "cancelled")
    # tokens decoded after the abort were not validated
    tokens = state.tokens[: stage.decided] if state.aborted else state.tokens
    end = state.stop_string.char if state.stop_string is not None else None
    text = "".join(token.step.text for token in tokens)[:end]
    whole = finished.valid and judge == "run"
    call = next((call for call in state.calls if whole and call.text == text), None)
    return JudgedText(
        stage=stage.name,
        judge=judge,
        text=text,
        ended=ended,
        valid=finished.valid,
        verdicts=tuple(Verdict(each.code, each.char, each.path) for each in state.violations),
        tool=call.tool if call else None,
        arguments=call.arguments if call else None,
        only=stage.only,
        part_of=stage.part_of,
    )


def _extracted_calls(stage: _Stage, own: JudgedText | None) -> list[JudgedText]:
    """Calls that the model did not write in one piece: extracted from a text, or combined from two texts."""
    calls = {call.text: call for call in stage.state.calls}
    if own is not None and own.tool is not None:
        calls.pop(own.text, None)
    extracted = [event.after for event in stage.state.outline if isinstance(event, Extracted) and event.valid]
    return [
        JudgedText(
            stage=f"{stage.name} made whole",
            judge="call",
            text=text,
            ended=True,
            valid=True,
            tool=calls[text].tool if text in calls else None,
            arguments=calls[text].arguments if text in calls else None,
            only=stage.only,
        )
        for text in dict.fromkeys((*extracted, *calls))
    ]


def _turn_calls(stage: _Stage, request: RunRequest, omitted: list[str]) -> list[JudgedText]:
    """The calls in a turn of a conversation; other text has no verdict."""
    if request.native == "template":
        omitted.append(
            f"{stage.name}: which turns in the native notation are valid depends on the conversation"
        )
        return []
    if request.loop.transforms or any(isinstance(event, TransformActed) for event in stage.state.outline):
        omitted.append(f"{stage.name}: transforms changed its text before it was validated")
        return []
    if stage.state.violations:
        omitted.append(f"{stage.name}: its violations depend on what the turn may be")
    return [
        JudgedText(
            stage=f"{stage.name} {call.call}",
            judge="call",
            text=call.text,
            ended=True,
            valid=True,
            tool=call.tool,
            arguments=call.arguments,
        )
        for call in stage.state.calls
    ]
