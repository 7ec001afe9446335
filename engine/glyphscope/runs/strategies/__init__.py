"""Strategies: how a request becomes calls, as one stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope.runs.strategies.constraints import unenforced, unenforced_words
from glyphscope.runs.strategies.continuation import continue_aborted
from glyphscope.runs.strategies.extraction import MAX_CHANGES, extract
from glyphscope.runs.strategies.loop.presets import compose, loop_preset, loop_presets
from glyphscope.runs.strategies.routing.route import Choices, choice_schema, choice_validator
from glyphscope.runs.strategies.running import cancellable, instructions, run
from glyphscope.runs.strategies.turns import answer_validator, expected_part  # exported files import them

if TYPE_CHECKING:
    from glyphscope.runs.strategies.reading_ahead import read_ahead
    from glyphscope.runs.strategies.server_sampling import answer_sampling
else:
    __getattr__ = interface(__name__)
