"""The outcome of one run of any strategy, for scoring: its calls, its answer, the errors of its texts, its end.

Only texts from the original request count as the model's own; a repair is requested because such a text was wrong, and
says nothing about it. The outcome as a document is what JSONPath assertions are about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.evals.checking.service import CheckFailed, select
from glyphscope.evals.results.sample import ModelCall, Reason
from glyphscope.evals.suites.suite import Expectation, PathCheck, Scenario, expectations
from glyphscope.events import Aborted, LimitReached, RepairTried, Routed, RunRequest, ToolResult, Violation
from glyphscope.grammar.regular import pattern
from glyphscope.notation import parse_value
from glyphscope.runs import RunState, StageState
from glyphscope.turns import AnswerValidator, Expected, TurnOptions, own_form
from glyphscope.validation.matching import ArgumentDifference, Values, alternatives, schema_fault, shown

SYNTAX: frozenset[str] = frozenset(
    {"SYNTAX", "LEADING_TEXT", "TRAILING_TEXT", "TRUNCATED", "NO_TOOL_CALL", "LIMIT_EXCEEDED"}
)
"""The codes of a text outside the notation, or an incomplete one; the other codes are about its content."""

REASON_OF_CODE: dict[str, Reason] = {
    "MODEL_FAILED": "MODEL_FAILED",
    "CONSTRAINT_FAILED": "CONSTRAINT_FAILED",
    "CONSTRAINT_IGNORED": "CONSTRAINT_IGNORED",
    "CONTEXT_OVERFLOW": "CONTEXT_OVERFLOW",
    "PROMPT_FAILED": "BAD_REQUEST",
    "BAD_REQUEST": "BAD_REQUEST",
}
"""The reason of a sample by the code with which its run failed; any other code is the model's failure."""

_WHOLE = frozenset({"call", "repair", "executor", "turn", "final"})
"""The kinds of stages that write whole calls, or words in their place."""

_CALL_BEGUN = re.compile(r"\s*[\w.\-]*\{")
"""A brace, or GLYPH's head form."""


@dataclass(frozen=True)
class MadeCall:
    """A call, and its result if it was executed."""

    made: ModelCall
    result: ToolResult | None = None

    @property
    def failed(self) -> bool:
        return self.made.ok is False


