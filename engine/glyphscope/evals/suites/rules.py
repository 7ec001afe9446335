"""The rules for a part of a suite beyond its structure: existing names, calls that tools accept, valid schemas.

Each rule reports its problems by path into the part. A scenario that no answer could satisfy is also an error: its
figures would be about the suite, but be read as figures about a model.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import msgspec

from glyphscope.base.errors import GrammarError
from glyphscope.base.pointer import Path, steps_of
from glyphscope.evals.checking.service import bad_path
from glyphscope.evals.suites import suite
from glyphscope.evals.suites.registries import KnownTools
from glyphscope.evals.suites.structure import Found, member_names, member_problems, no_such
from glyphscope.events import CALL, NOTATIONS, TOOL_CHOICES, Answer, ExpectedCall, FinalText, RunRequest
from glyphscope.events.request import extra_body_problem
from glyphscope.events.sampling import stop_problem
from glyphscope.grammar.regular.regex import unreadable
from glyphscope.prompting.message_list import ROLES
from glyphscope.prompting.strategies import strategy_presets
from glyphscope.prompting.template import presets
from glyphscope.registry.check import check_schema
from glyphscope.registry.patterns import bad_pattern
from glyphscope.runs.strategies.loop.presets import loop_presets
from glyphscope.runs.transforming import TRANSFORMS
from glyphscope.turns.answers import answer_grammar, answer_validator_of, schema_answer
from glyphscope.turns.own import answer_form, own_call

REQUEST_MEMBERS = (
    "strategy", "max_tokens", "system", "system_prompt", "preset", "loop", "router", "repair", "dispatch", "stop_on",
    "free_text", "thinking", "control_texts", "reasoning_effort", "template_vars", "strict", "extra_body",
    "chat_template", "tool_choice", "most_calls", "reasoning_budget", "stop", "history", "examples",
)  # fmt: skip
"""Members of a run's request that a suite may contain. The others belong to the arm, or have a separate place."""

MAX_NAME = 200
"""Characters of an id or a name, which appear in tables and file names."""

MAX_TURNS = 64
MAX_RUBRIC = 20_000
"""Characters of a rubric: it is part of the judge's prompt."""

_OWN_PLACE = {name: f'"{name}"' for name in ("prompt", "registry", "answer")}
_UNUSED = ("sources", "approvals")
_LEAST: dict[tuple[str, ...], tuple[int, str]] = {
    ("max_tokens",): (1, "It is at least 1."),
    ("most_calls",): (1, "At least 1; null means no limit."),
    ("reasoning_budget",): (0, "At least 0; null means no limit."),
    **{
        ("loop", name): (1, "It is at least 1.")
        for name in (
            "max_turns", "max_total_tokens", "max_identical_calls", "max_invalid_turns", "max_tool_calls_per_turn",
            "max_tool_args_bytes", "max_tool_output_bytes",
        )
    },
    ("repair", "attempts"): (0, "It is at least 0."),
}  # fmt: skip
"""For members that are numbers: the smallest value, and the message about a smaller one."""


def name_problems(name: str, path: Path) -> Iterator[Found]:
    """The problems of an id or a name: one line, not empty, short, no slashes, which separate parts of sample ids."""
    if not name.strip():
        yield path, "It must not be empty."
    elif len(name) > MAX_NAME:
        yield path, f"It has {len(name)} characters; at most {MAX_NAME} are allowed."
    elif bad := next((c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), ""):
        yield path, f"It has the control character U+{ord(bad):04X}."
    elif "/" in name:
        yield path, "It must have no slash."


def request_problems(request: dict[str, Any], tools: KnownTools | None, path: Path) -> Iterator[Found]:
    """The problems of a suite's or scenario's members of the request. `tools` None: they are not known."""
    known = member_names(RunRequest)
    for name in request:
        at = (*path, name)
        if name in _OWN_PLACE:
            yield at, f"This belongs in a separate place: {_OWN_PLACE[name]}."
        elif name in _UNUSED:
            yield at, "Calls of a suite are answered by its script and by the demo tools only."
        elif name in known and name not in REQUEST_MEMBERS:
            yield (
                at,
                f'"{name}" is varied by the configurations. A suite may hold {", ".join(REQUEST_MEMBERS)}.',
            )
        elif name not in known:
            yield at, no_such(name, REQUEST_MEMBERS, "A request")
    found = list(
        member_problems(RunRequest, {n: v for n, v in request.items() if n in REQUEST_MEMBERS}, path)
    )
    yield from found
    if not found:
        yield from _values(request, tools, path)


def answer_problem(answer: Answer) -> str:
    """Why nothing can be this answer; empty for a call, and where something can."""
    try:
        if not answer.is_call:
            (schema_answer if answer.kind == "schema" else answer_grammar)(answer)
    except GrammarError as error:
        return error.words
    return ""


