"""One step: constraint masks, the sampler, and the evidence of each token."""
