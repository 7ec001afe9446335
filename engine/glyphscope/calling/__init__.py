"""Strategies: how a request becomes a call, as one stream of events."""

from glyphscope.calling.continuation import continue_aborted
from glyphscope.calling.dispatch.carry import carry_out
from glyphscope.calling.fold import (
    CONTINUATION,
    FieldState,
    Outcome,
    RunState,
    StageState,
    events_to_text,
    fold,
    fold_events,
)
from glyphscope.calling.host import Decision, Host, SilentHost
from glyphscope.calling.loop.presets import LoopPreset, compose, loop_presets
from glyphscope.calling.recorded import RecordedHost
from glyphscope.calling.routing.routers import read_router, router_preset, router_presets
from glyphscope.calling.run import run

__all__ = [
    "CONTINUATION",
    "Decision",
    "FieldState",
    "Host",
    "LoopPreset",
    "Outcome",
    "RecordedHost",
    "RunState",
    "SilentHost",
    "StageState",
    "carry_out",
    "compose",
    "continue_aborted",
    "events_to_text",
    "fold",
    "fold_events",
    "loop_presets",
    "read_router",
    "router_preset",
    "router_presets",
    "run",
]
