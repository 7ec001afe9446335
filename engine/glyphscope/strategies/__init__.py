"""Strategies: how a request becomes calls, as one stream of events."""

from glyphscope.strategies.continuation import continue_aborted
from glyphscope.strategies.loop.presets import compose
from glyphscope.strategies.run import cancellable, run