def scenario_problems(
    scenario: suite.Scenario, tools: KnownTools | None, path: Path, answer: Answer = CALL
) -> Iterator[Found]:
    """All problems of one scenario. `tools` are its registry's under its own allow list; None: not known. `answer` is
    the suite's.
    """
    own, answer = scenario.answer, scenario.answer or answer
    if wrong := answer_problem(answer):
        if own is not None:
            yield (*path, "answer"), wrong
        answer = CALL
    else:
        yield from unsuitable(scenario, answer, path)
    yield from name_problems(scenario.id, (*path, "id"))
    if not asks(scenario.prompt, scenario.request.get("history")):
        yield (*path, "prompt"), "A scenario asks something: the prompt is empty."
    yield from request_problems(scenario.request, tools, (*path, "request"))
    if tools is not None:
        yield from _names(scenario.tools or (), tools, (*path, "tools"))
        for index, result in enumerate(scenario.script):
            yield from _scripted(result, tools, (*path, "script", index))
    if len(scenario.turns) > MAX_TURNS:
        yield (*path, "turns"), f"There are {len(scenario.turns)} turns; at most {MAX_TURNS} are allowed."
    yield from _expected(scenario.expect, scenario, tools, (*path, "expect"))
    for index, turn in enumerate(scenario.turns):
        if not turn.prompt.strip():
            yield (*path, "turns", index, "prompt"), "A turn asks something: the prompt is empty."
        yield from _expected(turn.expect, scenario, tools, (*path, "turns", index, "expect"))


def asks(prompt: str, history: Any) -> bool:
    """Whether the model is to answer: to a prompt, or to the result of a tool with which the conversation ends."""
    last = history[-1] if isinstance(history, list) and history else {}
    return bool(prompt.strip()) or (isinstance(last, dict) and last.get("role") == "tool")


def unsuitable(scenario: suite.Scenario, answer: Answer, path: Path) -> Iterator[Found]:
    """The members of a scenario that only other answers could satisfy: rules for calls, if the answer is not a call,
    and a right answer that it cannot be.
    """
    turns = ((*path, "turns", index, "expect") for index in range(len(scenario.turns)))
    expected = list(zip(((*path, "expect"), *turns), suite.expectations(scenario), strict=True))
    for at, expect in expected:
        if expect.final is not None:
            yield from _right_answer(expect.final, answer, (*at, "final"))
    if answer.is_call:
        return
    why = f"The answer is not a call ({answer}), so there is nothing that this could be about."
    strategy = scenario.request.get("strategy", "direct")
    if strategy != "direct":
        yield (*path, "request", "strategy"), f"The answer is not a call ({answer}): its strategy is direct."
    for name in ("script", "demo"):
        if getattr(scenario, name):
            yield (*path, name), why
    for at, expect in expected:
        for name in ("calls", "ordered", "extra_calls", "forbidden", "choice", "workspace"):
            if getattr(expect, name):
                yield (*at, name), why
        for index, check in enumerate(expect.paths):
            if re.match(r"\$(\.calls|\[['\"]calls)\b", check.path) and check.count != 0:
                yield (*at, "paths", index, "path"), f"The answer is not a call ({answer}): $.calls is empty."


def check_problems(row: suite.CheckRow, path: Path) -> Iterator[Found]:
    if row.code in ("UNKNOWN_TOOL", "MISSING_TOOL") and row.tool_allowed:
        yield (*path, "tool_allowed"), f"With {row.code}, no tool is allowed."


def size_problems(row: suite.SizeRow, tools: KnownTools | None, path: Path) -> Iterator[Found]:
    yield from name_problems(row.id, (*path, "id"))
    for name, size in row.claimed.items():
        if name not in NOTATIONS:
            yield (*path, "claimed", name), no_such(name, NOTATIONS, "A size")
        elif size < 1:
            yield (*path, "claimed", name), f"A call has at least one character, not {size}."
    if tools is not None:
        unknown = list(_names((row.tool,), tools, path, "tool"))
        yield from unknown
        if not unknown and (wrong := tools.fault(row.tool, row.arguments, complete=True)):
            yield (*path, "arguments", *steps_of(wrong[0])), wrong[1]


