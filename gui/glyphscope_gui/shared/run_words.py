"""A run in words: its settings as all pickers offer them and as names contain them, its model, and its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Any, TypeAlias

from glyphscope.events import (
    Alternative,
    ModelInfo,
    PromptRendered,
    Sampling,
    TokenStep,
    choices,
    settings_of,
)
from glyphscope.models.opening import embedded_path
from glyphscope.text import model_names
from glyphscope.text.model_names import ModelName as ModelName
from glyphscope.text.model_names import place_name
from glyphscope.text.tokens import token_text
from glyphscope.visible import visible
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.settings_grid import translated

Choices: TypeAlias = Sequence[tuple[Any, str, str]]
"""The value, title and hint of each."""

MAX_SEED = 2**31 - 1
MAX_TEMPERATURE = float(settings_of(Sampling)["temperature"].setting.most)

NOTATIONS: Choices = translated(choices.NOTATION_CHOICES)
SHAPES: Choices = translated(choices.SHAPE_CHOICES)
CONSTRAINTS: Choices = translated(choices.CONSTRAINT_CHOICES)
STRATEGIES: Choices = translated(choices.STRATEGY_CHOICES)
ORDERS: Choices = translated(choices.ORDER_CHOICES)
THINKING: Choices = translated(choices.THINKING_CHOICES)

WORDS: dict[str, str] = {
    choice.value: in_language(choice.words or choice.title)
    for each in (
        choices.NOTATION_CHOICES,
        choices.SHAPE_CHOICES,
        choices.CONSTRAINT_CHOICES,
        choices.STRATEGY_CHOICES,
        choices.START_CHOICES,
        choices.ORDER_CHOICES,
    )
    for choice in each
} | {"endpoint": tr("endpoint’s constraint")}
"""The values of all settings but thinking within a name, such as `GLYPH mask, after reasoning`."""


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


_KINDS = {"embedded": tr("Embedded model"), "scripted": tr("Scripted"), "recorded": tr("Recorded")}


def model_name(model: str) -> ModelName:
    """The name of a model: a file, an address, `embedded`, `scripted:…` or `recorded:…`."""
    kind, _, rest = model.partition(":")
    if kind not in _KINDS:
        return place_name(model)
    if model == "embedded" and (path := _embedded()):
        return place_name(path)
    return ModelName(visible(f"{_KINDS[kind]}: {PurePath(rest).stem}") if rest else _KINDS[kind])


def opened_name(info: ModelInfo) -> ModelName:
    """The name of an opened model: from its file, as the picker shows it, or else the name that it reports."""
    return model_names.opened_name(info.path, info.name, info.quantisation)


@cache
def _embedded() -> str:
    return str(embedded_path() or "")


def step_text(step: TokenStep) -> str:
    return tr("⟨end⟩") if step.end and not step.text else token_text(step.data, step.text)


NOT_ASKED = tr("probabilities were not recorded")
"""For a token whose evidence was not requested."""


def numbered(id: int, *, piece: bool = False) -> str:
    """`Token id 12`; an endpoint may not report the id, and a chunk of its stream may be several tokens."""
    if piece:
        return tr("A chunk of the stream, possibly several tokens")
    return tr("Token id {id}", id=id) if id >= 0 else tr("Token")


def is_masked(alternative: Alternative) -> bool:
    """Whether the constraint is known to mask the alternative; endpoints do not report that."""
    return alternative.allowed is False


def cached_words(prompt: PromptRendered) -> str:
    """The number and source of the prompt's tokens that were not evaluated; empty if all were."""
    if prompt.restored:
        return tr(", {restored:,} restored from disk", restored=prompt.restored)
    return tr(", {cached:,} from the cache", cached=prompt.cached) if prompt.cached else ""
