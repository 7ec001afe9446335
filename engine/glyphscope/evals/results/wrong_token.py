"""Finds where a run went wrong: the stage and the token that a reader should see first."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.evals.results.sample import Sample, SampleFailure
from glyphscope.notation.shapes import shape_keys
from glyphscope.runs import RunState
from glyphscope.runs.state import FieldState, StageState

OF_TOOL = frozenset({"WRONG_TOOL", "FORBIDDEN_TOOL", "UNWANTED_CALL", "EXTRA_CALL"})


class BadToken(NamedTuple):
    """The first bad token of a run: the index of its stage, and its index in that stage.

    The characters `start` to `end` (exclusive) of the stage's text are the deciding character, or the wrong argument or
    name. `rule` is the JSON Pointer of the violated keyword in the tool's parameters, empty if no keyword is the cause.
    """

    stage: int
    token: int
    start: int
    end: int
    rule: str


def bad_token(state: RunState, sample: Sample, turn: int = 1) -> BadToken | None:
    """The first bad token of that turn's run; None if no token is the cause, as for a missing call.

    It is the token of the deciding character if the validator decided. In a valid but wrong call, it is the token at
    which the wrong argument, or the tool's name, begins.
    """
    failure = next((each for each in sample.failures if each.turn == turn), None)
    if failure is None:
        return None
    of_validator = failure.reason in ("PARSE", "SCHEMA") or bool(failure.code)
    called = "" if of_validator else _tool_of(failure)
    for index in range(len(state.stages) - 1, -1, -1):  # the last attempt and the last call count
        stage = state.stages[index]
        if not stage.tokens or (called and stage.tool is not None and stage.tool.name != called):
            continue
        found = _of_validator(stage, failure) if of_validator else _of_judge(state, stage, failure)
        token = None if found is None else _token_at(stage, found[0])
        if found is not None and token is not None:
            return BadToken(index, token, *found)
    return None


def bad_turn(sample: Sample) -> int:
    """The turn (from 1) whose run is opened: the turn of the first failure, as far as it is recorded."""
    turn = sample.failures[0].turn if sample.failures else 1
    return max(1, min(turn, len(sample.runs)))


def _tool_of(failure: SampleFailure) -> str:
    """The tool that was called, as the judge names it: `search: …`, or the first name in quotes."""
    if failure.reason == "WRONG_ARGUMENTS":
        name, colon, _ = failure.detail.partition(": ")
        return name if colon else ""
    parts = failure.detail.split("'")
    return parts[1] if failure.reason in OF_TOOL and len(parts) > 2 else ""


def _of_validator(stage: StageState, failure: SampleFailure) -> tuple[int, int, str] | None:
    found = [each for each in stage.violations if not failure.code or each.code == failure.code]
    first = next(iter(found or stage.violations), None)
    decided = stage.aborted or first
    if decided is None:
        return None
    return decided.char, decided.char + 1, "" if first is None else first.rule


def _of_judge(state: RunState, stage: StageState, failure: SampleFailure) -> tuple[int, int, str] | None:
    if state.started is None:
        return None
    name_key, args_key = shape_keys(state.started.request.shape)
    if failure.reason in OF_TOOL:
        return _written(stage.fields.get(f"/{name_key}"))
    if failure.reason not in ("WRONG_ARGUMENTS", "FINAL_TEXT"):
        return None
    path = failure.path if failure.path.startswith("/") or not failure.path else f"/{failure.path}"
    prefix = f"/{args_key}" if args_key else ""
    while path.strip("/"):
        found = _written(stage.fields.get(prefix + path) or stage.fields.get(path))
        if found is not None:
            return found
        path = path.rpartition("/")[0]  # if the place of an element is unknown, use the argument's
    return None


def _written(field: FieldState | None) -> tuple[int, int, str] | None:
    return None if field is None or field.start is None else (field.start, field.end, "")


def _token_at(stage: StageState, char: int) -> int | None:
    """The token that contains that character; the last token if the text ended before it."""
    found = None
    for index, token in enumerate(stage.tokens):
        if token.start > char:
            break
        found = index
    return found
