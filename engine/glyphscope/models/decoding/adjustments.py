"""Changes of logits before the filters: biases of tokens, the penalties of recent tokens, and DRY."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from glyphscope.base.errors import PromptError
from glyphscope.events import Sampling, read_bias
from glyphscope.models.decoding.rows import Logits

Adjustment: TypeAlias = Callable[[Logits, Sequence[int]], object]
"""Changes the logits in place, given the text's tokens so far."""

_MOST_LOG = math.log(np.finfo(np.float32).max)
_MANY = 10**9
"""More tokens than a text has."""


def adjustments(sampling: Sampling, pieces: Sequence[bytes]) -> list[Adjustment]:
    """Those in use, in llama.cpp's order. `pieces` are the bytes of each token. Raises PromptError for a logit bias of
    a token that the model does not have.
    """
    made: list[Adjustment] = []
    if sampling.logit_bias:
        made.append(_Biases(sampling.logit_bias, pieces))
    penalties = (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty)
    if sampling.repeat_last_n != 0 and penalties != (1.0, 0.0, 0.0):
        made.append(_Penalties(sampling))
    if sampling.dry_multiplier > 0 and sampling.dry_penalty_last_n != 0:
        made.append(_Dry(sampling, pieces))
    return made


class _Biases:
    """Adds a number to the logits of some tokens. A text stands for every token that is written exactly so."""

    def __init__(self, biases: Sequence[str], pieces: Sequence[bytes]) -> None:
        found: dict[int, float] = {}
        for token, bias in map(read_bias, biases):
            found |= dict.fromkeys(_tokens_of(token, pieces), bias)
        self._ids = np.fromiter(found, np.int64)
        self._biases = np.fromiter(found.values(), np.float32)

    def __call__(self, logits: Logits, recent: Sequence[int]) -> None:
        logits[self._ids] += self._biases


def _tokens_of(token: int | str, pieces: Sequence[bytes]) -> list[int]:
    if isinstance(token, int):
        if token < len(pieces):
            return [token]
        raise PromptError(
            f"The logit bias is for token {token}, and the model has {len(pieces):,} tokens.",
            where="logit_bias",
            hint="Ids begin with 0; a number in quotes is a text.",
        )
    data = token.encode()
    found = [number for number, piece in enumerate(pieces) if piece == data]
    if not found:
        raise PromptError(
            f"The logit bias is for {token!r}, and no single token of the model is this text.",
            where="logit_bias",
            hint="Bias a token that it begins with. A word within a sentence usually begins with a space: ' yes=2'.",
        )
    return found


class _Penalties:
    """The repetition penalty of CTRL (arXiv:1909.05858), once for each token among the last `repeat_last_n`, and the
    frequency and presence penalties of OpenAI's API.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling

    def __call__(self, logits: Logits, recent: Sequence[int]) -> None:
        sampling = self._sampling
        window = recent if sampling.repeat_last_n < 0 else recent[-sampling.repeat_last_n :]
        if not window:
            return
        ids, counts = np.unique(window, return_counts=True)
        seen = logits[ids]
        repeat = sampling.repeat_penalty
        if repeat != 1.0:
            seen = np.where(seen > 0, seen / repeat, seen * repeat)
        if sampling.frequency_penalty or sampling.presence_penalty:
            amounts = counts * sampling.frequency_penalty + sampling.presence_penalty
            seen = seen - amounts.astype(np.float32)
        logits[ids] = seen


class _Dry:
    """DRY, Don't Repeat Yourself (https://github.com/oobabooga/text-generation-webui/pull/5677), as in llama.cpp.

    The last tokens are looked for in the text before them, back to the end of the last sequence breaker. A token that
    followed an earlier occurrence of at least `dry_allowed_length` of them would continue a repetition: the longest
    one, of n tokens, subtracts `dry_multiplier` * `dry_base` ^ (n - `dry_allowed_length`) from its logit. A breaker is
    found in the bytes of the text, so it may begin and end within tokens; llama.cpp finds one over several tokens only
    as its tokenizer divides it.
    """

    def __init__(self, sampling: Sampling, pieces: Sequence[bytes]) -> None:
        self._sampling = sampling
        self._pieces = pieces
        self._breakers = [text.encode() for text in sampling.dry_sequence_breakers]
        self._longest = max(map(len, self._breakers), default=1)
        log = math.log(sampling.dry_base)
        self._most_power = int(_MOST_LOG / log) if log > 1e-6 else _MANY

    def __call__(self, logits: Logits, recent: Sequence[int]) -> None:
        sampling = self._sampling
        last, allowed = sampling.dry_penalty_last_n, sampling.dry_allowed_length
        window = np.asarray(recent if last < 0 else recent[-last:])
        if window.size <= allowed:
            return
        limit = self._unbroken(window.tolist())
        if limit < allowed:
            return
        longest: dict[int, int] = {}
        for place, length in _repetitions(window, limit):
            token = int(window[place + 1])
            if length >= allowed and length > longest.get(token, 0) and not self._breaks(token):
                longest[token] = length
        for token, length in longest.items():
            power = min(length - allowed, self._most_power)
            logits[token] -= np.float32(sampling.dry_multiplier * sampling.dry_base**power)

    def _breaks(self, token: int) -> bool:
        """Whether the token contains a sequence breaker."""
        return any(breaker in self._pieces[token] for breaker in self._breakers)

    def _unbroken(self, window: list[int]) -> int:
        """The number of tokens after the sequence breaker that begins last; all of them without one."""
        text = b""
        for index in range(len(window) - 1, -1, -1):
            piece = self._pieces[window[index]]
            text = piece + text[: self._longest - 1]
            begins = (
                (begin, begin + len(breaker))
                for breaker in self._breakers
                if 0 <= (begin := text.rfind(breaker)) < len(piece)
            )
            found = max(begins, default=None)
            if found is not None:
                end, count = found[1] - len(piece), len(window) - 1 - index
                for token in window[index + 1 :]:
                    if end <= 0:
                        break
                    end, count = end - len(self._pieces[token]), count - 1
                return count
        return len(window)


def _repetitions(window: NDArray[Any], limit: int) -> list[tuple[int, int]]:
    """The places before the last token at which tokens equal to the last ones end, each with their number, at most
    `limit`.
    """
    last = window.size - 1
    places = np.flatnonzero(window[:-1] == window[-1])
    lengths = np.ones(places.size, np.int64)
    alive = np.arange(places.size)
    for length in range(1, limit):
        alive = alive[places[alive] >= length]
        alive = alive[window[places[alive] - length] == window[last - length]]
        if not alive.size:
            break
        lengths[alive] += 1
    return list(zip(places.tolist(), lengths.tolist()))
