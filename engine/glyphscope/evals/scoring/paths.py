"""The result of a run as a document, and JSONPath assertions on it: the first value that is not as expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from glyphscope.evals.checking.service import CheckFailed, select
from glyphscope.evals.scoring.matching import schema_fault
from glyphscope.evals.scoring.outcome import MadeCall, RunReading
from glyphscope.evals.scoring.values import Difference, Values, alternatives, shown
from glyphscope.evals.suites.suite import Expectation, PathCheck, Scenario, expectations
from glyphscope.grammar.regular import pattern
from glyphscope.runs import RunState
from glyphscope.text.figures import pluralize
from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

_MAX_PLACE = 200


def subjects(
    scenario: Scenario, turns: Sequence[RunState], workspace: dict[str, Any] | None
) -> list[tuple[Expectation, RunReading, dict[str, Any]]]:
    """For the run of each turn: the expectations, the reading, and the document for assertions."""
    prompts = (scenario.prompt, *(turn.prompt for turn in scenario.turns))
    return [
        (expect, reading := RunReading(state), subject(prompt, reading, workspace))
        for expect, prompt, state in zip(expectations(scenario), prompts, turns)
    ]


def subject(prompt: str, reading: RunReading, workspace: dict[str, Any] | None) -> dict[str, Any]:
    """`prompt`, `calls` (each with `tool`, `arguments`, and `ok` and `result` if it was executed), `answer` (the final
    text; None without one), `text` (the model's last text) and `workspace` (None without demo tools).
    """
    return {
        "prompt": prompt,
        "calls": [_call(call) for call in reading.calls],
        "answer": reading.said,
        "text": reading.last_text,
        "workspace": workspace,
    }


def _call(call: MadeCall) -> dict[str, Any]:
    made: dict[str, Any] = {"tool": call.made.tool, "arguments": call.made.arguments}
    if call.result is not None:
        made |= {"ok": call.result.ok, "result": call.result.sent or call.result.message}
    return made


def path_fault(check: PathCheck, result: dict[str, Any]) -> Difference | None:
    """The difference from the expected value, at its normalised path; None if there is none.

    Raises CheckFailed if the path cannot be evaluated.
    """
    found = select(check.path, result)
    place = _place(check.path)
    if check.count is not None and found.total != check.count:
        return Difference(place, f"{place} selects {pluralize(found.total, 'value')}, not {check.count:,}")
    if not found.total and check.count is None:
        return Difference(place, f"{place} selects nothing")
    values = Values()
    for where, value in found.nodes:
        fault = _fault(check, value, values)
        if fault:
            return Difference(_place(where), f"{_place(where)} {fault}")
    return None


def _fault(check: PathCheck, value: Any, values: Values) -> str:
    """The error of one of the values, as the end of a sentence; empty if there is none."""
    if check.equals is not msgspec.UNSET and not values.same(check.equals, value):
        return f"is {shown(value)}, not {shown(check.equals)}"
    if check.any_of and not any(values.same(each, value) for each in check.any_of):
        return f"is {shown(value)}, not {alternatives(check.any_of)}"
    if check.pattern is not None:
        found = isinstance(value, str) and pattern.found(check.pattern, value)
        if found is None:
            raise CheckFailed(f"whether {shown(value)} matches {shown(check.pattern)} is not decided in time")
        if not found:
            return f"is {shown(value)}, and does not match {shown(check.pattern)}"
    if check.schema is not None and (fault := schema_fault(check.schema, value, "the value")) is not None:
        return f"does not fit the schema: {fault.words}"
    return ""


def _place(path: str) -> str:
    return shorten(visible(path, spaces=True), _MAX_PLACE)
