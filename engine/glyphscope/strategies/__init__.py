"""Strategies: how a request becomes calls, as one stream of events."""

from glyphscope.strategies.continuation import continue_aborted
from glyphscope.strategies.loop.presets import compose, loop_presets
from glyphscope.strategies.routing.candidates import read_router, router_preset, router_presets
from glyphscope.strategies.run import run

__all__ = [
    "compose",
    "continue_aborted",
    "loop_presets",
    "read_router",
    "router_preset",
    "router_presets",
    "run",
]
