"""A run: its request, its context, the interaction with its user, its state as reduced from its events, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.runs.branch import branch_request, branch_tree, named_alternative
    from glyphscope.runs.context import Context, Ending
    from glyphscope.runs.emitter import Emitter
    from glyphscope.runs.endings import end_of, outcome_of, outcome_words, status_of
    from glyphscope.runs.interaction import DENIED, Decision, Interaction, NonInteractive
    from glyphscope.runs.next_turn import answer_messages, history_after
    from glyphscope.runs.prepared import PreparedRequest, prepare
    from glyphscope.runs.sampling import limits_in_words, sampling_words, text_lines, typed_texts
    from glyphscope.runs.settling import settle
    from glyphscope.runs.state import (
        CONTINUATION,
        CallState,
        FieldState,
        RunState,
        Segment,
        StageState,
        reduce_event,
        run_state,
    )
    from glyphscope.runs.transforming import TRANSFORMS, Chain, Form, chain_of, transforms
else:
    __getattr__ = interface(__name__)
