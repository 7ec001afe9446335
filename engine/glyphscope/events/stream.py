"""The events of one generation and of the run around it; `encode_event` and `decode_event` are their JSON."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.base.structs import ready
from glyphscope.events.base import Code, Count, Milliseconds, ModelInfo, Position, RunEvent, Status
from glyphscope.events.encoding import encode_json
from glyphscope.events.evidence import ControlText, PromptPart, Spans, TokenStep
from glyphscope.events.request import RunRequest
from glyphscope.events.stages import StageStarted, StrategyEvent
from glyphscope.events.tools import ExecutionEvent


class RunStarted(RunEvent, frozen=True, kw_only=True, tag="run_started"):
    """A run begins. `time` is the wall clock in ISO 8601; `versions` lists every package that affects the result."""

    request: RunRequest
    model: ModelInfo
    versions: dict[str, str]
    time: str


class PromptRendered(RunEvent, frozen=True, kw_only=True, tag="prompt_rendered"):
    """The full text that the model receives, with the chat template applied; `cached` tokens need no evaluation.

    `restored` of these were read from disk, where an earlier process stored them; the others were in memory.
    `lengths` has the number of characters that each token completes, so 0 for an incomplete character, and for a token
    that begins the sequence; empty if unknown. `controls` are texts of a user, a tool or a result that read like
    control tokens.
    """

    text: str
    tokens: Count
    cached: Count
    parts: tuple[PromptPart, ...] = ()
    note: str = ""
    lengths: tuple[int, ...] = ()
    restored: Count = 0
    controls: tuple[ControlText, ...] = ()

    @property
    def plain(self) -> Spans:
        """The characters in which control tokens are plain text."""
        return tuple((each.start, each.end) for each in self.controls if each.plain)


class PromptEvaluated(RunEvent, frozen=True, kw_only=True, tag="prompt_evaluated"):
    """Evaluation of the prompt: progress, with `done` equal to `total` at its end; both 0 if unknown."""

    done: Count
    total: Count
    ms: Milliseconds


class Token(RunEvent, frozen=True, kw_only=True, tag="token"):
    """One token was decoded; `start` and `end` are its characters in the stage's text."""

    step: TokenStep
    start: Position
    end: Position


SegmentKind: TypeAlias = Literal["reasoning", "text", "call"]


class SegmentOpened(RunEvent, frozen=True, kw_only=True, tag="segment_opened"):
    """A part of the answer begins at character `start`: reasoning or text for the user without its markers, or a call.

    `call_index` numbers the calls of the answer, from 0; the fields, violations and calls of a call have it too.
    An answer that can only be a single call, without reasoning before it, has no segments.
    """

    kind: SegmentKind
    start: Position
    call_index: Count = 0


class SegmentClosed(RunEvent, frozen=True, kw_only=True, tag="segment_closed"):
    """A part of the answer is complete: the characters `start` to `end` (exclusive)."""

    kind: SegmentKind
    start: Position
    end: Position
    call_index: Count = 0


class FieldOpened(RunEvent, frozen=True, kw_only=True, tag="field_opened"):
    """A field's value begins at character `start`."""

    path: str
    start: Position
    call_index: Count = 0


class FieldChanged(RunEvent, frozen=True, kw_only=True, tag="field_changed"):
    """An open field grew to `end` (exclusive), or its status changed; at most one event per field and feed."""

    path: str
    end: Position
    status: Status
    call_index: Count = 0


class FieldClosed(RunEvent, frozen=True, kw_only=True, tag="field_closed"):
    """A field is complete: the characters `start` to `end` (exclusive) are its value."""

    path: str
    start: Position
    end: Position
    status: Status
    value: Any = None
    call_index: Count = 0


class ToolKnown(RunEvent, frozen=True, kw_only=True, tag="tool_known"):
    """The tool's name is complete at character `char`."""

    name: str
    allowed: bool
    char: Position
    call_index: Count = 0


class Violation(RunEvent, frozen=True, kw_only=True, tag="violation"):
    """`char` is the first character after which no valid call can exist; `viable` lists what is still possible in its
    place: names and values that continue the text before it.

    `corrects`: it replaces the DUPLICATE_ARGUMENT at the same character, because the key turned out to be another one.
    """

    code: Code
    message: str
    path: str
    char: Position
    token: Position
    rule: str = ""
    viable: str = ""
    call_index: Count = 0
    corrects: bool = False


def add_violation(found: list[Violation], violation: Violation) -> None:
    """Append the violation, or put it in place of the one that it corrects."""
    for index, earlier in enumerate(found if violation.corrects else ()):
        if (earlier.call_index, earlier.path, earlier.char) == (
            violation.call_index,
            violation.path,
            violation.char,
        ):
            found[index] = violation
            return
    found.append(violation)


def violations_of(events: Iterable[object]) -> list[Violation]:
    """The violations among the events; corrected ones appear only in their corrected form."""
    found: list[Violation] = []
    for event in events:
        if isinstance(event, Violation):
            add_violation(found, event)
    return found


