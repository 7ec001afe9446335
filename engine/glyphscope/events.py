"""The one stream: everything below makes these events, everything above only reads them.

A run is a sequence of `RunEvent`s that starts with `RunStarted` and ends with `RunFinished` or `RunFailed`.
The window, the command line (a JSON object a line, the event's name in snake_case under `type`), the recorder and
the tests all read this stream; a replayed run is the same stream from a file.

Characters are Unicode code points of one stage's generated text, counted from 0. Tokens are counted from 0 in the
same text. Times are seconds. `path` is a JSON Pointer into the call as it was written (`/max_results` in the flat
shape, `/args/max_results` in the tool-args shape); `rule` is a JSON Pointer into the `parameters` of the tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

Notation: TypeAlias = Literal["glyph", "json"]
Shape: TypeAlias = Literal["flat", "tool-args", "name-arguments"]
ConstraintKind: TypeAlias = Literal["off", "mask", "gbnf"]
EvidenceKind: TypeAlias = Literal["all", "chosen", "none"]
"""Of which tokens the model's own figures are told: `chosen` leaves the forced ones out, which costs least of all."""
StopOn: TypeAlias = Literal["error", "unknown-tool", "never"]
Status: TypeAlias = Literal["open", "holds", "impossible"]
Strategy: TypeAlias = Literal["direct"]

NOTATIONS: tuple[Notation, ...] = ("glyph", "json")
SHAPES: tuple[Shape, ...] = ("flat", "tool-args", "name-arguments")

Code: TypeAlias = Literal[
    "UNKNOWN_TOOL", "MISSING_TOOL", "MISSING_REQUIRED", "UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT", "TYPE_MISMATCH",
    "CONSTRAINT_MIN", "CONSTRAINT_MAX", "CONSTRAINT_MULTIPLE", "CONSTRAINT_LEN", "CONSTRAINT_PATTERN",
    "CONSTRAINT_ENUM", "CONSTRAINT_FORMAT", "CONSTRAINT_ITEMS", "CONSTRAINT_OTHER",
    "SYNTAX", "LEADING_TEXT", "TRAILING_TEXT", "TRUNCATED", "LIMIT_EXCEEDED", "ARGUMENTS_TOO_LARGE",
    "TOOL_OUTPUT_TOO_LARGE", "NO_TOOL_CALL", "TOOL_ERROR", "MODEL_FAILED",
]  # fmt: skip


