"""Whether a run's answer is the expected one of its request, and where it first differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from glyphscope.events import CallReady, ExpectedCall, ToolResult
from glyphscope.notation import parse_value
from glyphscope.runs.state import RunState, StageState
from glyphscope.validation.matching import (
    ArgumentDifference,
    Matcher,
    answer_differences,
    missing_call,
    pair_up,
    quoted,
    shown,
)


def difference_of(state: RunState) -> ArgumentDifference | None:
    """The first difference of the run's answer from the expected one of its request; None if there is none, or if
    nothing is expected.
    """
    return next(_differences(state), None)


def has_other_call(state: RunState, stage: StageState) -> bool:
    """Whether the stage has a call that is not expected."""
    expected = None if state.started is None else state.started.request.expected
    if expected is None or not stage.calls:
        return False
    differ = Matcher().difference
    return any(
        all(differ(each, call.tool, call.arguments) for each in expected.calls) for call in stage.calls
    )


def _differences(state: RunState) -> Iterator[ArgumentDifference]:
    request = None if state.started is None else state.started.request
    if request is None or request.expected is None:
        return
    yield from call_differences(request.expected.calls, list(_calls(state)))
    if request.expected.final is not None:
        said, value = None if state.answer is None else state.answer.text.strip(), msgspec.UNSET
        if said is not None and request.answer.kind == "schema":
            value = parse_value(said, request.notation)
        yield from answer_differences(request.expected.final, said, value)


def call_differences(
    expected: Sequence[ExpectedCall], made: Sequence[CallReady]
) -> Iterator[ArgumentDifference]:
    """Each expected call that was not made, beside the made one that is nearest to it, then the surplus ones."""
    matcher = Matcher()

    def fits(at: int, number: int) -> bool:
        return matcher.difference(expected[at], made[number].tool, made[number].arguments) is None

    pairs = pair_up(len(expected), len(made), fits)
    others = [call for number, call in enumerate(made) if number not in pairs.values()]
    for each in (call for at, call in enumerate(expected) if at not in pairs):
        nearest = min(others, key=lambda call: call.tool not in each.tools, default=None)
        if nearest is None:
            yield ArgumentDifference("", missing_call(each))
        else:
            others.remove(nearest)
            found = matcher.difference(each, nearest.tool, nearest.arguments)
            if found is not None:
                yield found
    for call in others:
        yield ArgumentDifference("", f"{quoted(call.tool)} was called with {shown(call.arguments)}")


def _calls(state: RunState) -> Iterator[CallReady]:
    """The valid calls, without those that failed when they were executed: the model may correct them."""
    for stage in state.stages:
        failed = {event.call for event in stage.outline if isinstance(event, ToolResult) and not event.ok}
        yield from (call for call in stage.calls if call.call not in failed or not call.call)
