"""Strategies: how a request becomes calls, as one stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.interfaces import interface
from glyphscope.strategies.constraints import (
    BuiltGrammar,
    TextCache,
    call_constraint,
    expected_answer,
    expected_part,
)
from glyphscope.strategies.continuation import continue_aborted
from glyphscope.strategies.extraction import MAX_CHANGES, extract
from glyphscope.strategies.loop.presets import compose, loop_preset, loop_presets
from glyphscope.strategies.request import (
    Span,
    first_prompt,
    generate_request,
    part_spans,
    priced_by_counting,
    priced_by_tokens,
    render_prompt,
)
from glyphscope.strategies.routing.candidates import (
    MAX_CANDIDATES,
    find_candidates,
    read_router,
    router_preset,
    router_presets,
)
from glyphscope.strategies.routing.route import choice_schema, choice_validator
from glyphscope.strategies.running import cancellable, instructions, run

if TYPE_CHECKING:
    from glyphscope.strategies.reading_ahead import read_ahead
    from glyphscope.strategies.server_sampling import answer_sampling
else:
    __getattr__ = interface(__name__)
