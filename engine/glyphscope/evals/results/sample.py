"""One sample: one run of a scenario in an arm. A line of `samples.jsonl`, from which all figures are made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.events import Code
from glyphscope.events.base import Count, Milliseconds, Position

Reason: TypeAlias = Literal[
    "PARSE", "SCHEMA", "LENGTH", "WRONG_TOOL", "WRONG_ARGUMENTS", "MISSING_CALL", "EXTRA_CALL", "UNWANTED_CALL",
    "FORBIDDEN_TOOL", "WRONG_CHOICE", "FINAL_TEXT", "WORKSPACE", "NOT_SEEN", "PATH", "PYTHON", "JUDGE", "LIMIT",
    "TOOL_FAILED", "TIMEOUT", "CONSTRAINT_IGNORED", "CONSTRAINT_FAILED", "CONTEXT_OVERFLOW", "BAD_REQUEST",
    "MODEL_FAILED", "CHECK_FAILED", "JUDGE_FAILED", "SERVER_FAILED",
]  # fmt: skip
"""The reasons why a sample is not ok. A sample counts under its first one.

LENGTH is a text that was valid so far when the token limit cut it off: its end is unknown, so it does not count as
unparsable.

Those in `NO_ANSWER` are not answers of the model: figures count them separately.
"""
NO_ANSWER: frozenset[Reason] = frozenset(
    {
        "MODEL_FAILED", "CONSTRAINT_IGNORED", "CONSTRAINT_FAILED", "TIMEOUT", "CONTEXT_OVERFLOW", "BAD_REQUEST",
        "CHECK_FAILED", "JUDGE_FAILED", "SERVER_FAILED",
    }
)  # fmt: skip


_ENDED = re.compile(r"\bwas ended by SIG(KILL|TERM|INT|HUP)\b")  # the words of `processes.how_ended`


class SampleFailure(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is the validator's, if it is its verdict; `path` is the argument; `turn` the user's turn, from 1."""

    reason: Reason
    detail: str = ""
    code: Code | Literal[""] = ""
    path: str = ""
    turn: Count = 1


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the model made. `ok` is None if it was not executed."""

    tool: str
    arguments: dict[str, Any]
    ok: bool | None = None


class JudgeVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judge model's verdict on a turn; if there is none, `passed` is None and `error` is the reason.

    `prompt` is the user message sent to the judge, `reason` the judge's own text, `run` the path of its record in the
    result's folder.
    """

    turn: Count = 1
    model: str = ""
    rubric: str = ""
    prompt: str = ""
    passed: bool | None = None
    reason: str = ""
    error: str = ""
    tokens: Count = 0
    run: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a sample. The verdicts are for all of its turns together, and costs are added up.

    `id` is arm, suite, scenario and trial. `parsed` is about the model's own texts, before any repair: None if it is
    not known (the run was stopped before its text ended, for another reason) or if text is an answer. `valid` is
    whether there was a valid call (or none was expected and none made).
    `right_tool` and `right_arguments` are None if no call is expected. `copied_values` counts the values of its calls
    that are those of the prompt's example or the schema's default and not in the user's messages; None in older
    results. `ok` is the verdict on all expectations.
    `prompt_tokens` is the total over all prompts, as an endpoint bills them, None if one is not counted (0 in older
    results); `instructions` is the cost of the first
    prompt without the user's text and the chat template: rules, tools, examples. `decoded` counts generated tokens,
    `forced` those without a choice; `bytes` and `characters` measure the text. `stopped_at` is the deciding character
    of an early abort, `saved` the tokens saved, measured by continuing it, None if that was not measured. `runs` are
    the records' paths in the folder, one per turn. `judged` are the judge's verdicts; the judge's costs are not part of
    the other figures. Times are milliseconds.
    """

    id: str
    arm: str
    suite: str
    scenario: str
    trial: Count
    seed: Position
    group: str = ""
    level: str = "simple"
    control: bool = False
    expected: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    text: str = ""
    parsed: bool | None = None
    valid: bool = False
    right_tool: bool | None = None
    right_arguments: bool | None = None
    copied_values: Count | None = None
    ok: bool = False
    failures: tuple[SampleFailure, ...] = ()
    outcome: str = ""
    ended: str = ""
    prompt_tokens: Count | None = None
    instructions: Count = 0
    decoded: Count = 0
    forced: Count = 0
    characters: Count = 0
    bytes: Count = 0
    stopped_at: Position | None = None
    stopped_code: str = ""
    saved: Position | None = None
    first_token_ms: Milliseconds = 0.0
    total_ms: Milliseconds = 0.0
    model_turns: Count = 1
    runs: tuple[str, ...] = ()
    judged: tuple[JudgeVerdict, ...] = ()
    time: str = ""

    @property
    def answered(self) -> bool:
        """Whether the model answered: a process that died or an endpoint that was down did not."""
        return has_answer(self.failures)


def has_answer(failures: Iterable[SampleFailure]) -> bool:
    """Whether a sample with these failures has an answer of the model."""
    return not any(failure.reason in NO_ANSWER for failure in failures)


def was_ended(failures: Iterable[SampleFailure]) -> bool:
    """Whether the process of the model was ended from outside in the middle of the sample: by the system, which had no
    memory left or ended the session, or by Stop in results of older versions.
    """
    return any(each.reason == "MODEL_FAILED" and _ENDED.search(each.detail) for each in failures)
