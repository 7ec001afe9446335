"""The decoding of answers: masks, budgets, sampling, and the evidence of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.models.decoding.budget import TokenBudget
    from glyphscope.models.decoding.loop import Decoder, Evidence, best_token
    from glyphscope.models.decoding.mask import SLICE, MaskCache, TokenMask
    from glyphscope.models.decoding.response_prefix import commit_prefix
    from glyphscope.models.decoding.rows import Allowed, compiled, copy_allowed, top
    from glyphscope.models.decoding.sampler import Draw, SamplerState
    from glyphscope.models.decoding.text import text_decoder
    from glyphscope.models.decoding.token_texts import Spelling
else:
    __getattr__ = interface(__name__)
