"""The events of a strategy: its stages, and everything between two of them that changed the model's input."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from glyphscope.events.base import Code, Count, Milliseconds, Position, RunEvent
from glyphscope.events.choices import ToolSearch

StageKind: TypeAlias = Literal[
    "call",
    "name",
    "arguments",
    "router",
    "executor",
    "turn",
    "final",
    "repair",
    "tool",
    "continuation",
    "judge",
]
"""`tool` is a stage without a text: approval, the call and its result. `judge` is a judge's verdict on another run."""


class StageStarted(RunEvent, frozen=True, kw_only=True, tag="stage_started"):
    """A stage of the strategy begins; its text and its tokens are counted from 0. Its name is unique in the run.

    `turn` counts the model's turns of a conversation from 1; 0 if there are none.
    """

    title: str = ""
    kind: StageKind = "call"
    turn: Count = 0


class StageFinished(RunEvent, frozen=True, kw_only=True, tag="stage_finished"):
    """The end of a stage and its cost. `prompt_tokens` is the whole prompt, `cached` the part that was not
    evaluated. `note` says what the answer looks like, if it has markers of another notation.
    """

    reason: str
    valid: bool
    tokens: Count = 0
    forced: Count = 0
    prompt_tokens: Count = 0
    cached: Count = 0
    prompt_ms: Milliseconds = 0.0
    ms: Milliseconds = 0.0
    note: str = ""


class ConstraintReady(RunEvent, frozen=True, kw_only=True, tag="constraint_ready"):
    """The constraint of a stage is built. `key` is the digest of grammar and tokenizer in the cache; `hit`
    if it was cached. `build_ms` is the time from schema to grammar, `compile_ms` the engine's.
    """

    key: str
    hit: bool
    build_ms: Milliseconds
    compile_ms: Milliseconds


class NameCandidate(msgspec.Struct, frozen=True):
    """A known name that the prompt seems to mention: characters `start` to `end` (exclusive) of the prompt; `score`
    0 to 100.
    """

    name: str
    kind: str
    text: str
    start: Position
    end: Position
    score: float


class CandidatesFound(RunEvent, frozen=True, kw_only=True, tag="candidates_found"):
    """The known names found in the prompt before routing, the best first."""

    candidates: tuple[NameCandidate, ...]
    library: str = ""


class Routed(RunEvent, frozen=True, kw_only=True, tag="routed"):
    """The router's choice. `tool` is empty unless one is called, `question` unless one is asked."""

    choice: Literal["call_tool", "clarify", "multi_intent", "none"]
    tool: str = ""
    question: str = ""


class QuestionAsked(RunEvent, frozen=True, kw_only=True, tag="question_asked"):
    """The model asks the user something; the run waits for the answer."""

    question: str


class QuestionAnswered(RunEvent, frozen=True, kw_only=True, tag="question_answered"):
    """The user's answer; None without an answer."""

    answer: str | None


class Change(msgspec.Struct, frozen=True):
    """One change to a text, in words, at character `char` of the text before."""

    what: str
    char: Position


class Extracted(RunEvent, frozen=True, kw_only=True, tag="extracted"):
    """A call was extracted from an invalid text: the text before and after, and each change."""

    before: str
    after: str
    changes: tuple[Change, ...]
    valid: bool


class RepairTried(RunEvent, frozen=True, kw_only=True, tag="repair_tried"):
    """The model was asked to repair its answer. `message` is the text it got; `before` and `after` are the texts of
    both attempts.

    `char` is where the previous attempt failed, `now` where this one did, None if it did not. `tokens` is the cost of
    this attempt.
    """

    attempt: int
    attempts: int
    code: Code
    message: str
    before: str
    after: str
    char: Position
    now: int | None
    now_code: Code | None
    tokens: Count


class TransformActed(RunEvent, frozen=True, kw_only=True, tag="transform_acted"):
    """A transform of the request changed something. Transforms without a change have no event."""

    name: str
    surface: Literal["message", "response", "tool", "call", "result"]
    what: str


class LimitReached(RunEvent, frozen=True, kw_only=True, tag="limit_reached"):
    """A guardrail applied: `limit` is the setting's name, `allowed` its value, `used` the actual value."""

    limit: str
    allowed: float
    used: float
    message: str


class FinalAnswer(RunEvent, frozen=True, kw_only=True, tag="final_answer"):
    """The model's text for the user at the end of a conversation; `recovered` if it was requested a second time."""

    text: str
    recovered: bool = False


class ToolsDeferred(RunEvent, frozen=True, kw_only=True, tag="tools_deferred"):
    """Tools of a conversation are not in its prompt until they are found with the tool named `search`, in the way `by`.

    `deferred` is their number, `loaded` are the names of those in the prompt. All of them together would take `tokens`
    of a model's `context`, which is 0 if unknown.
    """

    search: str
    by: ToolSearch
    deferred: Count
    loaded: tuple[str, ...] = ()
    tokens: Count = 0
    context: Count = 0


class ToolsSearched(RunEvent, frozen=True, kw_only=True, tag="tools_searched"):
    """The model searched for tools; a `problem` is why it could not. `told` is exactly the text that the model gets.

    `found` are the names of the best tools, at most as many as the request allows, of all that match (`matches`).
    `loaded` are the tools in the prompt from the next turn on: `left_off` are found ones for which there is no room,
    `unloaded` are earlier ones that made room. `known`: all that was found was loaded already, so that the next turn
    does not offer the search.
    """

    query: str
    by: ToolSearch
    found: tuple[str, ...] = ()
    matches: Count = 0
    loaded: tuple[str, ...] = ()
    left_off: tuple[str, ...] = ()
    unloaded: tuple[str, ...] = ()
    known: bool = False
    problem: str = ""
    sent: str = msgspec.field(default="", name="told")


StrategyEvent: TypeAlias = (
    StageFinished
    | ConstraintReady
    | CandidatesFound
    | Routed
    | ToolsDeferred
    | ToolsSearched
    | QuestionAsked
    | QuestionAnswered
    | Extracted
    | RepairTried
    | TransformActed
    | LimitReached
    | FinalAnswer
)
"""The kinds of these events after the beginning of their stage."""