class Message(msgspec.Struct, frozen=True):
    """One chat message; `role` is system, user, assistant or tool."""

    role: str
    content: str


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a token is drawn. `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0, `repeat_penalty` 1 are off."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int = 1


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of everything that decides a run. Nothing outside it may change what the run does.

    `registry` is the registry's document in our form. `messages`, when given, replaces the rendered preset.
    `model` is a file path, or the name of a scripted or recorded model. `grammar` is GBNF that holds in place of the
    registry's own, under either constraint. With `free_text`, any text may stand before the call.
    """

    prompt: str
    registry: dict[str, Any]
    model: str = ""
    preset: str = "default"
    system: str | None = None
    notation: Notation = "glyph"
    shape: Shape = "flat"
    constraint: ConstraintKind = "mask"
    grammar: str | None = None
    free_text: bool = False
    strategy: Strategy = "direct"
    stop_on: StopOn = "error"
    sampling: Sampling = Sampling()
    max_tokens: int = 512
    alternatives: int = 10
    evidence: EvidenceKind = "all"


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the model that ran: for records, and for every figure that is shown."""

    name: str
    kind: Literal["llama.cpp", "scripted", "recorded"] = "llama.cpp"
    path: str = ""
    sha256: str = ""
    quantisation: str = ""
    architecture: str = ""
    parameters: int = 0
    vocabulary: int = 0
    context: int = 0
    bytes: int = 0
    has_chat_template: bool = True


class PromptPart(msgspec.Struct, frozen=True):
    """A part of the rendered prompt (template, system, tools, examples, user) with its place and its price."""

    name: str
    start: int
    end: int
    tokens: int


class Alternative(msgspec.Struct, frozen=True):
    """A token that could have come. `raw` is the model's own probability, `final` the one after mask and sampler."""

    id: int
    data: bytes
    text: str
    raw: float
    final: float
    allowed: bool


class TokenStep(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of one decoding step.

    `data` is the token's bytes, which may be half a UTF-8 character; `text` is what of them could be shown so far:
    the whole characters that this token completes (possibly none).
    `logprob` (natural log) and `rank` (0 is the best) are the model's own, before mask and sampler; `probability` is
    the final one. `allowed` counts the tokens the constraint left, `feasible` is the share of raw probability it left
    (1.0 without a constraint); `entropy` in bits of the raw distribution. A forced token was the only one allowed:
    its `probability` is 1.0. Where the model's own figures were not asked for (`EvidenceKind`), `logprob`, `rank`,
    `feasible` and `entropy` are None and nothing is guessed. Times are milliseconds; a forced batch's time is told at
    its first token.
    """

    index: int
    id: int
    data: bytes
    text: str
    logprob: float | None = None
    rank: int | None = None
    probability: float = 1.0
    allowed: int = 0
    feasible: float | None = None
    entropy: float | None = None
    forced: bool = False
    end: bool = False
    alternatives: tuple[Alternative, ...] = ()
    mask_ms: float = 0.0
    sample_ms: float = 0.0
    decode_ms: float = 0.0


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every event carries: the run, the stage of its strategy, and seconds since the run started."""

    run: str = ""
    stage: str = ""
    t: float = 0.0


class RunStarted(RunEvent, frozen=True, kw_only=True, tag="run_started"):
    """A run begins. `time` is the wall clock in ISO 8601; `versions` names every package that decides the result."""

    request: RunRequest
    model: ModelInfo
    versions: dict[str, str]
    time: str


class StageStarted(RunEvent, frozen=True, kw_only=True, tag="stage_started"):
    """A stage of the strategy begins; its text and its tokens count from 0 again."""

    title: str = ""


class PromptRendered(RunEvent, frozen=True, kw_only=True, tag="prompt_rendered"):
    """The full text that goes to the model, with the chat template applied; `cached` tokens need no evaluation."""

    text: str
    tokens: int
    cached: int
    parts: tuple[PromptPart, ...] = ()
    note: str = ""


class PromptEvaluated(RunEvent, frozen=True, kw_only=True, tag="prompt_evaluated"):
    """Evaluation of the prompt: progress while it goes on, `done` equal to `total` at its end."""

    done: int
    total: int
    ms: float


class Token(RunEvent, frozen=True, kw_only=True, tag="token"):
    """One token was decoded; `start` and `end` are its characters in the stage's text."""

    step: TokenStep
    start: int
    end: int


class FieldOpened(RunEvent, frozen=True, kw_only=True, tag="field_opened"):
    """A field's value begins at character `start`."""

    path: str
    start: int


class FieldChanged(RunEvent, frozen=True, kw_only=True, tag="field_changed"):
    """An open field grew to `end` (exclusive), or its status changed; at most one a field and feed."""

    path: str
    end: int
    status: Status


class FieldClosed(RunEvent, frozen=True, kw_only=True, tag="field_closed"):
    """A field is complete: the characters `start` to `end` (exclusive) are its value."""

    path: str
    start: int
    end: int
    status: Status
    value: Any = None


class ToolKnown(RunEvent, frozen=True, kw_only=True, tag="tool_known"):
    """The tool's name is complete at character `char`."""

    name: str
    allowed: bool
    char: int


class Violation(RunEvent, frozen=True, kw_only=True, tag="violation"):
    """`char` is the first character after which no valid call can exist; `viable` tells in words what still could."""

    code: Code
    message: str
    path: str
    char: int
    token: int
    rule: str = ""
    viable: str = ""


class Aborted(RunEvent, frozen=True, kw_only=True, tag="aborted"):
    """The run stopped itself because of a violation. `tokens_decoded` counts what was really decoded."""

    code: Code
    message: str
    path: str
    char: int
    token: int
    tokens_decoded: int
    viable: str = ""


class CallReady(RunEvent, frozen=True, kw_only=True, tag="call_ready"):
    """A complete and valid call: jsonschema had the final word."""

    tool: str
    arguments: dict[str, Any]
    text: str


class RunFinished(RunEvent, frozen=True, kw_only=True, tag="run_finished"):
    """The run's end. `reason` is complete, aborted, cancelled, length or end-of-text."""

    reason: Literal["complete", "aborted", "cancelled", "length", "end-of-text"]
    valid: bool
    tokens: int
    forced: int
    prompt_ms: float
    first_token_ms: float
    total_ms: float


class RunFailed(RunEvent, frozen=True, kw_only=True, tag="run_failed"):
    """The run could not go on; `message` tells why, `hint` what to do, `detail` the evidence (a signal, stderr)."""

    code: Code | Literal["CONSTRAINT_FAILED", "PROMPT_FAILED", "CONTEXT_OVERFLOW", "BAD_REQUEST"]
    message: str
    hint: str = ""
    detail: str = ""


AnyEvent: TypeAlias = (
    RunStarted | StageStarted | PromptRendered | PromptEvaluated | Token | FieldOpened | FieldChanged | FieldClosed
    | ToolKnown | Violation | Aborted | CallReady | RunFinished | RunFailed
)  # fmt: skip

EventStream: TypeAlias = Iterator[AnyEvent]

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


def encode_event(event: RunEvent) -> bytes:
    """One JSON object without a line end; bytes are base64, as in RFC 4648.

    A lone surrogate, which a model can write as an escape and no UTF-8 can hold, becomes U+FFFD.
    """
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(event), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def decode_event(line: bytes | str) -> AnyEvent:
    """The event of one line. Raises `msgspec.DecodeError` (a `ValueError`) for anything else."""
    return _decoder.decode(line)
