"""What a strategy tells of itself: its stages, and everything between two of them that changed what the model saw."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from glyphscope.events.base import Code, RunEvent

StageKind: TypeAlias = Literal[
    "call", "name", "arguments", "router", "executor", "turn", "final", "repair", "tool", "continuation"
]
"""`tool` is a stage without a text: approval, the call and its result."""


class StageStarted(RunEvent, frozen=True, kw_only=True, tag="stage_started"):
    """A stage of the strategy begins; its text and its tokens count from 0 again. Its name is the run's only one.

    `turn` counts the model's turns of a conversation from 1; 0 where there are none.
    """

    title: str = ""
    kind: StageKind = "call"
    turn: int = 0


class StageFinished(RunEvent, frozen=True, kw_only=True, tag="stage_finished"):
    """A stage's end and its price. `prompt_tokens` counts all of the prompt, `cached` what of it was not paid for."""

    reason: str
    valid: bool
    tokens: int = 0
    forced: int = 0
    prompt_tokens: int = 0
    cached: int = 0
    prompt_ms: float = 0.0
    ms: float = 0.0


class ConstraintReady(RunEvent, frozen=True, kw_only=True, tag="constraint_ready"):
    """The constraint of a stage is built. `key` is the digest of grammar and tokenizer under which it is kept; `hit`
    where it was there already. `build_ms` is ours (schema to grammar), `compile_ms` the engine's.
    """

    key: str
    hit: bool
    build_ms: float
    compile_ms: float


class NameCandidate(msgspec.Struct, frozen=True):
    """A known name that the prompt seems to mean: characters `start` to `end` (exclusive) of it; `score` 0 to 100."""

    name: str
    kind: str
    text: str
    start: int
    end: int
    score: float


class CandidatesFound(RunEvent, frozen=True, kw_only=True, tag="candidates_found"):
    """What a look at the prompt found before it was routed, the best first."""

    candidates: tuple[NameCandidate, ...]
    library: str = ""


class Routed(RunEvent, frozen=True, kw_only=True, tag="routed"):
    """The router's choice. `tool` is empty unless one is called, `question` unless one is asked."""

    choice: Literal["call_tool", "clarify", "none"]
    tool: str = ""
    question: str = ""


class QuestionAsked(RunEvent, frozen=True, kw_only=True, tag="question_asked"):
    """The model asks the user something; the run waits for the answer."""

    question: str


class QuestionAnswered(RunEvent, frozen=True, kw_only=True, tag="question_answered"):
    """The user's answer; None where nobody answered."""

    answer: str | None


class Change(msgspec.Struct, frozen=True):
    """One thing that was changed in a text, in words, at character `char` of the text before."""

    what: str
    char: int


class Extracted(RunEvent, frozen=True, kw_only=True, tag="extracted"):
    """A call was taken out of a text that was none: what it was, what it became, and each change on the way."""

    before: str
    after: str
    changes: tuple[Change, ...]
    valid: bool


class RepairTried(RunEvent, frozen=True, kw_only=True, tag="repair_tried"):
    """The model was asked again. `message` is what it was told; `before` and `after` are the texts of both attempts.

    `char` is where the attempt before failed, `now` where this one did, None where it did not. `tokens` is what this
    attempt cost.
    """

    attempt: int
    attempts: int
    code: Code
    message: str
    before: str
    after: str
    char: int
    now: int | None
    now_code: Code | None
    tokens: int


class TransformActed(RunEvent, frozen=True, kw_only=True, tag="transform_acted"):
    """A transform of the request changed something; one that changed nothing is not told."""

    name: str
    surface: Literal["message", "response", "tool", "call", "result"]
    what: str


class LimitReached(RunEvent, frozen=True, kw_only=True, tag="limit_reached"):
    """A guardrail fired: `limit` is the setting's name, `allowed` its value, `used` what there was."""

    limit: str
    allowed: float
    used: float
    message: str


class FinalAnswer(RunEvent, frozen=True, kw_only=True, tag="final_answer"):
    """What the model says to the user at the end of a conversation; `recovered` where it was asked for it once more."""

    text: str
    recovered: bool = False
