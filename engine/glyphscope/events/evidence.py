"""The evidence of one token, and the parts of a prompt with their prices."""

from __future__ import annotations

import msgspec

BEGUN = "begun"
"""The name of a prompt's last part where the assistant's answer is begun already: what the model goes on from."""


class PromptPart(msgspec.Struct, frozen=True):
    """A part of the rendered prompt (template, system, tools, examples, user, begun) with its place and its price."""

    name: str
    start: int
    end: int
    tokens: int


class Alternative(msgspec.Struct, frozen=True):
    """A token that could have come. `raw` is the model's own probability, `final` the one after mask and sampler."""

    id: int
    data: bytes
    text: str
    raw: float
    final: float
    allowed: bool


class TokenStep(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of one decoding step.

    `data` is the token's bytes, which may be half a UTF-8 character; `text` is what of them could be shown so far:
    the whole characters that this token completes (possibly none).
    `logprob` (natural log) and `rank` (0 is the best) are the model's own, before mask and sampler; `probability` is
    the final one. `allowed` counts the tokens the constraint left, `feasible` is the share of raw probability it left
    (1.0 without a constraint); `entropy` in bits of the raw distribution. A forced token was the only one allowed:
    its `probability` is 1.0. Where the model's own figures were not asked for (`EvidenceKind`), `logprob`, `rank`,
    `feasible` and `entropy` are None and nothing is guessed. Times are milliseconds; a forced batch's time is told at
    its first token.
    """

    index: int
    id: int
    data: bytes
    text: str
    logprob: float | None = None
    rank: int | None = None
    probability: float = 1.0
    allowed: int = 0
    feasible: float | None = None
    entropy: float | None = None
    forced: bool = False
    end: bool = False
    alternatives: tuple[Alternative, ...] = ()
    mask_ms: float = 0.0
    sample_ms: float = 0.0
    decode_ms: float = 0.0
