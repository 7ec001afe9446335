"""Variants: the settings of the columns that a comparison shows side by side, and the questions that they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from glyphscope.evals.matrix.questions import MODELS, QUESTIONS, SettingsQuestion
from glyphscope.evals.running.requests import changed_request
from glyphscope.events import RunRequest, Sampling, settings_of
from glyphscope.runs import PreparedRequest
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import MAX_TEMPERATURE, value_words

MIN_COLUMNS, MAX_COLUMNS = 2, 4
"""Columns of a comparison: people can hardly distinguish more than four."""
WARM_TEMPERATURE = 0.7
"""The temperature that is offered for several seeds: at 0, all seeds sample the same tokens."""
OWN = "own"
"""The key of a custom setting, outside the presets."""

PICKED = ("notation", "shape", "constraint", "strategy", "constrain_from")
"""The settings that every column states, in the order of their words."""
_SAMPLING = tuple(settings_of(Sampling))
LOOP = ("tool_search", "defer_tools", "max_found_tools", "tool_use", "max_turns")
"""The settings of the tool loop that columns can vary."""
CHANGEABLE = (
    "model", *LOOP, *_SAMPLING, "max_tokens", "stop", "thinking", "reasoning_effort", "template_vars",
    "control_texts", "answer", "system_prompt", "extra_body", "prompt",
)  # fmt: skip
"""The settings that are the playground's until a column changes them, in the order of their words."""

Variant: TypeAlias = Mapping[str, Any]
"""The settings of a column by name: all that are PICKED, and those of the CHANGEABLE that it changes."""


def value_of(variant: Variant, name: str, base: RunRequest) -> Any:
    """A setting: the variant's, or else the one in `base`."""
    place = base.sampling if name in _SAMPLING else base.loop if name in LOOP else base
    return variant[name] if name in variant else getattr(place, name)


def differing(variants: Sequence[Variant], base: RunRequest) -> list[str]:
    """The settings that are not the same in every column, in the order of their words."""
    names = (*PICKED, *CHANGEABLE)
    values = {name: [value_of(each, name, base) for each in variants] for name in names}
    return [name for name, of in values.items() if any(value != of[0] for value in of)]


def recorded_variant(request: RunRequest) -> Variant:
    """All settings of a recorded run."""
    variant = {**variant_of(request), "strategy": request.strategy}
    return variant | {name: value_of({}, name, request) for name in CHANGEABLE}


def column_request(variant: Variant, base: PreparedRequest) -> PreparedRequest:
    """The request of `base` with the settings of a column."""
    return replace(base, request=changed_request(base.request, variant))


class Basis(NamedTuple):
    """The playground's settings: as a variant, and as a request with its model; and the known models."""

    variant: Variant
    request: RunRequest
    models: tuple[str, ...] = ()


class Preset(NamedTuple):
    """A question, and the variants whose difference answers it, made from the settings of the playground."""

    key: str
    question: str
    of: Callable[[Basis], tuple[Variant, ...]]


TEMPERATURES = (0.0, 0.7, 1.2)


def _models(basis: Basis) -> tuple[Variant, ...]:
    names = dict.fromkeys((basis.request.model, *basis.models))
    columns = _with_each(basis, "model", list(names)[:MAX_COLUMNS])
    return columns if len(columns) >= MIN_COLUMNS else (*columns, basis.variant)


def _with_each(basis: Basis, name: str, values: Sequence[Any]) -> tuple[Variant, ...]:
    return tuple({**basis.variant, name: value} for value in values)


def _columns(question: SettingsQuestion, basis: Basis) -> tuple[Variant, ...]:
    if question.key == MODELS:
        return _models(basis)
    columns = (
        {
            name: value_of({}, name, basis.request) if value is None else value
            for name, value in settings.items()
        }
        for settings in question.columns()
    )
    return tuple({**basis.variant, **settings} for settings in columns)


PRESETS: tuple[Preset, ...] = (
    *(Preset(each.key, in_language(each.title), partial(_columns, each)) for each in QUESTIONS),
    Preset(
        "temperatures",
        tr("Which temperature?"),
        lambda basis: _with_each(basis, "temperature", TEMPERATURES),
    ),
)
"""The questions of an evaluation, then those about settings that an evaluation does not vary."""


def variant_of(options: RunRequest) -> Variant:
    """The playground's settings as a variant; of a tool loop only one call, as a column runs tools only on request."""
    variant = {name: getattr(options, name) for name in PICKED}
    if options.native:
        variant["notation"] = "native"
    if options.strategy == "loop":
        variant["strategy"] = "direct"
    return variant


def next_variant(variants: Sequence[Variant]) -> Variant:
    """Return a variant to add: the last one, with a notation, constraint or temperature that is not compared yet."""
    last = variants[-1]
    if (warm := last.get("temperature")) is not None:
        return {**last, "temperature": round(min(warm + 0.3, MAX_TEMPERATURE), 2)}
    others = [{**last, "notation": each} for each in ("glyph", "json")]
    others += [{**last, "constraint": each} for each in ("mask", "off", "gbnf")]
    return next((variant for variant in others if variant not in variants), last)


def variant_names(variants: Sequence[Variant]) -> list[str]:
    """Return what distinguishes each variant, such as `GLYPH` and `JSON`; equal ones get numbers."""
    if not variants:
        return []
    facts = [_facts(variant) for variant in variants]
    shown = {name for name in facts[0] if len({fact[name] for fact in facts}) > 1}
    if len({fact["shape"] for fact in facts if fact["shape"]}) < 2:
        shown.discard("shape")  # a native notation has no choice of shape
    shown = shown or {"notation", "constraint"}
    names = [_name({name: words for name, words in fact.items() if name in shown}) for fact in facts]
    names = [name or tr("as the playground") for name in names]
    twice = {name for name, count in Counter(names).items() if count > 1}
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if name in twice else name)
    return numbered


def _facts(variant: Variant) -> dict[str, str]:
    """The words for each setting by name; empty if the playground's is used."""
    defined = {"shape"} if variant["notation"] == "native" else set()
    return {
        name: value_words(name, variant[name]) if name in variant and name not in defined else ""
        for name in (*PICKED, *CHANGEABLE)
    }


def _name(words: Mapping[str, str]) -> str:
    """Return `GLYPH mask, temperature 0.7`: the choices in the column's boxes, then its changes."""
    picked = " ".join(words[name] for name in PICKED if words.get(name))
    return ", ".join(filter(None, (picked, *(words[name] for name in CHANGEABLE if name in words))))
