"""Makes a scenario from a run: the same prompt, tools and settings, with the expected call, or else the run's own.

Only a person knows whether the call was right, and confirms it by saving the run as a scenario. The answers of its
tools become the script, so that the scenario needs no server and gives every model the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites.own import free_id
from glyphscope.evals.suites.rules import REQUEST_MEMBERS, asks
from glyphscope.evals.suites.suite import (
    SCRIPTED,
    VERSION,
    Choice,
    Expectation,
    Scenario,
    ScriptedResult,
    Suite,
)
from glyphscope.events import (
    AnyEvent,
    CallReady,
    ExpectedAnswer,
    ExpectedCall,
    FinalText,
    QuestionAnswered,
    Routed,
    RunRequest,
    ToolResult,
)
from glyphscope.notation import parse_value
from glyphscope.registry import parse_document
from glyphscope.runs import RunState, run_state
from glyphscope.runs.again import again
from glyphscope.store.bundle import read_run

_FAULTS: dict[str, Any] = {"tool": "tool", "protocol": "protocol", "timeout": "timeout"}


def suite_of_runs(paths: Iterable[Path], name: str) -> Suite:
    """A suite of those records, one scenario for each, all with their own tools. Raises SuiteError, and StorageError
    and RecordError for any other file.
    """
    scenarios: list[Scenario] = []
    for path in paths:
        made = scenario_of_run(read_run(path).events, path.stem, str(path))
        scenarios.append(msgspec.structs.replace(made, id=free_id(scenarios, made.id)))
    if not scenarios:
        raise SuiteError("There is no run to make a scenario of.", hint="Name at least one record.")
    strategy = scenarios[0].request["strategy"]
    registry = scenarios[0].registry
    same = all(each.registry == registry for each in scenarios)
    return Suite(
        glyphscope_suite=VERSION,
        name=name,
        about=f"Made of {len(scenarios)} recorded {'run' if len(scenarios) == 1 else 'runs'}.",
        registry=registry if same and registry is not None else "default",
        strategy=strategy,
        scenarios=tuple(
            msgspec.structs.replace(
                each,
                registry=None if same else each.registry,
                request={n: v for n, v in each.request.items() if (n, v) != ("strategy", strategy)},
            )
            for each in scenarios
        ),  # the suite's strategy is not repeated in scenarios: an arm's replaces it only in the suite
    )


def scenario_of_run(stream: Iterable[AnyEvent], id: str, where: str = "") -> Scenario:
    """The scenario of one run. Raises SuiteError for a run without a usable expectation."""
    stream = list(stream)
    state = run_state(stream)
    if state.started is None or state.finished is None:
        raise SuiteError(
            "The run is incomplete, so the expected call is unknown.",
            where=where,
            hint="Use a finished run.",
        )
    request = state.started.request
    if request.grammar is not None or not asks(request.prompt, _plain(request.history)):
        raise SuiteError(
            "A run with a custom grammar or without a user message cannot become a scenario.",
            where=where,
            hint="Run the tools' own grammar, with a user message.",
        )
    if request.relaxed:
        raise SuiteError(
            "The run did not enforce all of its tools' constraints, so its tools may reject its call.",
            where=where,
            hint="Change the tools themselves, and take a run of those.",
        )
    if not request.answer.is_call:
        return _of_answer(state, request, id, where)
    expected = request.expected
    calls = [event for event in stream if isinstance(event, CallReady)]
    results = {event.call: event for event in stream if isinstance(event, ToolResult)}
    choice = _choice(stream)
    if not calls and choice is None and state.answer is None and expected is None:
        raise SuiteError(
            "The run has no valid call and no answer.", where=where, hint="Use a run that produced a call."
        )
    registry = state.whole_registry or parse_document(request.registry)
    retried = not all(result.ok for result in results.values())
    return Scenario(
        id=_slug(id),
        group=_group(calls, expected),
        prompt=request.prompt,
        expect=Expectation(calls=expected.calls, final=expected.final, extra_calls=retried)
        if expected is not None
        else Expectation(
            calls=tuple(
                ExpectedCall(tools=(call.tool,), arguments=call.arguments)
                for call in calls
                if call.call not in results or results[call.call].ok
            ),
            ordered=len(calls) > 1,
            extra_calls=retried,
            choice=choice,
            final=FinalText(least_characters=1) if state.answer is not None else None,
        ),
        registry=registry.to_document(),
        script=_script(calls, results),
        request=_request(request),
        answers=_answers(stream),
        note=f"Made of a run of {state.started.model.name}, {state.started.time}.",
    )


def with_recorded_answers(suite: Suite, runs: Iterable[tuple[str, Sequence[AnyEvent]]]) -> Suite:
    """The suite whose scripts also have the answers of tools in recorded runs, each with the id of its scenario.

    Calls with the same arguments get the answers of the run that made most of them, in order, and then the last one
    again. Answers of the suite's own scripts are not repeated.
    """
    found: dict[str, dict[tuple[str, bytes], list[ScriptedResult]]] = {}
    scripted = {each.id: {entry.tool for entry in each.script} for each in suite.scenarios}
    for id, events in runs:
        calls = [event for event in events if isinstance(event, CallReady)]
        results = {event.call: event for event in events if isinstance(event, ToolResult)}
        results = {
            call: each
            for call, each in results.items()
            if each.source != SCRIPTED or each.tool in scripted.get(id, ())
        }
        answers: dict[tuple[str, bytes], list[ScriptedResult]] = {}
        for entry in _script(calls, results):
            key = entry.tool, msgspec.json.encode(entry.arguments, order="sorted")
            answers.setdefault(key, []).append(entry)
        known = found.setdefault(id, {})
        known |= {key: each for key, each in answers.items() if len(each) > len(known.get(key, ()))}
    return msgspec.structs.replace(
        suite, scenarios=tuple(_answered(each, found.get(each.id, {})) for each in suite.scenarios)
    )


def _answered(scenario: Scenario, answers: dict[tuple[str, bytes], list[ScriptedResult]]) -> Scenario:
    """The scenario with these answers; those for more arguments first, as an entry applies to calls with others too."""
    own = [msgspec.structs.replace(entry, times=1, arguments={}) for entry in scenario.script]
    added: list[ScriptedResult] = []
    for entries in sorted(answers.values(), key=lambda each: -len(each[0].arguments)):
        new = [each for each in entries if msgspec.structs.replace(each, arguments={}) not in own]
        added += [*new[:-1], *(msgspec.structs.replace(each, times=0) for each in new[-1:])]
    return msgspec.structs.replace(scenario, script=(*scenario.script, *added))


def _group(calls: list[CallReady], expected: ExpectedAnswer | None) -> str:
    """The tool of the first expected call, which is that of the run unless a person named another."""
    if expected is not None and expected.calls:
        return expected.calls[0].tools[0]
    return calls[0].tool if calls else "no call"


def _of_answer(state: RunState, request: RunRequest, id: str, where: str) -> Scenario:
    """The scenario of a run whose answer is not a call. Raises SuiteError for a run without a valid answer."""
    final = None if request.expected is None else request.expected.final
    if state.started is None or (state.answer is None and final is None):
        raise SuiteError("The run has no valid answer.", where=where, hint="Use a run that produced one.")
    if final is None and state.answer is not None:
        text = state.answer.text
        value = parse_value(text, request.notation) if request.answer.kind == "schema" else text.strip()
        final = FinalText(equals=value)
    return Scenario(
        id=_slug(id),
        group=request.answer.kind,
        prompt=request.prompt,
        expect=Expectation(final=final),
        answer=request.answer,
        request=_request(request),
        note=f"Made of a run of {state.started.model.name}, {state.started.time}.",
    )


def _request(request: RunRequest) -> dict[str, Any]:
    """The members of the request that differ from the defaults, among those allowed in a suite."""
    request = again(request)
    members: dict[str, Any] = {"strategy": request.strategy}
    for name in REQUEST_MEMBERS:
        value, usual = _plain(getattr(request, name)), _plain(_USUAL[name])
        if isinstance(value, dict):
            value = {key: each for key, each in value.items() if each != usual[key]}
            value.pop("answers", None)  # they are in the scenario
            value.pop("presets", None)  # they only name the origins of the settings
            usual = {}
        if value != usual:
            members[name] = value
    return members


def _plain(value: Any) -> Any:
    """The value as it would be read from a suite's file."""
    return msgspec.json.decode(msgspec.json.encode(value))


