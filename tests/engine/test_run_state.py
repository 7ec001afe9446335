import pytest

from glyphscope.events import (
    Aborted,
    CallReady,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    ModelInfo,
    RunFailed,
    RunFinished,
    RunRequest,
    RunStarted,
    StageStarted,
    Token,
    TokenStep,
    ToolKnown,
    Violation,
)
from glyphscope.runs import CONTINUATION, RunState, reduce_event, run_state

STARTED = RunStarted(
    request=RunRequest(prompt="p", registry={}),
    model=ModelInfo(name="m"),
    versions={},
    time="2026-01-01T00:00:00Z",
)
VIOLATION = Violation(code="UNKNOWN_TOOL", message="no such tool", path="/action", char=9, token=2)


def token(index: int, text: str, start: int, *, forced: bool = False) -> Token:
    step = TokenStep(index=index, id=index, data=text.encode(), text=text, forced=forced)
    return Token(step=step, start=start, end=start + len(text))


def finished(reason: str = "complete", *, valid: bool = True) -> RunFinished:
    return RunFinished(
        reason=reason, valid=valid, tokens=2, forced=1, prompt_ms=1.0, first_token_ms=1.0, total_ms=2.0
    )


def test_text_tokens_and_forced_count_follow_the_token_events():
    state = run_state([STARTED, StageStarted(stage="call"), token(0, "{", 0, forced=True), token(1, "é}", 1)])
    assert (state.text, len(state.tokens), state.forced, state.stage) == ("{é}", 2, 1, "call")
    assert state.outcome == "running"


def test_text_read_between_tokens_stays_whole():
    state = RunState()
    seen = [reduce_event(state, token(i, char, i)).text for i, char in enumerate("abc")]
    assert seen == ["a", "ab", "abc"]


def test_a_field_changes_from_open_to_its_verdict_and_keeps_its_place():
    events = [
        FieldOpened(path="/q", start=3),
        FieldChanged(path="/q", end=6, status="open"),
        FieldChanged(path="/q", end=7, status="impossible"),
    ]
    field = run_state(events).fields["/q"]
    assert (field.start, field.end, field.status, field.closed) == (3, 7, "impossible", False)
    field = run_state(
        [*events, FieldClosed(path="/q", start=3, end=8, status="impossible", value="x")]
    ).fields["/q"]
    assert (field.end, field.closed, field.value) == (8, True, "x")


def test_a_value_that_grows_is_noted_each_time_with_one_object():
    events = [
        FieldOpened(path="/q", start=3),
        *(FieldChanged(path="/q", end=at, status="open") for at in range(4, 9)),
    ]
    state = run_state([*events, FieldChanged(path="/r", end=9, status="open")])
    touched = state.present.touched
    assert touched == [(0, "/q")] * 6 + [(0, "/r")]
    assert len(set(map(id, touched))) == 2


def test_a_field_without_a_recorded_opening_has_no_start():
    assert run_state([FieldChanged(path="/q", end=6, status="holds")]).fields["/q"].start is None


def test_a_new_stage_starts_empty_and_a_continuation_does_not():
    first = [token(0, "ab", 0), VIOLATION, ToolKnown(name="x", allowed=False, char=1)]
    again = run_state([*first, StageStarted(stage="second"), token(0, "c", 0)])
    assert (again.text, again.violations, again.tool) == ("c", [], None)
    longer = run_state([*first, StageStarted(stage=CONTINUATION), token(1, "c", 2)])
    assert (longer.text, longer.violations, len(longer.tokens)) == ("abc", [VIOLATION], 2)


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (finished(), "valid"),
        (finished("end-of-text", valid=False), "invalid"),
        (finished("length", valid=False), "invalid"),
        (finished("aborted", valid=False), "aborted"),
        (finished("cancelled", valid=False), "cancelled"),
        (RunFailed(code="MODEL_FAILED", message="gone"), "failed"),
    ],
)
def test_the_outcome_is_that_of_the_last_event(last, outcome):
    assert run_state([STARTED, last]).outcome == outcome


def test_a_run_that_starts_again_has_no_old_end():
    aborted = Aborted(code="SYNTAX", message="m", path="", char=0, token=0, tokens_decoded=1)
    state = run_state([STARTED, aborted, finished("aborted", valid=False), STARTED])
    assert (state.aborted, state.finished, state.outcome) == (None, None, "running")


def test_the_call_is_part_of_the_state():
    call = CallReady(tool="search", arguments={"q": 1}, text="{}")
    assert run_state([call]).call is call