class RunReading:
    """A run, finished or so far."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.texts = [stage for stage in state.stages if stage.kind != "tool"]
        self.own = [stage for stage in self.texts if stage.kind != "repair"]
        outline = [event for stage in state.stages for event in stage.outline]
        self.routed = [event for event in outline if isinstance(event, Routed)]
        self.limits = [event for event in outline if isinstance(event, LimitReached)]
        self._results = {event.call: event for event in outline if isinstance(event, ToolResult)}
        self._repairs = [event for event in outline if isinstance(event, RepairTried)]

    @property
    def request(self) -> RunRequest | None:
        return None if self.state.started is None else self.state.started.request

    @property
    def calls_tools(self) -> bool:
        """Whether the answer is to be a call, or words in place of one."""
        return self.request is None or self.request.answer.is_call

    @property
    def in_loop(self) -> bool:
        return self.request is not None and self.request.strategy == "loop"

    @property
    def reason(self) -> str:
        """The reason of the run's end, or the code with which it failed."""
        if self.state.failed is not None:
            return self.state.failed.code
        return "" if self.state.finished is None else self.state.finished.reason

    @cached_property
    def calls(self) -> tuple[MadeCall, ...]:
        """All valid calls, in order."""
        found = (call for stage in self.state.stages for call in stage.calls)
        results = ((call, self._results.get(call.call) if call.call else None) for call in found)
        return tuple(
            MadeCall(
                ModelCall(tool=call.tool, arguments=call.arguments, ok=result.ok if result else None), result
            )
            for call, result in results
        )

    @cached_property
    def in_words(self) -> tuple[ModelCall, ...]:
        """Valid calls in a text that should be one call but has text around it, or further calls.

        Used if no call is expected: a call within text is a call.
        """
        return tuple(
            ModelCall(tool=call.tool, arguments=call.arguments)
            for call in (self._looked_through.calls if self._looked_through else ())
            if call.valid and call.tool is not None and call.arguments is not None
        )

    @property
    def only_words(self) -> bool:
        """Whether the last text is words in which no call begins."""
        if self.calls or not self.texts or self.texts[-1].kind not in _WHOLE or not self.calls_tools:
            return False
        return self._looked_through is None or not self._looked_through.calls

    @cached_property
    def _looked_through(self) -> AnswerValidator | None:
        """The validator after searching the last text for calls; None without a text, request or registry."""
        request, registry, text = self.request, self.state.whole_registry, self.last_text
        if request is None or registry is None or not text or self.calls or not self.calls_tools:
            return None
        form = own_form(request.notation, request.shape, text_after=True)
        validator = Expected(form, TurnOptions("auto", most_calls=None)).validator(registry)
        validator.feed(text)
        validator.finish()
        return validator

    @property
    def last_text(self) -> str:
        """The last text that the model wrote."""
        return next((stage.text for stage in reversed(self.texts) if stage.text), "")

    @property
    def said(self) -> str | None:
        """The text for the user: the final answer, or text in place of a call; None without one."""
        if self.state.answer is not None:
            return self.state.answer.text.strip()
        return self.last_text.strip() if self.only_words and not (self.in_loop or self.routed) else None

    @property
    def value(self) -> Any:
        """The value of a valid answer of a schema, whatever its notation; UNSET for any other answer."""
        request, answer = self.request, self.state.answer
        if request is None or answer is None or request.answer.kind != "schema":
            return msgspec.UNSET
        return parse_value(answer.text, request.notation)

    @property
    def text(self) -> str:
        """The text to show: the answer, the whole call if it was written in parts, or the last text."""
        if self.state.answer is not None:
            return self.state.answer.text
        if self.state.call is not None and any(stage.kind == "arguments" for stage in self.own):
            return self.state.call.text
        return self.last_text

    @property
    def parsed(self) -> bool | None:
        """Whether the model's own texts are in the notation; None if one was stopped for another reason."""
        if self._cut_off:
            return None
        verdicts = [_parsed(stage, calls=self.calls_tools) for stage in self.own]
        if not verdicts or False in verdicts:
            return False if verdicts else None
        return None if None in verdicts else True

    @property
    def _cut_off(self) -> bool:
        """Whether a call in parts had no tokens left for the second part."""
        named_only = bool(self.texts) and self.texts[-1].kind == "name" and not self.texts[-1].violations
        return self.reason == "length" and not self.in_loop and not self.calls and named_only

    @property
    def fault(self) -> tuple[Reason, Violation] | None:
        """The error of the text that ended the run without a result; None if the last text was right."""
        if (self.calls and not self.in_loop) or (self.state.answer is not None and not self.calls_tools):
            return None
        if self._cut_off:
            message = "no tokens are left for the arguments"
            end = len(self.texts[-1].text)
            return "LENGTH", Violation(code="TRUNCATED", message=message, path="", char=end, token=-1)
        last = self.texts[-1] if self.texts else None
        if last is None or not last.violations:
            return None
        first = last.violations[0]
        if _by_length(last, first):
            return "LENGTH", first
        return "PARSE" if _not_of_notation(last, calls=self.calls_tools) else "SCHEMA", first

    @property
    def named(self) -> str:
        """The chosen tool, even without a valid call; empty if none was chosen."""
        if self.calls:
            return self.calls[-1].made.tool
        for stage in reversed(self.texts):
            if stage.tool is not None and stage.tool.allowed:
                return stage.tool.name
        return next((routed.tool for routed in reversed(self.routed) if routed.tool), "")

    @property
    def codes(self) -> frozenset[str]:
        """All codes that occurred in the run."""
        codes: set[str | None] = {
            violation.code for stage in self.state.stages for violation in stage.violations
        }
        codes |= {result.code for result in self._results.values()}
        codes |= {code for repair in self._repairs for code in (repair.code, repair.now_code)}
        if self.state.failed is not None:
            codes.add(self.state.failed.code)
        return frozenset(code for code in codes if code is not None)

    @property
    def stopped(self) -> Aborted | None:
        """The first early abort."""
        return next((stage.aborted for stage in self.own if stage.aborted is not None), None)

    @property
    def no_answer(self) -> tuple[Reason, str] | None:
        """The reason why there is no answer of the model, with its words; None if there is one."""
        failed, finished = self.state.failed, self.state.finished
        if failed is not None:
            reason = REASON_OF_CODE.get(failed.code, "MODEL_FAILED")
            return reason, f"{failed.message} {failed.detail}".strip()
        if finished is None:
            return "MODEL_FAILED", "the run did not come to its end"
        if finished.reason == "cancelled":
            return "TIMEOUT", "the run was stopped before its end"
        late = next((limit for limit in self.limits if limit.limit == "max_seconds"), None)
        if finished.reason == "limit" and late is not None:
            return "TIMEOUT", late.message
        return None


