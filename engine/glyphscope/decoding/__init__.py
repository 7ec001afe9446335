"""The decoding of answers: masks, budgets, sampling, and the evidence of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.decoding.budget import Budget
    from glyphscope.decoding.loop import Decoder, Evidence, best_token
    from glyphscope.decoding.mask import SLICE, MaskCache, TokenMask
    from glyphscope.decoding.response_prefix import commit_prefix
    from glyphscope.decoding.sampler import Draw, SamplerState, top
    from glyphscope.decoding.text import text_decoder
    from glyphscope.decoding.token_texts import Spelling
else:
    __getattr__ = interface(__name__)
