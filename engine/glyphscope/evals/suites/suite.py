"""The format of a suite file: prompts, tools and expected answers. The structs are the format.

A suite has no models and no sampling, which belong to the matrix. The settings of a run that a scenario depends on (the
tool loop, its limits, scripted results) belong to the scenario.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope import events

VERSION = 1

MAX_BYTES = 64_000_000
"""Larger files are rejected: 100,000 scenarios of everyday length have about 40 MB."""

MAX_SCENARIOS = 100_000

Level: TypeAlias = Literal["simple", "typical", "extreme"]
Choice: TypeAlias = Literal["call_tool", "clarify", "multi_intent", "none"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the file: an unknown member is an error, and a default is not written."""


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

    calls: tuple[events.ExpectedCall, ...] = ()
    ordered: bool = False
    extra_calls: bool = False
    forbidden: tuple[str, ...] = ()
    choice: Choice | None = None
    final: events.FinalText | None = None
    workspace: dict[str, Any] | None = None
    seen: tuple[events.Code, ...] = ()
    paths: tuple[PathCheck, ...] = ()
    python: tuple[PythonCheck, ...] = ()
    judge: tuple[JudgeCheck, ...] = ()


SCRIPTED = "scripted"
"""The name of the source of scripted results in a request's `sources`."""


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
    answer: events.Answer | None = None
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
    code: events.Code | Literal[""] = ""
    notation: events.Notation = "glyph"
    shape: events.Shape = "flat"
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
    request for all scenarios, like a scenario's for one. `project` says whether the prompt, the template and the
    sampling are those of the project that it is evaluated with; None: if there is one. `sampling` is that project's,
    filled in like those members of `request` when the suite is evaluated. `judge` names the model for rubrics, unless
    the evaluation names another. `sources` are the texts of the Python files that the scenarios name, filled in when a
    suite is read from a file.
    """

    glyphscope_suite: int
    name: str
    about: str
    registry: str | dict[str, Any] = "default"
    answer: events.Answer | None = None
    strategy: events.Strategy = "direct"
    request: dict[str, Any] = {}
    project: bool | None = None
    sampling: events.Sampling | None = None
    scenarios: tuple[Scenario, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    notes: tuple[str, ...] = ()
    judge: str = ""
    sources: dict[str, str] = {}


PROMPT_MEMBERS = ("system_prompt", "preset", "system", "chat_template", "max_tokens", "stop")
"""The members of a request that are a project's prompt, its template and, beside `sampling`, the end of a text."""


def of_project(suite: Suite, project: events.RunRequest) -> Suite:
    """The suite with the prompt, template and sampling of a project where it does not state them, unless it says that
    it does not use a project's.
    """
    if suite.project is False:
        return suite
    members = {
        field.name: msgspec.to_builtins(value)
        for field in msgspec.structs.fields(events.RunRequest)
        if field.name in PROMPT_MEMBERS and (value := getattr(project, field.name)) != field.default
    }
    sampling = msgspec.structs.replace(
        project.sampling, seed=events.Sampling().seed
    )  # each sample has its own
    return msgspec.structs.replace(suite, project=True, request=members | suite.request, sampling=sampling)


def answer_of(suite: Suite, scenario: Scenario, of_arm: events.Answer | None = None) -> events.Answer:
    """The scenario's answer: its own, or else the arm's, or else the suite's."""
    return scenario.answer or of_arm or suite.answer or events.CALL


def expectations(scenario: Scenario) -> tuple[Expectation, ...]:
    """The expectations for all its prompts, in order."""
    return (scenario.expect, *(turn.expect for turn in scenario.turns))


class SuiteUsed(msgspec.Struct, frozen=True, kw_only=True):
    """A suite as it was used: its file is saved in the folder, as `suites/<name>.json`; `digest` is that file's.

    `own_strategy` are the scenarios that name a strategy themselves, which an arm's strategy does not replace.
    `project`: whether its prompt, template and sampling were those of a project.
    """

    name: str
    about: str
    digest: str
    scenarios: int
    own_strategy: tuple[str, ...] = ()
    project: bool = False


def expected_words(scenario: Scenario) -> str:
    """The expectations of all turns, in short."""
    return " / ".join(map(_expected, expectations(scenario)))


def _expected(expect: Expectation) -> str:
    parts: list[str] = [expect.choice] if expect.choice else []
    answers = "" if expect.final is None else str(expect.final)
    parts += map(str, expect.calls or (["no call"] if not (expect.choice or answers) else ()))
    if answers:
        parts.append(f"answers {answers}")
    if expect.workspace is not None:
        parts.append("the workspace at the end")
    parts += [check.path for check in expect.paths]
    parts += [check.function for check in expect.python]
    parts += [f'judge: "{check.rubric}"' for check in expect.judge]
    return ", ".join(parts)
