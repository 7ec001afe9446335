"""Compare two event streams of one run, except for times and the state of caches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from glyphscope.events import (
    Aborted,
    AnyEvent,
    ConstraintReady,
    LimitReached,
    PromptEvaluated,
    PromptRendered,
    RepairTried,
    RunFailed,
    RunFinished,
    RunStarted,
    SegmentClosed,
    SegmentKind,
    SegmentOpened,
    StageFinished,
    Token,
    ToolProgressed,
    ToolResult,
    Violation,
)

_VOLATILE: dict[type[AnyEvent], dict[str, Any]] = {
    RunStarted: {"time": ""},
    PromptRendered: {"cached": 0, "restored": 0, "lengths": ()},  # older records have no lengths
    StageFinished: {"cached": 0, "prompt_ms": 0.0, "ms": 0.0},
    ToolResult: {"ms": 0.0, "waited_ms": 0.0},
    RunFinished: {"prompt_ms": 0.0, "first_token_ms": 0.0, "total_ms": 0.0},
}
"""The fields of events that differ from run to run."""
_WORDS: dict[type[AnyEvent], dict[str, Any]] = {
    Violation: {"message": "", "viable": ""},
    Aborted: {"message": "", "viable": ""},
    RunFailed: {"message": "", "hint": ""},
    RepairTried: {"message": ""},
    LimitReached: {"message": ""},
}
"""The fields that contain the words of a verdict."""


def strip_times(event: AnyEvent) -> AnyEvent | None:
    """The event without the fields that differ from run to run (ids, times, cache hits). None if it has no others."""
    if isinstance(event, PromptEvaluated | ConstraintReady | ToolProgressed):
        return None
    changes = _VOLATILE.get(type(event), {})
    if isinstance(event, Token):
        step = msgspec.structs.replace(event.step, mask_ms=0.0, sample_ms=0.0, decode_ms=0.0)
        changes = {"step": step}
    return msgspec.structs.replace(event, run="", t=0.0, **changes)


def strip_words(event: AnyEvent) -> AnyEvent:
    """The event without the words of its verdict: a later version may word the same code at the same place better."""
    return msgspec.structs.replace(event, **_WORDS.get(type(event), {}))


def first_difference(
    recorded: Iterable[AnyEvent], again: Iterable[AnyEvent], tolerance: float = 0.0, *, whole: bool = True
) -> str:
    """The first difference between two runs, in words; empty if there is none. `tolerance` is absolute, for evidence.

    A partly cached prompt is evaluated in different batches, which changes the last digits of logits: a rerun on a
    model is compared with a tolerance, a replayed record without. If the record is not `whole`, events after its last
    one are not a difference.
    """
    ours = [event for event in map(strip_times, recorded) if event is not None]
    theirs = [event for event in map(strip_times, again) if event is not None]
    kinds = {event.kind for event in ours if isinstance(event, SegmentOpened | SegmentClosed)}
    theirs = list(_with_segments(kinds, theirs))
    for index, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one is None and not whole:
            return ""
        if one is None or other is None:
            longer = "the record has" if other is None else "this time there is"
            return f"Event {index}: {longer} one more, {_name(one or other)}."
        if one != other and (
            place := _unequal(msgspec.to_builtins(one), msgspec.to_builtins(other), tolerance)
        ):
            return f"Event {index} ({_name(one)}): {place}."
    return ""


def _with_segments(kinds: set[SegmentKind], events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The events with only these kinds of parts: early records have no parts, or none for a call after reasoning."""
    for event in events:
        if not kinds and bool(getattr(event, "call_index", 0)):
            event = msgspec.structs.replace(event, call_index=0)
        if not isinstance(event, SegmentOpened | SegmentClosed) or event.kind in kinds:
            yield event


def _name(event: AnyEvent | None) -> str:
    return str(event.__struct_config__.tag) if event is not None else "nothing"


def _unequal(one: Any, other: Any, tolerance: float, path: str = "") -> str:
    if isinstance(one, float) and isinstance(other, float | int):
        return (
            "" if math.isclose(one, other, rel_tol=0, abs_tol=tolerance) else f"{path} was {one}, is {other}"
        )
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        parts = ((one[key], other[key], f"{path}/{key}") for key in one)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        parts = ((a, b, f"{path}/{index}") for index, (a, b) in enumerate(zip(one, other)))
    else:
        return "" if one == other else f"{path} was {one!r:.80}, is {other!r:.80}"
    return next((place for a, b, below in parts if (place := _unequal(a, b, tolerance, below))), "")
