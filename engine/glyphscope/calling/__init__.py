"""Strategies: how a request becomes a call, as one stream of events."""

from glyphscope.calling.continuation import continue_aborted
from glyphscope.calling.direct import run
from glyphscope.calling.fold import (
    CONTINUATION,
    FieldState,
    Outcome,
    RunState,
    events_to_text,
    fold,
    fold_events,
)

__all__ = [
    "CONTINUATION",
    "FieldState",
    "Outcome",
    "RunState",
    "continue_aborted",
    "events_to_text",
    "fold",
    "fold_events",
    "run",
]
