"""The evidence of one token, and the parts of a prompt with their prices."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import msgspec

from glyphscope.events.base import Count, Milliseconds, Position

BEGUN = "begun"
"""The name of a prompt's last part if it is the beginning of the assistant's answer, which the model continues."""


Origin: TypeAlias = Literal["model", "kept", "written"]
"""The origin of a token: sampled (or forced) in this run, kept from the run that it branches from, or written by
somebody.
"""


Filter: TypeAlias = Literal["", "top-n-sigma", "top-k", "typical-p", "top-p", "min-p", "XTC"]
"""The filters that remove allowed tokens from the final distribution, in this order."""


Narrowed: TypeAlias = Literal["", "tokens", "reasoning"]
"""The budget that removed tokens from the mask: the budget of the answer's tokens, or of the reasoning."""


class PromptPart(msgspec.Struct, frozen=True):
    """A part of the rendered prompt (template, system, tools, examples, user, begun) with its position and its tokens.

    `of` identifies the part: for tools and examples a JSON Pointer that begins with the tool's name and continues in
    the tool (`/search/parameters/properties/query/description`), for a template's own text its line
    (`line 3`), for the history its message (`message 1`), and for parts that the template renders in its own format
    (`message 2, call 1`, `message 2, reasoning`). It is empty for an undivided part, and in older records.
    A token that spans a boundary belongs to the part with the last character that it completes.
    """

    name: str
    start: Position
    end: Position
    tokens: Count
    of: str = ""


Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Characters of a text: start and end (exclusive)."""


class ControlText(msgspec.Struct, frozen=True, omit_defaults=True):
    """The characters `start` to `end` (exclusive) of a prompt: a text of a user, a tool or a result that reads like a
    control token. It is that token, or `plain` text.
    """

    start: Position
    end: Position
    plain: bool = False


class Alternative(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token that could have been sampled. `raw` is the model's own probability, `final` the one after mask and
    sampler.

    `removed` names the sampling filter that removed an `allowed` token; at temperature 0 no filter is used.
    An endpoint reports neither `final` nor which tokens its constraint `allowed`, so they are None. `id` is -1 if
    unknown.
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

    `data` is the token's bytes, possibly an incomplete UTF-8 character; `text` has the characters that this token
    completes (possibly none).
    `logprob` (natural log) and `rank` (0 is the most likely) are the model's own, before mask and sampler;
    `probability` is the final one. `allowed` is the number of tokens that the constraint allowed, `feasible` the
    share of raw probability that they have (1.0 without a constraint); `entropy` is that of the raw distribution, in
    bits. A forced token was the only one allowed, so its `probability` is 1.0; it is None if an endpoint sampled the
    token. If the model's own figures were not requested (`EvidenceKind`), `logprob`, `rank`, `feasible` and `entropy`
    are None. Times are in milliseconds; the time of a forced batch is at its first token. A `piece` is a chunk of an
    endpoint's answer, possibly several tokens; its `id` is -1. A token whose `origin` is not the model was not
    sampled here: its figures, including `probability`, are those that the model gives it, or None if they were not
    requested. `narrowed`: a budget allowed only a part of the tokens that the grammar allows; `allowed` and
    `feasible` refer to this part. `tokens`: those after which the answer can still be completed; `reasoning`: those
    that end the reasoning. `left` is the number of allowed tokens after each
    of the filters in use (`Sampling.filters`): top-k, top-p and min-p always, others where they are on; empty if no
    token was sampled (temperature 0, a forced token), at endpoints, and in earlier records.
    """

    index: Count
    id: int
    data: bytes
    text: str
    logprob: float | None = None
    rank: int | None = None
    probability: float | None = 1.0
    allowed: Count = 0
    feasible: float | None = None
    entropy: float | None = None
    forced: bool = False
    end: bool = False
    piece: bool = False
    origin: Origin = "model"
    alternatives: tuple[Alternative, ...] = ()
    mask_ms: Milliseconds = 0.0
    sample_ms: Milliseconds = 0.0
    decode_ms: Milliseconds = 0.0
    narrowed: Narrowed = ""
    left: tuple[int, ...] = ()

    @property
    def raw(self) -> float | None:
        """The model's own probability of the token; None if it was not requested."""
        return None if self.logprob is None else math.exp(min(self.logprob, 0.0))