def _values(request: dict[str, Any], tools: KnownTools | None, path: Path) -> Iterator[Found]:
    """The problems of values that have the right type but that no run could have."""
    for at, (least, message) in _LEAST.items():
        if (value := _member(request, at)) is not None and value < least:
            yield (*path, *at), message
    for name in ("max_seconds", "max_tool_seconds"):
        if request.get("loop", {}).get(name, 1) <= 0:
            yield (*path, "loop", name), "It is more than 0 seconds."
    if wrong := stop_problem(tuple(request.get("stop", ()))):
        yield (*path, "stop"), f"{wrong}."
    if wrong := extra_body_problem(tuple(request.get("extra_body", ()))):
        yield (*path, "extra_body"), f"{wrong}."
    for index, message in enumerate(request.get("history", ())):
        if message["role"] not in ROLES:
            yield (*path, "history", index, "role"), f"The role must be one of {', '.join(ROLES)}."
    for at, kind, known in _named():
        names = _member(request, at) or ()
        for index, name in enumerate((names,) if isinstance(names, str) else names):
            if name not in known:
                within = () if isinstance(names, str) else (index,)
                yield (*path, *at, *within), f'There is no {kind} "{name}". There are {", ".join(known)}.'
    if tools is not None:
        choice = request.get("tool_choice", "required")
        if choice not in TOOL_CHOICES:
            yield from _names((choice,), tools, path, "tool_choice")
        for list_name in ("allow", "deny"):
            yield from _names(_member(request, ("loop", list_name)) or (), tools, (*path, "loop", list_name))


def _member(request: dict[str, Any], at: tuple[str, ...]) -> Any:
    """A member, possibly nested; None if it is not given."""
    value: Any = request
    for name in at:
        value = value.get(name) if value is not None else None
    return value


def _named() -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The members that contain names, the kind of these names, and the known ones."""
    yield ("preset",), "preset", tuple(presets())
    yield ("loop", "presets"), "preset", tuple(preset.name for preset in loop_presets())
    yield ("loop", "transforms"), "transform", tuple(TRANSFORMS)
    parts = tuple(strategy_presets())
    for at in (("loop", "prompt"), ("router", "router"), ("router", "executor"), ("repair", "preset")):
        yield at, "preset", parts


def _names(names: Any, tools: KnownTools, path: Path, member: str = "") -> Iterator[Found]:
    """The names of tools that the registry does not have; `member` is given for a single name in place of a list."""
    for index, name in enumerate(names):
        if tools.registry.get(name) is None:
            yield (*path, member or index), no_such(name, tools.names[:40], "The registry")


def _scripted(result: suite.ScriptedResult, tools: KnownTools, path: Path) -> Iterator[Found]:
    if result.times < 0:
        yield (*path, "times"), "It is at least 0, which stands for all calls."
    if result.fault and result.structured is not None:
        yield (*path, "structured"), 'A fault has a message, its "text", and no structured answer.'
    unknown = list(_names((result.tool,), tools, path, "tool"))
    yield from unknown
    if (
        not unknown
        and result.arguments
        and (wrong := tools.fault(result.tool, result.arguments, complete=False))
    ):
        yield (*path, "arguments", *steps_of(wrong[0])), f"No valid call has this. {wrong[1]}"


def _expected(
    expect: suite.Expectation, scenario: suite.Scenario, tools: KnownTools | None, path: Path
) -> Iterator[Found]:
    for index, call in enumerate(expect.calls):
        at = (*path, "calls", index)
        yield from call_problems(call, tools, at)
        for place, name in enumerate(call.tools):
            if name in expect.forbidden:
                yield (*at, "tools", place), f"{name} is forbidden as well: nothing could be right."
    if tools is not None:
        yield from _names(expect.forbidden, tools, (*path, "forbidden"))
    if expect.choice in ("none", "multi_intent") and expect.calls:
        yield (*path, "choice"), "Where no tool is chosen no call can be right, and calls are expected."
    if expect.choice == "clarify" and expect.calls and not scenario.answers:
        yield (
            (*path, "choice"),
            'After a question without an answer there is no call. Give "answers", or no calls.',
        )
    if expect.final is not None:
        yield from _final(expect.final, (*path, "final"))
    if expect.workspace is not None:
        if not scenario.demo:
            yield (*path, "workspace"), 'There is no workspace without the demo tools: "demo" is true.'
        yield from _schema(expect.workspace, (*path, "workspace"))
    for index, check in enumerate(expect.paths):
        yield from _path(check, (*path, "paths", index))
    for index, judged in enumerate(expect.judge):
        if not judged.rubric.strip():
            yield (*path, "judge", index, "rubric"), "The rubric is empty."
        elif len(judged.rubric) > MAX_RUBRIC:
            long = f"The rubric has {len(judged.rubric):,} characters; at most {MAX_RUBRIC:,} are allowed."
            yield (*path, "judge", index, "rubric"), long


def pattern_problem(pattern: str) -> str:
    """Why a suite cannot have this regular expression, which would fail every answer; empty if it can."""
    if reason := bad_pattern(pattern):
        return reason
    why = unreadable(pattern)
    return f"Invalid regular expression: {why}. Write it as ECMA-262 has it." if why else ""


def _path(check: suite.PathCheck, path: Path) -> Iterator[Found]:
    if reason := bad_path(check.path):
        yield (*path, "path"), reason
    if check.pattern is not None and (reason := pattern_problem(check.pattern)):
        yield (*path, "pattern"), reason
    if check.schema is not None:
        yield from _schema(check.schema, (*path, "schema"))
    if check.count is not None and check.count < 0:
        yield (*path, "count"), "At least 0."
    compared = check.equals is not msgspec.UNSET or check.any_of or check.pattern or check.schema
    if check.count == 0 and compared:
        yield (*path, "count"), "With a count of 0 nothing is selected, so there is nothing to compare."


def call_problems(call: ExpectedCall, tools: KnownTools | None, path: Path) -> Iterator[Found]:
    """The problems of an expected call, also by its tools, unless these are not known."""
    if not call.tools:
        yield (*path, "tools"), "No tool is named, so no call could be right."
    for name, values in call.any_of.items():
        if not values:
            yield (*path, "any_of", name), "No value is listed, so none could be right."
        if call.arguments is not None and name in call.arguments:
            yield (*path, "any_of", name), f'"{name}" is in "arguments" as well.'
    if call.schema is not None:
        yield from _schema(call.schema, (*path, "schema"))
    if tools is None:
        return
    for index, tool in enumerate(call.tools):
        if tools.registry.get(tool) is None:
            yield (*path, "tools", index), no_such(tool, tools.names[:40], "The registry")
        elif tool not in tools.allowed:
            yield (*path, "tools", index), f"{tool} may not be called here: it is not on the allow list."
        else:
            yield from _arguments(call, tool, tools, path)


def _arguments(call: ExpectedCall, tool: str, tools: KnownTools, path: Path) -> Iterator[Found]:
    """The problems of an expected call's arguments that the tool itself would reject."""
    for index, name in enumerate(call.optional):
        if name not in call.any_of and name not in (call.arguments or {}) and not tools.takes(tool, name):
            yield (*path, "optional", index), f'{tool} has no argument "{name}".'
    faults = 0
    for name, values in call.any_of.items():
        for index, value in enumerate(values):
            if wrong := tools.fault(tool, {name: value}, complete=False):
                faults += 1
                below = wrong[0].split("/", 2)[2:]
                yield (*path, "any_of", name, index, *steps_of("/" + below[0] if below else "")), wrong[1]
    if faults or not all(call.any_of.values()) or (call.arguments is None and not call.any_of):
        return
    arguments = dict(call.arguments or {})
    arguments |= {name: values[0] for name, values in call.any_of.items() if values}
    anything = set(call.optional) - arguments.keys()  # required ones may be among these
    if wrong := tools.fault(tool, arguments, complete=call.match == "exact" and not anything):
        member = "arguments" if call.arguments is not None else "any_of"
        yield (*path, member, *steps_of(wrong[0])), wrong[1]


