"""One step: constraint masks, the sampler, and the evidence of each token."""

from glyphscope.decoding.budget import Budget
from glyphscope.decoding.loop import Decoder
from glyphscope.decoding.mask import Constraint, MaskTokenizer, TokenMask, mask_tokenizer, schema_grammar
from glyphscope.decoding.response_prefix import PrefixToken, commit_prefix
from glyphscope.decoding.sampler import Allowed, Logits
from glyphscope.decoding.token_texts import Spelling

__all__ = [
    "Allowed",
    "Budget",
    "Constraint",
    "Decoder",
    "Logits",
    "MaskTokenizer",
    "PrefixToken",
    "Spelling",
    "TokenMask",
    "commit_prefix",
    "mask_tokenizer",
    "schema_grammar",
]
