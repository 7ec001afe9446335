"""The format of a suite file: prompts, tools and expected answers. The structs are the format.

A suite has no models and no sampling, which belong to the matrix. The settings of a run that a scenario depends on (the
tool loop, its limits, scripted results) belong to the scenario.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.base.shorten import shorten
from glyphscope.events import CALL, Answer, Code, Notation, Shape, Strategy

VERSION = 1

MAX_BYTES = 64_000_000
"""Larger files are rejected: 100,000 scenarios of everyday length have about 40 MB."""

MAX_SCENARIOS = 100_000

MAX_SHOWN = 200
"""Characters of an expected answer in words."""

Level: TypeAlias = Literal["simple", "typical", "extreme"]
Choice: TypeAlias = Literal["call_tool", "clarify", "none"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the file: an unknown member is an error, and a default is not written."""


class ExpectedCall(_Part, frozen=True, kw_only=True):
    """A right call. Without `arguments`, `any_of` and `schema`, any arguments are right.

    `tools` are the names of which any one is right. `arguments` must be equal (`exact`), or among others (`subset`).
    `any_of` lists, by argument, values of which any one is right, as BFCL's ground truth does; an argument named in
    `optional` may be left out, and have any value if none is listed. `schema` is a JSON Schema that the arguments must
    satisfy. `unordered`: lists are compared as bags, at any depth. `folded`: texts are compared without regard to case
    and runs of white space. Numbers are compared by value: 10 equals 10.0, and no number equals a boolean.
    """

    tools: tuple[str, ...]
    arguments: dict[str, Any] | None = None
    match: Literal["exact", "subset"] = "exact"
    any_of: dict[str, tuple[Any, ...]] = {}
    optional: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    unordered: bool = False
    folded: bool = False


class FinalText(_Part, frozen=True, kw_only=True):
    """The rules for an answer that is not a call: for its text, without white space at its ends, or for its value.

    `equals`, or one of `any_of`, is that text; of an answer of a schema it is the value, whatever its notation. Values
    are compared as in a call: numbers by value, with `folded` and `unordered`. `schema` is a JSON Schema of the value.
    """

    equals: Any = msgspec.UNSET
    any_of: tuple[Any, ...] = ()
    folded: bool = False
    unordered: bool = False
    schema: dict[str, Any] | None = None
    contains: tuple[str, ...] = ()
    pattern: str | None = None
    least_characters: int = 0


class PathCheck(_Part, frozen=True, kw_only=True):
    """The values that a JSONPath (RFC 9535) selects from the result: at least one, and each meets all given conditions.

    `count` is their exact number; with 0, nothing may be selected. `equals` is a value, `any_of` lists values of which
    any one is right, `pattern` must be found in a text, `schema` is a JSON Schema. Numbers are compared by value.
    """

    path: str
    equals: Any = msgspec.UNSET
    any_of: tuple[Any, ...] = ()
    pattern: str | None = None
    schema: dict[str, Any] | None = None
    count: int | None = None


class PythonCheck(_Part, frozen=True, kw_only=True):
    """`function` is `FILE.py:NAME`, the file by its path from the suite's folder. It is called with the result, and
    returns True, False, or `{"pass": bool, "reason": str}`; a failed `assert` is False.
    """

    function: str


class JudgeCheck(_Part, frozen=True, kw_only=True):
    """`rubric`: the condition on the result in words, which a judge model decides."""

    rubric: str


class Expectation(_Part, frozen=True, kw_only=True):
    """The expectations for one prompt. `calls` empty: no call may be made (unless `choice` or another rule says more).

    `calls` are matched one to one with the calls that were made, in any order unless `ordered`. With `extra_calls`,
    others may also be made; failed calls count only without `extra_calls`. `forbidden` tools must not be called at all.
    `final` is about an answer that is not a call. `choice` is the router's. `workspace` is a JSON Schema for the demo
    workspace at the end. `seen` are codes that must have occurred in the run. `paths`, `python` and `judge` are
    assertions on the result as a document (`scoring.outcome.subject`); Python functions, then the judge, run only if
    everything else is right.
    """

    calls: tuple[ExpectedCall, ...] = ()
    ordered: bool = False
    extra_calls: bool = False
    forbidden: tuple[str, ...] = ()
    choice: Choice | None = None
    final: FinalText | None = None
    workspace: dict[str, Any] | None = None
    seen: tuple[Code, ...] = ()
    paths: tuple[PathCheck, ...] = ()
    python: tuple[PythonCheck, ...] = ()
    judge: tuple[JudgeCheck, ...] = ()


class ScriptedResult(_Part, frozen=True, kw_only=True):
    """The result of a call of `tool` instead of its execution. The first entry that still applies counts.

    It applies to `times` calls (0: for all of them), and only to calls whose arguments have all of `arguments`.
    `text` or `structured` is the answer; with a `fault`, `text` is its message.
    """

    tool: str
    text: str = ""
    structured: Any = None
    fault: Literal["", "tool", "protocol", "timeout"] = ""
    times: int = 1
    arguments: dict[str, Any] = {}


class ScenarioTurn(_Part, frozen=True, kw_only=True):
    """The user's prompt after the previous turn, and its expectations."""

    prompt: str
    expect: Expectation


