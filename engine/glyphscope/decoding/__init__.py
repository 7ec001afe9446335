"""One step: constraint masks, the sampler, and the evidence of each token."""

from glyphscope.decoding.text import TextAssembler, shown

__all__ = ["TextAssembler", "shown"]
