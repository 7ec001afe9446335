"""One step: constraint masks, the sampler, and the evidence of each token."""

from typing import TYPE_CHECKING

from glyphscope.lazy_names import lazy_names

if TYPE_CHECKING:
    from glyphscope.decoding.budget import Budget
    from glyphscope.decoding.loop import Decoder
    from glyphscope.decoding.mask import Constraint, MaskTokenizer, TokenMask, mask_tokenizer, schema_grammar
    from glyphscope.decoding.response_prefix import PrefixToken, commit_prefix
    from glyphscope.decoding.sampler import Allowed, Logits
    from glyphscope.decoding.token_texts import Spelling
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "budget": ("Budget",),
            "loop": ("Decoder",),
            "mask": ("Constraint", "MaskTokenizer", "TokenMask", "mask_tokenizer", "schema_grammar"),
            "response_prefix": ("PrefixToken", "commit_prefix"),
            "sampler": ("Allowed", "Logits"),
            "token_texts": ("Spelling",),
        },
    )

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
