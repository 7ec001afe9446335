"""A run: its request, its context, the interaction with its user, and its state as reduced from its events."""

from glyphscope.runs.branch import branch_request, branch_tree, named_alternative
from glyphscope.runs.interaction import Decision, Interaction, NonInteractive
from glyphscope.runs.next_turn import answer_messages, history_after
from glyphscope.runs.prepared import PreparedRequest, prepare
from glyphscope.runs.run_state import (
    CONTINUATION,
    CallState,
    FieldState,
    RunState,
    Segment,
    StageState,
    reduce_event,
    run_state,
)