class Scenario(_Part, frozen=True, kw_only=True):
    """A scenario. Its `id` is unique in the suite.

    Figures are also broken down by `group` (a tool, a category); `control` marks a scenario that measures the prompt's
    discipline, not tool calling: figures count it separately. `tools` are the tools of the registry that may be called,
    None for all; a scenario with its own `registry` uses that one in place of the suite's. `answer` is what the answer
    must be in place of the suite's; one that is not a call is given at once, by the strategy direct.
    `script` answers calls; `demo`: the demo tools execute the others. `turns` follow the first prompt
    in one conversation. `request` has members of the run's request that the scenario needs (`history`, `strategy`,
    `stop`, `max_tokens`, `loop`, `router`, `repair`, `system`, `dispatch`): they override the arm's. `answers` are for
    the router's questions. `note` describes its source and its difficulty.
    """

    id: str
    prompt: str
    expect: Expectation
    answer: Answer | None = None
    group: str = ""
    level: Level = "simple"
    control: bool = False
    tools: tuple[str, ...] | None = None
    registry: str | dict[str, Any] | None = None
    script: tuple[ScriptedResult, ...] = ()
    demo: bool = False
    turns: tuple[ScenarioTurn, ...] = ()
    request: dict[str, Any] = {}
    answers: tuple[str, ...] = ()
    note: str = ""


class CheckRow(_Part, frozen=True, kw_only=True):
    """A text for the validator, without any model: a row of an allow-list table. An empty `code`: it is valid."""

    text: str
    tool_allowed: bool
    code: Code | Literal[""] = ""
    notation: Notation = "glyph"
    shape: Shape = "flat"
    note: str = ""


class SizeRow(_Part, frozen=True, kw_only=True):
    """A call whose sizes are measured, and the sizes that a report claims (`claimed`, in characters, by notation)."""

    id: str
    tool: str
    arguments: dict[str, Any]
    claimed: dict[str, int] = {}


class Suite(_Part, frozen=True, kw_only=True):
    """A suite. `registry` is a bundled registry's name, a path beside the file, or a document.

    `answer` is what the answers must be: calls, unless it is given, as the command line writes it or as an object. An
    arm's own answer replaces it.
    `strategy` is the one its scenarios are made for; an arm's own strategy replaces it. `request` has members of the
    request for all scenarios, like a scenario's for one. `judge` names the model for rubrics, unless the evaluation
    names another. `sources` are the texts of the Python files that the scenarios name, filled in when a suite is read
    from a file.
    """

    glyphscope_suite: int
    name: str
    about: str
    registry: str | dict[str, Any] = "default"
    answer: Answer | None = None
    strategy: Strategy = "direct"
    request: dict[str, Any] = {}
    scenarios: tuple[Scenario, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    notes: tuple[str, ...] = ()
    judge: str = ""
    sources: dict[str, str] = {}


def answer_of(suite: Suite, scenario: Scenario, of_arm: Answer | None = None) -> Answer:
    """The scenario's answer: its own, or else the arm's, or else the suite's."""
    return scenario.answer or of_arm or suite.answer or CALL


def expectations(scenario: Scenario) -> tuple[Expectation, ...]:
    """The expectations for all its prompts, in order."""
    return (scenario.expect, *(turn.expect for turn in scenario.turns))


class SuiteUsed(msgspec.Struct, frozen=True, kw_only=True):
    """A suite as it was used: its file is saved in the folder, as `suites/<name>.json`; `digest` is that file's.

    `own_strategy` are the scenarios that name a strategy themselves, which an arm's strategy does not replace.
    """

    name: str
    about: str
    digest: str
    scenarios: int
    own_strategy: tuple[str, ...] = ()


def expected_words(scenario: Scenario) -> str:
    """The expectations of all turns, in short."""
    return " / ".join(map(_expected, expectations(scenario)))


def _expected(expect: Expectation) -> str:
    parts: list[str] = [expect.choice] if expect.choice else []
    answers = _answers(expect.final)
    parts += [_call(call) for call in expect.calls] or (["no call"] if not (expect.choice or answers) else [])
    if answers:
        parts.append(f"answers {' or '.join(answers)}")
    if expect.workspace is not None:
        parts.append("the workspace at the end")
    parts += [check.path for check in expect.paths]
    parts += [check.function for check in expect.python]
    parts += [f'judge: "{check.rubric}"' for check in expect.judge]
    return ", ".join(parts)


def right_answers(final: FinalText) -> tuple[Any, ...]:
    """The texts or values of which any one is right; empty if the answer is judged otherwise."""
    return (*(() if final.equals is msgspec.UNSET else (final.equals,)), *final.any_of)


def _answers(final: FinalText | None) -> list[str]:
    return [] if final is None else [_json(value) for value in right_answers(final)]


def _json(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), MAX_SHOWN)


def _call(call: ExpectedCall) -> str:
    given = {**(call.arguments or {}), **{name: values[0] for name, values in call.any_of.items()}}
    inside = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    more = " …" if call.any_of or call.schema or call.match == "subset" else ""
    return f"{'|'.join(call.tools)}({inside}{more})"