def _final(final: FinalText, path: Path) -> Iterator[Found]:
    if final == FinalText(folded=final.folded, unordered=final.unordered):
        members = "equals, any_of, schema, contains, pattern and least_characters"
        yield path, f"It says nothing about the answer. There are {members}."
    if final.pattern is not None and (reason := pattern_problem(final.pattern)):
        yield (*path, "pattern"), reason
    if final.least_characters < 0:
        yield (*path, "least_characters"), "It is at least 0."
    if final.schema is not None:
        yield from _schema(final.schema, (*path, "schema"))


def _right_answer(final: FinalText, answer: Answer, path: Path) -> Iterator[Found]:
    if final.schema is not None and answer.kind != "schema":
        yield (*path, "schema"), "Only an answer of a schema has a value, which a schema could describe."
    given = [] if final.equals is msgspec.UNSET else [((*path, "equals"), final.equals)]
    given += [((*path, "any_of", index), value) for index, value in enumerate(final.any_of)]
    for at, value in given:
        if reason := unanswerable(value, answer, folded=final.folded):
            yield at, reason


def unanswerable(value: Any, answer: Answer, *, folded: bool) -> str:
    """Why the answer cannot be this text or value; empty if it can."""
    if answer.kind != "schema":
        if not isinstance(value, str):
            return "Only an answer of a schema has a value: all others are texts."
        if value != value.strip():
            return "White space at both ends of an answer is taken away: this could never be equal."
    if answer.is_call or (folded and answer.kind != "schema"):
        return ""
    call = own_call(answer_form(answer, "json"))
    assert call is not None, "an answer's form is its own"
    validator = answer_validator_of(call)
    validator.feed(json.dumps(value) if answer.kind == "schema" else value)
    validator.finish()
    if validator.valid:
        return ""
    found = next(iter(validator.violations), None)
    return f"This cannot be the answer ({answer}): {'it is incomplete' if found is None else found.message}."


def _schema(schema: dict[str, Any], path: Path) -> Iterator[Found]:
    for step, reason in check_schema(schema):
        yield (*path, *step), reason
