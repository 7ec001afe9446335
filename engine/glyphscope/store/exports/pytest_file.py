"""A run as a self-contained pytest file: it needs glyphscope, but neither the model nor the record.

Each judged text is a test that the current validator's verdict is the recorded one. Digests of the file's sources
identify edits of the registry or of a text as such. Not all texts can be validated separately from their run: omitted
ones are reported with the reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import one_line
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
from glyphscope.runs.relaxation import enforced_answer
from glyphscope.runs.sampling import limits_in_words, sampling_words
from glyphscope.store.exports.recorded_run import RecordedRun

Judge: TypeAlias = Literal["run", "call", "name", "arguments"]
"""The validator: the run's validator of calls, or the validator of a bare call or of one part of a call."""
_OF_ANSWER = (
    "notation", "shape", "native", "form", "thinking", "tool_choice", "most_calls", "constrain_from", "constraint",
    "free_text", "grammar", "answer",
)  # fmt: skip

_HEAD = '''\
"""A recorded run of Glyphscope as a test: its text must get the same verdicts as in the record.

It needs `pip install glyphscope pytest`, but no model.
"""
'''

_JUDGE = '''\
def judged(judge, text, digest, *, ended=True):
    """The violations of the text as in a record, after a check that the text is unchanged."""
    assert sha256(text.encode()).hexdigest() == digest, "the text was changed"
    events = [*judge.feed(text), *(judge.finish() if ended else ())]
    judged = [decode_event(encode_event(event)) for event in events]
    return [(event.code, event.char, event.path) for event in violations_of(judged)]


def recorded(tool, arguments):
    """The call in JSON, which distinguishes 1, 1.0 and true, as in a record."""
    call = json.loads(encode_event(CallReady(tool=tool, arguments=arguments, text="")))
    return json.dumps([call["tool"], call["arguments"]])
'''


def pytest_file(run: RecordedRun) -> str:
    """Python source. Raises GlyphscopeError if no text of the run was judged, RegistryError if it has no tools."""
    document, digest = run.enforced.to_document(), run.enforced.digest
    found = judged_texts(run.request, run.events)
    if not found.texts:
        why = f" ({'; '.join(found.omitted)})" if found.omitted else ""
        raise GlyphscopeError(
            f"No text of this run can be judged separately{why}.",
            where="pytest",
            hint="Use glyphscope replay --verify, which runs the recorded tokens again.",
        )
    registry = f"REGISTRY = load_registry(json.loads({_json_literal(document, 1)}))\n"
    unchanged = (
        "def test_the_registry_is_the_runs():\n"
        f'    assert REGISTRY.digest == "{digest}", "the registry was changed"\n'
    )
    request = replace(run.request, answer=enforced_answer(run.request))
    tests = [_test(text, name, request) for text, name in zip(found.texts, _names(found.texts, request))]
    head = _HEAD + "\n" + "".join(f"# {line}\n" for line in _about(run, found.omitted))
    parts = [head + "\n" + _imports(found.texts, request) + "\n" + registry, _JUDGE, unchanged, *tests]
    return "\n\n".join(parts)


def _about(run: RecordedRun, omitted: tuple[str, ...]) -> Iterator[str]:
    """The facts about the run, each on one line, whatever the model's file name."""
    started, model = run.started, run.started.model
    known = f", SHA-256 {model.sha256}" if model.sha256 else ""
    quantisation = f", {model.quantisation}" if model.quantisation else ""
    yield one_line(f"Run {started.run} of {started.time}: {model.name}{quantisation}{known}")
    yield one_line(f"seed {run.request.sampling.seed}, constraint {run.request.constraint}")
    yield one_line(f"{sampling_words(run.request.sampling)}, {limits_in_words(run.request)}")
    yield one_line(", ".join(f"{name} {version}" for name, version in started.versions.items()))
    for reason in omitted:
        yield one_line(f"Not judged here: {reason}.")