def _parsed(stage: StageState, *, calls: bool) -> bool | None:
    wrong = [violation for violation in stage.violations if not _by_length(stage, violation)]
    if any(violation.code in SYNTAX for violation in wrong) or (
        wrong and _not_of_notation(stage, calls=calls)
    ):
        return False
    if len(wrong) < len(stage.violations):
        return None
    return None if stage.aborted is not None or stage.finished is None else True


def _by_length(stage: StageState, violation: Violation) -> bool:
    """Whether the violation is only that the text has no end, because of the token limit."""
    return violation.code == "TRUNCATED" and stage.finished is not None and stage.finished.reason == "length"


def _not_of_notation(stage: StageState, *, calls: bool) -> bool:
    """Whether the first error of the text is in its form; `calls`: it should be a call.

    A word at the beginning could be a tool's name in GLYPH's head form, and is an unknown tool there; in JSON it is
    text before the call, or in a router's answer a value other than an object. All of them are treated alike, as text.
    """
    if not stage.violations:
        return False
    first = stage.violations[0]
    if not calls:
        return first.code in SYNTAX
    whole_value = (first.code, first.path) == ("TYPE_MISMATCH", "")
    if (stage.kind in _WHOLE or stage.kind == "router") and (whole_value or first.code == "UNKNOWN_TOOL"):
        return not _CALL_BEGUN.match(stage.text) and "{" not in stage.text[: first.char]
    return first.code in SYNTAX


# the outcome as a document, and assertions on it


_MAX_PLACE = 200


class TurnOutcome(NamedTuple):
    """The run of a turn with what is expected of it, and the document for assertions."""

    expect: Expectation
    reading: RunReading
    document: dict[str, Any]


def turn_outcomes(
    scenario: Scenario, turns: Sequence[RunState], workspace: dict[str, Any] | None
) -> list[TurnOutcome]:
    """The outcome of each turn, in order; after a run that failed, the others are missing.

    `workspace` is the demo tools' workspace at the end, None without one.
    """
    prompts = (scenario.prompt, *(turn.prompt for turn in scenario.turns))
    return [
        TurnOutcome(expect, reading := RunReading(state), subject(prompt, reading, workspace))
        for expect, prompt, state in zip(expectations(scenario), prompts, turns)
    ]


def subject(prompt: str, reading: RunReading, workspace: dict[str, Any] | None) -> dict[str, Any]:
    """`prompt`, `calls` (each with `tool`, `arguments`, and `ok` and `result` if it was executed), `answer` (the final
    text; None without one), `text` (the model's last text) and `workspace` (None without demo tools); and `value`, that
    of a valid answer of a schema.
    """
    value = reading.value
    return {
        "prompt": prompt,
        "calls": [_call(call) for call in reading.calls],
        "answer": reading.said,
        "text": reading.last_text,
        "workspace": workspace,
        **({} if value is msgspec.UNSET else {"value": value}),
    }


def _call(call: MadeCall) -> dict[str, Any]:
    made: dict[str, Any] = {"tool": call.made.tool, "arguments": call.made.arguments}
    if call.result is not None:
        made |= {"ok": call.result.ok, "result": call.result.sent or call.result.message}
    return made


def path_fault(check: PathCheck, result: dict[str, Any]) -> ArgumentDifference | None:
    """The difference from the expected value, at its normalised path; None if there is none.

    Raises CheckFailed if the path cannot be evaluated.
    """
    found = select(check.path, result)
    place = _place(check.path)
    if check.count is not None and found.total != check.count:
        return ArgumentDifference(
            place, f"{place} selects {pluralize(found.total, 'value')}, not {check.count:,}"
        )
    if not found.total and check.count is None:
        return ArgumentDifference(place, f"{place} selects nothing")
    values = Values()
    for where, value in found.nodes:
        fault = _fault(check, value, values)
        if fault:
            return ArgumentDifference(_place(where), f"{_place(where)} {fault}")
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
