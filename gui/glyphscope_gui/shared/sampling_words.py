"""How the tokens of a run were sampled, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glyphscope.events import Sampling
from glyphscope_gui.shared.language import tr

SAMPLING_WORDS: dict[str, Callable[[Any], str]] = {
    "temperature": lambda value: tr("temperature {value:g}", value=value),
    "top_k": lambda value: tr("top-k {value}", value=value),
    "top_p": lambda value: tr("top-p {value:g}", value=value),
    "min_p": lambda value: tr("min-p {value:g}", value=value),
    "repeat_penalty": lambda value: tr("repeat penalty {value:g}", value=value),
    "repeat_last_n": lambda value: tr("penalty over {value} tokens", value=value),
    "seed": lambda value: tr("seed {value}", value=value),
}
"""The words for a value, by the field of `Sampling`."""
_DEFAULT = Sampling()


def sampling_words(sampling: Sampling, *, short: bool = False) -> str:
    """`temperature 0.7, seed 3`, and every other value that is not the default; at 0 the seed has no effect.

    `short`: `temp 0.7, seed 3`, and nothing at temperature 0 with the other defaults.
    """
    names = ["temperature", *(["seed"] if sampling.temperature > 0 else [])]
    others = (name for name in SAMPLING_WORDS if name not in ("temperature", "seed"))
    names += (name for name in others if getattr(sampling, name) != getattr(_DEFAULT, name))
    if short and names == ["temperature"]:
        return ""
    words = {**SAMPLING_WORDS, "temperature": _temp} if short else SAMPLING_WORDS
    return ", ".join(words[name](getattr(sampling, name)) for name in names)


def _temp(value: float) -> str:
    return tr("temp {value:g}", value=value)
