"""Finds where a run went wrong: the stage and the token that a reader should see first."""

from __future__ import annotations

from collections.abc import Iterable

from glyphscope.evals.results.sample import Failure, Sample
from glyphscope.events import AnyEvent
from glyphscope.notation.shapes import shape_keys
from glyphscope.runs import RunState, run_state
from glyphscope.runs.run_state import StageState
from glyphscope_gui.runs.worker.jobs import TokenPlace

OF_TOOL = frozenset({"WRONG_TOOL", "FORBIDDEN_TOOL", "UNWANTED_CALL", "EXTRA_CALL"})


def bad_token(events: Iterable[AnyEvent], sample: Sample, turn: int = 1) -> TokenPlace | None:
    """Return the first bad token of that turn's run; None if no token is the cause, as for a missing call.

    It is the token of the deciding character if the validator decided. In a valid but wrong call, it is the token at
    which the wrong argument, or the tool's name, begins.
    """
    state = run_state(events)
    failure = next((each for each in sample.failures if each.turn == turn), None)
    if failure is None:
        return None
    of_validator = failure.reason in ("PARSE", "SCHEMA") or bool(failure.code)
    called = "" if of_validator else _tool_of(failure)
    for place in range(len(state.stages) - 1, -1, -1):  # the last attempt and the last call count
        stage = state.stages[place]
        if not stage.tokens or (called and stage.tool is not None and stage.tool.name != called):
            continue
        char = _of_validator(stage, failure) if of_validator else _of_judge(state, stage, failure)
        token = None if char is None else _token_at(stage, char)
        if token is not None:
            return TokenPlace(place, token)
    return None


def bad_turn(sample: Sample) -> int:
    """Return the turn (from 1) whose run is opened: the turn of the first failure, as far as it is recorded."""
    turn = sample.failures[0].turn if sample.failures else 1
    return max(1, min(turn, len(sample.runs)))


def _tool_of(failure: Failure) -> str:
    """The tool that was called, as the judge names it: `search: …`, or the first name in quotes."""
    if failure.reason == "WRONG_ARGUMENTS":
        name, colon, _ = failure.detail.partition(": ")
        return name if colon else ""
    parts = failure.detail.split("'")
    return parts[1] if failure.reason in OF_TOOL and len(parts) > 2 else ""


def _of_validator(stage: StageState, failure: Failure) -> int | None:
    if stage.aborted is not None:
        return stage.aborted.char
    found = [each for each in stage.violations if not failure.code or each.code == failure.code]
    first = next(iter(found or stage.violations), None)
    return first.char if first is not None else None


def _of_judge(state: RunState, stage: StageState, failure: Failure) -> int | None:
    if state.started is None:
        return None
    name_key, args_key = shape_keys(state.started.request.shape)
    if failure.reason in OF_TOOL:
        field = stage.fields.get(f"/{name_key}")
        return field.start if field is not None else None
    if failure.reason != "WRONG_ARGUMENTS":
        return None
    path = failure.path if failure.path.startswith("/") or not failure.path else f"/{failure.path}"
    prefix = f"/{args_key}" if args_key else ""
    while path.strip("/"):
        field = stage.fields.get(prefix + path) or stage.fields.get(path)
        if field is not None and field.start is not None:
            return field.start
        path = path.rpartition("/")[0]  # if the place of an element is unknown, use the argument's
    return None


def _token_at(stage: StageState, char: int) -> int | None:
    """The token that contains that character; the last token if the text ended before it."""
    found = None
    for place, token in enumerate(stage.tokens):
        if token.start > char:
            break
        found = place
    return found