class Aborted(RunEvent, frozen=True, kw_only=True, tag="aborted"):
    """The run stopped because of a violation. `tokens_decoded` is the number of decoded tokens."""

    code: Code
    message: str
    path: str
    char: Position
    token: Position
    tokens_decoded: Count
    viable: str = ""


class CallReady(RunEvent, frozen=True, kw_only=True, tag="call_ready"):
    """A complete and valid call, confirmed by jsonschema. `call` identifies it in the events of its execution."""

    tool: str
    arguments: dict[str, Any]
    text: str
    call: str = ""
    call_index: Count = 0


class StopStringFound(RunEvent, frozen=True, kw_only=True, tag="stop_string_found"):
    """The model wrote one of the request's stop strings, `text`, from character `char` of the stage's text on.

    The answer ends before it. The stop string, which `token` completed, and what was decoded after it are shown as
    tokens, but are neither validated nor part of the stage's text.
    """

    text: str
    char: Position
    token: Position


EndReason: TypeAlias = Literal[
    "complete", "aborted", "cancelled", "length", "end-of-text", "stop-string",
    "answered", "no-tool", "multi-intent", "unanswered", "limit", "refused",
]  # fmt: skip


class RunFinished(RunEvent, frozen=True, kw_only=True, tag="run_finished"):
    """The end of the run. `valid` is the strategy's verdict: a valid call, or its other expected outcome.

    `reason` is how the last text ended, or what ended the strategy: `answered` (a final text), `no-tool`
    (the router chose none), `multi-intent` (it found several requests), `unanswered` (a question without an answer),
    `limit` (a guardrail) or `refused` (the enforced conditions were not met). `tokens` and `forced` are totals of all
    stages.
    """

    reason: EndReason
    valid: bool
    tokens: Count
    forced: Count
    prompt_ms: Milliseconds
    first_token_ms: Milliseconds
    total_ms: Milliseconds


FailureCode: TypeAlias = (
    Code
    | Literal["CONSTRAINT_FAILED", "CONSTRAINT_IGNORED", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "BAD_REQUEST"]
)


class RunFailed(RunEvent, frozen=True, kw_only=True, tag="run_failed"):
    """The run failed; `message` is the error, `hint` the fix, `detail` the evidence (a signal, stderr), or the other
    problems of the request.
    """

    code: FailureCode
    message: str
    hint: str = ""
    detail: str = ""


AnyEvent: TypeAlias = (
    RunStarted | StageStarted | PromptRendered | PromptEvaluated | Token | SegmentOpened | SegmentClosed
    | FieldOpened | FieldChanged | FieldClosed | ToolKnown | Violation | Aborted | CallReady | RunFinished | RunFailed
    | StopStringFound | StrategyEvent | ExecutionEvent
)  # fmt: skip


@cache
def _decoder() -> msgspec.json.Decoder[AnyEvent]:
    """Made when it is needed: reading the types of all events takes longer than a short command may."""
    return msgspec.json.Decoder(ready(AnyEvent))


_LEFT_OUT: dict[str, dict[str, Any]] = {
    "request": {
        "order": "schema",
        "thinking": "auto",
        "reasoning_effort": "auto",
        "template_vars": {},
        "chat_template": "",
        "strict": "auto",
        "extra_body": {},
        "form": {},
        "tool_choice": "required",
        "most_calls": 1,
        "constrain_from": "reasoning",
        "reasoning_budget": None,
        "stop": (),
    },
    "model": {"reads_thinking": None, "reads_effort": None, "load": None},
    "request.router": {"multi_intent": False},
    "request.loop": {"tool_search": "bm25", "defer_tools": 0.5, "max_found_tools": 5},
}
"""Members of a run's start that early records do not have, with the values at which they are left out, so that a
record without them is written again byte for byte.
"""
_FIRST_CALL = b',"call_index":0}'
"""The last member of events of a call, left out for the same reason."""
_LAST_OF_STEP = (b',"left":[]}', b',"narrowed":""}')
"""The last members of a token's step, left out too; they cannot occur in a text, in which quotes are escaped."""


def encode_event(event: RunEvent) -> bytes:
    """One JSON object without a line end, as `encode_json` writes it."""
    line = encode_json(_as_recorded(event) if isinstance(event, RunStarted) else event)
    if isinstance(event, Token):
        for unused in _LAST_OF_STEP:
            line = line.replace(unused, b"}", 1)
        return line
    return line[: -len(_FIRST_CALL)] + b"}" if line.endswith(_FIRST_CALL) else line


def _as_recorded(event: RunStarted) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(event)
    for part, usual in _LEFT_OUT.items():
        *above, name = part.split(".")
        holder = document[above[0]] if above else document
        holder[name] = {n: v for n, v in holder[name].items() if n not in usual or v != usual[n]}
    return document


def decode_event(line: bytes | str) -> AnyEvent:
    """The event of one line. Raises `msgspec.DecodeError` (a `ValueError`) for anything else."""
    return _decoder().decode(line)
