"""One step: constraint masks, the sampler, and the evidence of each token."""

from glyphscope.decoding.budget import Budget
from glyphscope.decoding.evidence import Evidence
from glyphscope.decoding.loop import Backend, Decoder
from glyphscope.decoding.mask import Constraint, MaskTokenizer, TokenMask, mask_tokenizer, schema_grammar
from glyphscope.decoding.sampler import Allowed, Draw, Logits, SamplerState, top
from glyphscope.decoding.spelling import Spelling
from glyphscope.decoding.text import TextAssembler, shown
from glyphscope.decoding.written import WrittenToken, commit_written

__all__ = [
    "Allowed",
    "Backend",
    "Budget",
    "Constraint",
    "Decoder",
    "Draw",
    "Evidence",
    "Logits",
    "MaskTokenizer",
    "SamplerState",
    "Spelling",
    "TextAssembler",
    "TokenMask",
    "WrittenToken",
    "commit_written",
    "mask_tokenizer",
    "schema_grammar",
    "shown",
    "top",
]
