"""The verdict on a scenario: the expectations that were met, and all failures in order.

A run that could not be finished says nothing about the model, so it has a single failure. Any other sample counts under
the first error on the way to a right call: the text, the call's schema, the choice of the tool, its arguments,
unexpected calls; then the answer in words and the final workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Literal

import msgspec

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.evals.checking.service import CheckFailed
from glyphscope.evals.results.sample import NO_ANSWER, ModelCall, Reason, Sample, SampleFailure
from glyphscope.evals.scoring.outcome import MadeCall, TurnOutcome, path_fault
from glyphscope.events import Code
from glyphscope.validation.matching import (
    Matcher,
    answer_differences,
    missing_call,
    pair_up,
    quoted,
    schema_fault,
    shown,
    wrong_tool,
)

MAX_TEXT = 4_000
"""Characters of a text in `samples.jsonl`; the record has all of it."""
MAX_DETAIL = 300
"""Characters of a failure's description."""
MAX_FAILURES = 20
"""Reported failures of one turn, even for a hundred surplus calls."""
_MISSED: dict[str, Reason] = {
    "tool_use": "MISSING_CALL",
    "failure_policy": "TOOL_FAILED",
    "fix_empty_final": "FINAL_TEXT",
}
"""The reasons of loops that missed a requirement, by its setting."""


def score(sample: Sample, outcomes: Sequence[TurnOutcome]) -> Sample:
    """The sample with the verdict on its turns."""
    matcher = Matcher()
    judged = [_TurnScore(outcome, number, matcher) for number, outcome in enumerate(outcomes, 1)]
    failures = [each for turn in judged for each in turn.failures]
    # an assertion that could not be evaluated decides only if nothing else does
    failures = [each for each in failures if each.reason != "CHECK_FAILED"] or failures
    failures.sort(key=lambda each: each.reason not in NO_ANSWER)
    stopped = next((stop for turn in judged if (stop := turn.reading.stopped) is not None), None)
    last = judged[-1].reading
    return msgspec.structs.replace(
        sample,
        parsed=_all_known([turn.parsed for turn in judged]),
        valid=all(turn.valid for turn in judged),
        right_tool=_all_given(turn.right_tool for turn in judged),
        right_arguments=_all_given(turn.right_arguments for turn in judged),
        ok=not failures,
        failures=tuple(failures),
        calls=tuple(made for turn in judged for made in turn.made),
        text=shorten(last.text, MAX_TEXT),
        outcome=last.state.outcome,
        ended=last.reason,
        stopped_at=stopped.char if stopped else None,
        stopped_code=stopped.code if stopped else "",
    )


def _all_known(parsed: Sequence[bool | None]) -> bool | None:
    """False if one is False, otherwise None if one is None."""
    return False if False in parsed else None if None in parsed else True


def _all_given(verdicts: Iterator[bool | None]) -> bool | None:
    """Whether all verdicts other than None are true; None if all are None."""
    given = [verdict for verdict in verdicts if verdict is not None]
    return all(given) if given else None


