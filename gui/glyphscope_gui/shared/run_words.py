"""A run in words: its settings as all pickers offer them and as names contain them, its model, and its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from glyphscope import events
from glyphscope.base import model_names
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import percent
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.model_names import ModelName as ModelName
from glyphscope.base.model_names import place_name
from glyphscope.base.shorten import excerpt
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.evals.matrix.arms import AXES
from glyphscope.models.opening import embedded_path
from glyphscope.runs.again import NO_LIMIT
from glyphscope.runs.sampling import text_lines
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.settings_grid import translated

Choices: TypeAlias = Sequence[tuple[Any, str, str]]
"""The value, title and hint of each."""

MAX_SEED = 2**31 - 1
MAX_TEMPERATURE = float(events.settings_of(events.Sampling)["temperature"].setting.most)

NOTATIONS: Choices = translated(events.choices.NOTATION_CHOICES)
SHAPES: Choices = translated(events.choices.SHAPE_CHOICES)
ANSWERS: Choices = translated(choice for choice in events.ANSWER_CHOICES if choice.value != "call")
CONSTRAINTS: Choices = translated(events.choices.CONSTRAINT_CHOICES)
STRATEGIES: Choices = translated(events.choices.STRATEGY_CHOICES)
_FIELDS = {
    **events.settings_of(events.Sampling), **events.settings_of(events.LoopSettings),
    **events.settings_of(events.RunRequest), **AXES,
}  # fmt: skip
MAX_TEXT = 24
"""Characters of a prompt within a name."""


def value_words(name: str, value: Any) -> str:
    """The words for a value of that setting of a run, or axis of an evaluation, within a name: `GLYPH`, `top-k 40`."""
    match name:
        case "model":
            return " ".join(model_name(value)).strip()
        case "max_tokens" if value >= NO_LIMIT:
            return tr("no token limit")
        case "max_tokens":
            return tr("at most %n token(s)", "", value)
        case "stop" if not value:
            return tr("no stop string")
        case "system_prompt" if value is not None:
            text = excerpt(value, MAX_TEXT)
            return tr("system prompt “{text}”", text=text) if value.strip() else tr("no system prompt")
        case "chat_template" if value:
            return tr("chat template “{text}”", text=excerpt(value, MAX_TEXT))
        case "template_vars" | "extra_body":
            given = value if isinstance(value, str) else events.pairs_line(value)
            none = tr("no variables") if name == "template_vars" else tr("no extra fields")
            return excerpt(given, MAX_TEXT) if given else none
        case "prompt":
            return tr("“{text}”", text=excerpt(value, MAX_TEXT))
        case "constraint" if value == "endpoint":
            return tr("endpoint’s constraint")
    field = _FIELDS[name]
    if field.is_share:
        value = percent(value, 0)
    return in_language(field.words(value), value=" ".join(text_lines(value)) if field.is_list else value)


def typed_answer(text: str) -> events.Answer:
    """The answer that a text describes: `choice:yes|no`, or a schema or grammar, which can also be a file's path.

    Raises ValueError with the problem in words.
    """
    try:
        return events.described_answer(text, _text_or_file)
    except GlyphscopeError as error:
        raise ValueError(error.words) from None


def _text_or_file(text: str) -> str:
    path = Path(text)
    if "\n" in text or path.suffix not in (".json", ".gbnf", ".lark"):
        return text
    return utf8_text(read_file(path), str(path), hint=tr("Give a text file in UTF-8."))


def sampling_words(sampling: events.Sampling, *, short: bool = False) -> str:
    """`temperature 0.7, seed 3`, and every other value that is not the default; at 0 the seed has no effect.

    `short`: `temp 0.7, seed 3`, and nothing at temperature 0 with the other defaults.
    """
    names = ["temperature", *(["seed"] if sampling.temperature > 0 else [])]
    others = (
        field
        for name, field in events.settings_of(events.Sampling).items()
        if name not in ("temperature", "seed")
    )
    names += (field.name for field in others if getattr(sampling, field.name) != field.default)
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


def opened_name(info: events.ModelInfo) -> ModelName:
    """The name of an opened model: from its file, as the picker shows it, or else the name that it reports."""
    return model_names.opened_name(info.path, info.name, info.quantisation)


@cache
def _embedded() -> str:
    return str(embedded_path() or "")


def step_text(step: events.TokenStep) -> str:
    return tr("⟨end⟩") if step.end and not step.text else token_text(step.data, step.text)


NOT_ASKED = tr("probabilities were not recorded")
"""For a token whose evidence was not requested."""


def numbered(id: int, *, piece: bool = False) -> str:
    """`Token id 12`; an endpoint may not report the id, and a chunk of its stream may be several tokens."""
    if piece:
        return tr("A chunk of the stream, possibly several tokens")
    return tr("Token id {id}", id=id) if id >= 0 else tr("Token")


def is_masked(alternative: events.Alternative) -> bool:
    """Whether the constraint is known to mask the alternative; endpoints do not report that."""
    return alternative.allowed is False


NO_TOKENS = tr("No token was generated here.")
"""In place of the details of a part of a run that ended without one."""


def cached_words(prompt: events.PromptRendered) -> str:
    """The number and source of the prompt's tokens that were not evaluated; empty if all were."""
    if prompt.restored:
        return tr(", {restored:,} restored from disk", restored=prompt.restored)
    return tr(", {cached:,} from the cache", cached=prompt.cached) if prompt.cached else ""
