"""The evidence of one token, and the parts of a prompt with their prices."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

BEGUN = "begun"
"""The name of a prompt's last part where the assistant's answer is begun already: what the model goes on from."""


Origin: TypeAlias = Literal["model", "kept", "written"]
"""Whose a token is: drawn (or forced) in this run, kept from the run it branches off, or put there by somebody."""


Filter: TypeAlias = Literal["", "top-k", "top-p", "min-p"]
"""What takes allowed tokens out of the final distribution, in this order."""


Narrowed: TypeAlias = Literal["", "tokens", "reasoning"]
"""Which budget took tokens out of the mask: that of the answer's tokens, or that of the reasoning."""


class PromptPart(msgspec.Struct, frozen=True):
    """A part of the rendered prompt (template, system, tools, examples, user, begun) with its place and its price.

    `of` tells what of it: of tools and examples a JSON Pointer whose first step is the tool's name and whose others
    lead into the tool (`/search/parameters/properties/query/description`), of a template's own words their line
    (`line 3`), of the history its message (`message 1`), and what of that the template writes in a way of its own
    (`message 2, call 1`, `message 2, reasoning`). Empty where it is one piece, and in records of before.
    A token over a border is counted where the last character stands that it completes.
    """

    name: str
    start: int
    end: int
    tokens: int
    of: str = ""


class Alternative(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token that could have come. `raw` is the model's own probability, `final` the one after mask and sampler.

    `removed` names the sampling filter that took an `allowed` one out; at temperature 0 no filter is used.
    An endpoint tells neither `final` nor what its constraint `allowed`: they are None. Its `id` is -1 where untold.
    """

    id: int
    data: bytes
    text: str
    raw: float
    final: float | None
    allowed: bool | None
    removed: Filter = ""


class TokenStep(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of one decoding step.

    `data` is the token's bytes, which may be half a UTF-8 character; `text` is what of them could be shown so far:
    the whole characters that this token completes (possibly none).
    `logprob` (natural log) and `rank` (0 is the best) are the model's own, before mask and sampler; `probability` is
    the final one. `allowed` counts the tokens the constraint left, `feasible` is the share of raw probability it left
    (1.0 without a constraint); `entropy` in bits of the raw distribution. A forced token was the only one allowed:
    its `probability` is 1.0; it is None where an endpoint drew the token. Where the model's own figures were not asked
    for (`EvidenceKind`), `logprob`, `rank`, `feasible` and `entropy` are None and nothing is guessed. Times are
    milliseconds; a forced batch's time is told at its first token. A `piece` is what an endpoint sent at once, which
    may be several tokens; its `id` is -1. A token whose `origin` is not the model was not drawn here: its figures are
    what the model gave it all the same, and what its `probability` would have been; None where nobody asked.
    `narrowed` tells that a budget admitted only a part of what the grammar allows, of which `allowed` and `feasible`
    are: `tokens`, after which the answer can still be complete in the tokens left, or `reasoning`, which lead out of
    reasoning that has had its tokens.
    `left` is how many of the allowed tokens top-k, top-p and min-p each left, in this order; empty where no token was
    drawn (temperature 0, a forced token), at endpoints, and in earlier records.
    """

    index: int
    id: int
    data: bytes
    text: str
    logprob: float | None = None
    rank: int | None = None
    probability: float | None = 1.0
    allowed: int = 0
    feasible: float | None = None
    entropy: float | None = None
    forced: bool = False
    end: bool = False
    piece: bool = False
    origin: Origin = "model"
    alternatives: tuple[Alternative, ...] = ()
    mask_ms: float = 0.0
    sample_ms: float = 0.0
    decode_ms: float = 0.0
    narrowed: Narrowed = ""
    left: tuple[int, ...] = ()
