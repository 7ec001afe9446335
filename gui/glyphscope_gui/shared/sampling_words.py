"""How the tokens of a run were sampled, in words."""

from __future__ import annotations

from typing import Any

from glyphscope.events import Sampling, settings_of
from glyphscope_gui.shared.language import in_language, tr

_FIELDS = settings_of(Sampling)


def value_words(name: str, value: Any) -> str:
    """The words for a value of that field of `Sampling`: `top-k 40`."""
    return in_language(_FIELDS[name].words(value), value=value)


def sampling_words(sampling: Sampling, *, short: bool = False) -> str:
    """`temperature 0.7, seed 3`, and every other value that is not the default; at 0 the seed has no effect.

    `short`: `temp 0.7, seed 3`, and nothing at temperature 0 with the other defaults.
    """
    names = ["temperature", *(["seed"] if sampling.temperature > 0 else [])]
    others = (name for name in _FIELDS if name not in ("temperature", "seed"))
    names += (name for name in others if getattr(sampling, name) != _FIELDS[name].default)
    if short and names == ["temperature"]:
        return ""
    words = {name: value_words(name, getattr(sampling, name)) for name in names}
    if short:
        words["temperature"] = tr("temp {value:g}", value=sampling.temperature)
    return ", ".join(words.values())
