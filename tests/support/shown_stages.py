"""A view of a run gets the run's stage in batches of events, as the window's controller gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glyphscope.events import AnyEvent
from glyphscope.runs import RunState, reduce_event
from glyphscope_gui.runs import ShownStage


def feed(view: Any, events: Sequence[AnyEvent], size: int = 3) -> RunState:
    """Show the run to a view or a model, so many events at a time, and its end; return its state."""
    state = RunState()
    for at in range(0, len(events), size):
        for event in events[at : at + size]:
            reduce_event(state, event)
        view.show_stage(ShownStage(state, state.present))
    view.show_stage(ShownStage(state, state.present, over=True))
    return state