_BLANK = RunRequest(prompt="", registry={})
_USUAL: dict[str, Any] = {name: getattr(_BLANK, name) for name in REQUEST_MEMBERS}


def _choice(stream: list[AnyEvent]) -> Choice | None:
    routed = [event.choice for event in stream if isinstance(event, Routed)]
    if not routed:
        return None
    return "clarify" if "clarify" in routed else routed[-1]


def _script(calls: list[CallReady], results: dict[str, ToolResult]) -> tuple[ScriptedResult, ...]:
    """The answers of the tools, each for its arguments."""
    found = []
    for call in calls:
        result = results.get(call.call)
        if result is None or (not result.ok and result.fault not in _FAULTS):
            continue  # never executed: the run's limits and rules will prevent it again
        text = "\n".join(piece.text for piece in result.content if piece.kind == "text")
        found.append(
            ScriptedResult(
                tool=call.tool,
                text=text if result.ok else result.message,
                structured=result.structured if result.ok else None,
                fault=_FAULTS.get(result.fault, ""),
                arguments=call.arguments,
            )
        )
    return tuple(found)


def _answers(stream: list[AnyEvent]) -> tuple[str, ...]:
    return tuple(event.answer for event in stream if isinstance(event, QuestionAnswered) and event.answer)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:120] or "run"