class _TurnScore:
    """One prompt's run against its expectations: the verdicts, and the failures in order.

    `_calls` are the calls that were made, `_hidden` the calls in a text if none was expected.
    """

    def __init__(self, outcome: TurnOutcome, number: int, matcher: Matcher) -> None:
        self.expect, self.reading, self._document = outcome
        self._number, self._matcher = number, matcher
        self._calls = self.reading.calls
        self._hidden = () if self.expect.calls or self.expect.extra_calls else self.reading.in_words
        self._words_will_do = not self.expect.calls and self.reading.only_words
        self.failures = tuple(self._all_failures())

    # the verdicts

    @property
    def made(self) -> tuple[ModelCall, ...]:
        return (*(call.made for call in self._calls), *self._hidden)

    @property
    def parsed(self) -> bool | None:
        """Whether the text was parsed; if text is an answer, it is not an unreadable call."""
        parsed = self.reading.parsed
        return None if parsed is False and self._words_will_do else parsed

    @property
    def valid(self) -> bool:
        if self._calls:
            return True
        if self.reading.no_answer is not None or self.expect.calls or self._hidden:
            return False
        return self._fault is None

    @property
    def right_tool(self) -> bool | None:
        """Whether the tools were the expected ones, whatever their arguments."""
        if not self.expect.calls:
            return None
        if not self._calls:
            return len(self.expect.calls) == 1 and self.reading.named in self.expect.calls[0].tools
        return len(self._pairs(self._calls, self._same_tool(self._calls))) == len(self.expect.calls)

    @property
    def right_arguments(self) -> bool | None:
        if not self.expect.calls:
            return None
        return len(self._pairs(self._calls, self._same_call(self._calls))) == len(self.expect.calls)

    # the failures, in order

    def _all_failures(self) -> Iterator[SampleFailure]:
        no_answer = self.reading.no_answer
        if no_answer is not None:
            yield self._failure(*no_answer)
            return
        if self._fault is not None:
            yield self._fault
        yield from self._choice_failures()
        found = list(self._call_failures())
        yield from found[:MAX_FAILURES]
        yield from self._forbidden_failures()
        yield from self._end_failures(found)
        yield from self._answer_failures()
        yield from self._workspace_failures()
        yield from self._code_failures()
        yield from self._path_failures()

    @cached_property
    def _fault(self) -> SampleFailure | None:
        """The error of the text without a result."""
        fault = self.reading.fault
        if fault is None or self._words_will_do:
            return None
        reason, violation = fault
        return self._failure(reason, violation.message, code=violation.code, path=violation.path)

    def _choice_failures(self) -> Iterator[SampleFailure]:
        choice, routed = self.expect.choice, self.reading.routed
        if choice is None or (self._fault is not None and not routed):
            return
        if routed:
            # a question is a separate choice, even if it was answered and another choice followed
            chosen = {each.choice for each in routed} if choice == "clarify" else {routed[-1].choice}
            if choice not in chosen:
                tool = f" of {quoted(routed[-1].tool)}" if routed[-1].tool else ""
                yield self._failure(
                    "WRONG_CHOICE", f"the router chose {routed[-1].choice}{tool}, not {choice}"
                )
        elif (choice == "call_tool") != bool(self.made):
            # without a router, text may be a question or mean no tool: both are indistinguishable
            yield self._failure(
                "WRONG_CHOICE", f"{'a call' if self.made else 'no call'} was made, not {choice}"
            )

    def _call_failures(self) -> Iterator[SampleFailure]:
        """Failures in tools, arguments and missing calls; then surplus calls."""
        # indices into `expected` and `counted`: pairs of right calls, then of calls of which only the tool is right
        expected, counted = self.expect.calls, self._counted
        pairs = self._pairs(counted, self._same_call(counted))
        left = [number for number in range(len(counted)) if number not in pairs.values()]
        missing = [number for number in range(len(expected)) if number not in pairs]
        of_tool = {
            missing[at]: left[made]
            for at, made in pair_up(
                len(missing),
                len(left),
                lambda at, made: counted[left[made]].made.tool in expected[missing[at]].tools,
            ).items()
        }
        left = [number for number in left if number not in of_tool.values()]
        wrong, arguments, absent = [], [], []
        for at in missing:
            if at in of_tool:
                arguments.append(self._argument_failure(at, counted[of_tool[at]]))
            elif (failed := self._failed_attempt(at)) is not None:
                absent.append(failed)
            elif left and not self.expect.extra_calls:
                tool = counted[left.pop(0)].made.tool
                wrong.append(self._failure("WRONG_TOOL", wrong_tool(expected[at], tool)))
            elif self._fault is None:
                absent.append(self._failure("MISSING_CALL", missing_call(self.expect.calls[at])))
            elif self.reading.named and self.reading.named not in expected[at].tools:
                wrong.append(self._failure("WRONG_TOOL", wrong_tool(expected[at], self.reading.named)))
        yield from (*wrong, *arguments, *absent)
        if not self.expect.extra_calls:
            yield from self._extra_call_failures([counted[number].made for number in left])

    def _extra_call_failures(self, left: list[ModelCall]) -> Iterator[SampleFailure]:
        reason: Reason = "EXTRA_CALL" if self.expect.calls else "UNWANTED_CALL"
        for made in (*left, *self._hidden):
            yield self._failure(reason, f"{quoted(made.tool)} was called with {shown(made.arguments)}")

    def _forbidden_failures(self) -> Iterator[SampleFailure]:
        for tool in dict.fromkeys(made.tool for made in self.made if made.tool in self.expect.forbidden):
            yield self._failure("FORBIDDEN_TOOL", f"{quoted(tool)} was called")

    def _end_failures(self, found: list[SampleFailure]) -> Iterator[SampleFailure]:
        """The failure of a conversation ended by a guardrail, or without a required result."""
        finished, limits = self.reading.state.finished, self.reading.limits
        if finished is None or not limits or not self.reading.in_loop:
            return
        last = limits[-1]
        if finished.reason == "limit":
            yield self._failure("LIMIT", f"{last.limit}: {last.message}")
        elif finished.reason == "refused":
            reason = _MISSED.get(last.limit, "LIMIT")
            if reason not in {each.reason for each in found}:
                yield self._failure(reason, last.message)

    def _answer_failures(self) -> Iterator[SampleFailure]:
        if (rule := self.expect.final) is not None:
            if self._fault is not None and not self.reading.calls_tools:
                return  # there is no answer to compare
            for found in answer_differences(rule, self.reading.said, self.reading.value):
                yield self._failure("FINAL_TEXT", found.words, path=found.pointer)

    def _workspace_failures(self) -> Iterator[SampleFailure]:
        schema, workspace = self.expect.workspace, self._document["workspace"]
        if schema is None:
            return
        if workspace is None:
            yield self._failure("WORKSPACE", "there is no workspace: the scenario has no demo tools")
            return
        fault = schema_fault(schema, workspace, "the workspace")
        if fault is not None:
            yield self._failure("WORKSPACE", fault.words, path=fault.pointer)

    def _code_failures(self) -> Iterator[SampleFailure]:
        for code in self.expect.seen:
            if code not in self.reading.codes:
                yield self._failure("NOT_SEEN", f"{code} did not come up", code=code)

    def _path_failures(self) -> Iterator[SampleFailure]:
        for check in self.expect.paths:
            try:
                found = path_fault(check, self._document)
            except CheckFailed as failed:
                yield self._failure("CHECK_FAILED", f"{check.path}: {failed.message}", path=check.path)
            else:
                if found is not None:
                    yield self._failure("PATH", found.words, path=found.pointer)

    # calls against calls

    @property
    def _counted(self) -> tuple[MadeCall, ...]:
        """The calls that count. With `extra_calls`, failed ones do not: the model may retry."""
        return (
            tuple(call for call in self._calls if not call.failed) if self.expect.extra_calls else self._calls
        )

    def _pairs(self, made: Sequence[MadeCall], fits: Callable[[int, int], bool]) -> dict[int, int]:
        """The index of the made call by the expected one's."""
        return pair_up(len(self.expect.calls), len(made), fits, ordered=self.expect.ordered)

    def _same_tool(self, made: Sequence[MadeCall]) -> Callable[[int, int], bool]:
        return lambda at, call: made[call].made.tool in self.expect.calls[at].tools

    def _same_call(self, made: Sequence[MadeCall]) -> Callable[[int, int], bool]:
        @cache
        def fits(at: int, call: int) -> bool:
            one = made[call].made
            return self._matcher.difference(self.expect.calls[at], one.tool, one.arguments) is None

        return fits

    def _argument_failure(self, at: int, call: MadeCall) -> SampleFailure:
        """The failure of a call of the right tool; if the call itself is right, it was made too early or too late."""
        found = self._matcher.of_arguments(self.expect.calls[at], call.made.arguments)
        if found is None:
            return self._failure(
                "MISSING_CALL", f"{missing_call(self.expect.calls[at])} in its place: the order is wrong"
            )
        return self._failure("WRONG_ARGUMENTS", f"{call.made.tool}: {found.words}", path=found.pointer)

    def _failed_attempt(self, at: int) -> SampleFailure | None:
        """The failure if the expected call was made, and failed each time."""
        if not self.expect.extra_calls:
            return None
        expected = self.expect.calls[at]
        for call in reversed(self._calls):
            if not call.failed or call.result is None:
                continue
            if self._matcher.difference(expected, call.made.tool, call.made.arguments) is None:
                result = call.result
                detail = f"{call.made.tool}: {result.message or result.fault}"
                return self._failure("TOOL_FAILED", detail, code=result.code or "")
        return None

    def _failure(
        self, reason: Reason, detail: str, *, code: Code | Literal[""] = "", path: str = ""
    ) -> SampleFailure:
        return failure(reason, detail, self._number, code=code, path=path)


def failure(
    reason: Reason, detail: str, turn: int, *, code: Code | Literal[""] = "", path: str = ""
) -> SampleFailure:
    """A failure in a user's turn (from 1); its description shows all characters visibly and has a limit."""
    words, place = (
        shorten(visible(text[: MAX_DETAIL + 1], spaces=True), MAX_DETAIL) for text in (detail, path)
    )
    return SampleFailure(reason=reason, detail=words, code=code, path=place, turn=turn)