_IMPORTS: dict[Judge, str] = {
    "run": "from glyphscope.runs.strategies import answer_validator",
    "call": "from glyphscope.validation import CallValidator",
    "name": "from glyphscope.runs.strategies import expected_part",
    "arguments": "from glyphscope.runs.strategies import expected_part",
}


def _imports(texts: tuple[JudgedText, ...], request: RunRequest) -> str:
    judges = {text.judge for text in texts}
    asked = "" if judges == {"call"} else "RunRequest, "
    own = "" if request.answer.is_call else "Answer, "
    lines = ["import json"]
    if any(text.only for text in texts):
        lines.append("from dataclasses import replace")
    lines += [
        "from hashlib import sha256",
        "",
        f"from glyphscope.events import {own}CallReady, {asked}decode_event, encode_event, violations_of",
        "from glyphscope.registry import load_registry",
        *sorted({_IMPORTS[judge] for judge in judges}),
    ]
    return "\n".join(lines) + "\n"


def _judge(text: JudgedText, request: RunRequest) -> str:
    """The expression that makes the validator."""
    registry = f"replace(REGISTRY, tools=(REGISTRY.get({text.only!r}),))" if text.only else "REGISTRY"
    match text.judge:
        case "call":
            return f"CallValidator({registry}, {request.notation!r}, {request.shape!r})"
        case "run":
            return f"answer_validator({_answer(request)}, {registry})"
        case part:
            tool = f", {text.part_of!r}" if text.part_of else ""
            return f"expected_part({_answer(request)}, {part!r}{tool}).validator({registry})"


def _answer(request: RunRequest) -> str:
    """The fields of a request that determine the validation of its answer, as a RunRequest in Python."""
    usual = RunRequest(prompt="", registry={})
    given = [
        f"{name}={getattr(request, name)!r}"
        for name in _OF_ANSWER
        if getattr(request, name) != getattr(usual, name)
    ]
    members = ", ".join(["prompt=''", "registry={}", *given])
    return f"RunRequest({members})"


def _test(text: JudgedText, name: str, request: RunRequest) -> str:
    digest = hashlib.sha256(text.text.encode()).hexdigest()
    until = "" if text.ended else ", ended=False"
    lines = [
        f"def {name}():",
        f"    judge = {_judge(text, request)}",
        f"    text = {text.text!r}",
        f'    found = judged(judge, text, "{digest}"{until})',
        f"    assert found == {[tuple(verdict) for verdict in text.verdicts]!r}",
    ]
    if text.ended:
        lines.append(f"    assert judge.valid is {text.valid}")
    if text.tool is not None:
        literal = _json_literal(text.arguments)
        lines.append(f"    arguments = json.loads({literal})")
        lines.append(
            f"    assert recorded(judge.tool, judge.arguments) == recorded({text.tool!r}, arguments)"
        )
    return "\n".join(lines) + "\n"


def _names(texts: tuple[JudgedText, ...], request: RunRequest) -> list[str]:
    """A name for each test, from its stage; with a number if a stage has several."""
    names: list[str] = []
    for text in texts:
        stage = "answer" if text.stage == "call" and not request.answer.is_call else text.stage
        name = "test_" + re.sub(r"\W+", "_", stage, flags=re.ASCII).strip("_").lower()
        same = sum(other == name or other.startswith(f"{name}_again_") for other in names)
        names.append(f"{name}_again_{same}" if same else name)
    return names


def _json_literal(value: Any, indent: int | None = None) -> str:
    """JSON in a raw string, because Python literals cannot be nested as deeply."""
    text = json.dumps(value, indent=indent)
    return "r'''" + text.replace("'''", r"\u0027\u0027\u0027") + "'''"


# the texts of a run that a validator can judge again, with their recorded verdicts


class FileVerdict(NamedTuple):
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
    verdicts: tuple[FileVerdict, ...] = ()
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
        verdicts=tuple(FileVerdict(each.code, each.char, each.path) for each in state.violations),
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
