"""One step: constraint masks, the sampler, and the evidence of each token."""

from glyphscope.decoding.budget import Budget
from glyphscope.decoding.evidence import Evidence
from glyphscope.decoding.loop import Decoder
from glyphscope.decoding.mask import Constraint, MaskTokenizer, TokenMask, mask_tokenizer, schema_grammar
from glyphscope.decoding.response_prefix import PrefixToken, commit_prefix
from glyphscope.decoding.sampler import Allowed, Draw, Logits, SamplerState, top
from glyphscope.decoding.text import TextAssembler
from glyphscope.decoding.token_texts import Spelling

__all__ = [
    "Allowed",
    "Budget",
    "Constraint",
    "Decoder",
    "Draw",
    "Evidence",
    "Logits",
    "MaskTokenizer",
    "PrefixToken",
    "SamplerState",
    "Spelling",
    "TextAssembler",
    "TokenMask",
    "commit_prefix",
    "mask_tokenizer",
    "schema_grammar",
    "top",
]
