"""Strategies: how a request becomes calls, as one stream of events."""

from glyphscope.strategies.constraints import (
    BuiltGrammar,
    TextCache,
    answer_grammar,
    call_constraint,
    call_options,
)
from glyphscope.strategies.continuation import continue_aborted
from glyphscope.strategies.loop.presets import compose, loop_preset, loop_presets
from glyphscope.strategies.request import first_prompt
from glyphscope.strategies.routing.candidates import (
    MAX_CANDIDATES,
    find_candidates,
    read_router,
    router_preset,
    router_presets,
)
from glyphscope.strategies.running import cancellable, instructions, run
