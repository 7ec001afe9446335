"""Strategies: how a request becomes a call, as one stream of events."""

from glyphscope.calling.branch import (
    Branch,
    branch_request,
    branch_tree,
    named_alternative,
)
from glyphscope.calling.continuation import continue_aborted
from glyphscope.calling.dispatch.carry import carry_out
from glyphscope.calling.fold import (
    CONTINUATION,
    CallState,
    FieldState,
    Outcome,
    RunState,
    Segment,
    StageState,
    fold,
    fold_events,
)
from glyphscope.calling.host import Decision, Host, SilentHost
from glyphscope.calling.loop.presets import LoopPreset, compose, loop_presets
from glyphscope.calling.next_turn import answer_messages, history_after
from glyphscope.calling.prepared import PreparedRequest, prepare
from glyphscope.calling.recorded import RecordedHost
from glyphscope.calling.routing.routers import read_router, router_preset, router_presets
from glyphscope.calling.run import run

__all__ = [
    "CONTINUATION",
    "Branch",
    "CallState",
    "Decision",
    "FieldState",
    "Host",
    "LoopPreset",
    "Outcome",
    "PreparedRequest",
    "RecordedHost",
    "RunState",
    "Segment",
    "SilentHost",
    "StageState",
    "answer_messages",
    "branch_request",
    "branch_tree",
    "carry_out",
    "compose",
    "continue_aborted",
    "fold",
    "fold_events",
    "history_after",
    "loop_presets",
    "named_alternative",
    "prepare",
    "read_router",
    "router_preset",
    "router_presets",
    "run",
]
