"""Variants: the requests that a comparison shows side by side, and the questions that they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.evals.matrix.questions import QUESTIONS, Question
from glyphscope.events import (
    ConstrainFrom,
    ConstraintKind,
    RunRequest,
    Sampling,
    Shape,
    Strategy,
    notation_members,
    settings_of,
    under_constraint,
)
from glyphscope.runs import PreparedRequest
from glyphscope.runs.sampling import stop_lines
from glyphscope.text.shorten import excerpt
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import MAX_TEMPERATURE, WORDS, model_name, value_words

Notation: TypeAlias = Literal["glyph", "json", "native"]
MIN_COLUMNS, MAX_COLUMNS = 2, 4
"""Columns of a comparison: people can hardly distinguish more than four."""
_MAX_LENGTH = 24
"""Characters of a prompt in a column's name."""
WARM_TEMPERATURE = 0.7
"""The temperature that is offered for several seeds: at 0, all seeds sample the same tokens."""
OWN = "own"
"""The key of a custom setting, outside the presets."""


_SAMPLING = tuple(settings_of(Sampling))
CHANGEABLE: dict[str, Callable[[Any], str]] = {
    "model": lambda value: " ".join(model_name(value)).strip(),
    **{name: partial(value_words, name) for name in _SAMPLING},
    "max_tokens": lambda value: tr("at most %n token(s)", "", value),
    "stop": lambda value: (
        tr("stop at {stops}", stops=" ".join(stop_lines(value))) if value else tr("no stop string")
    ),
    "system_prompt": lambda value: (
        tr("system prompt “{text}”", text=excerpt(value, _MAX_LENGTH))
        if value.strip()
        else tr("no system prompt")
    ),
    "prompt": lambda value: tr("“{text}”", text=excerpt(value, _MAX_LENGTH)),
}
"""The settings that a column can change besides the five of its pickers, with the words for a value."""


@dataclass(frozen=True)
class Variant:
    """The changes of one column to the playground's request. A native notation defines its shape."""

    notation: Notation = "glyph"
    shape: Shape = "flat"
    constraint: ConstraintKind = "mask"
    strategy: Strategy = "direct"
    constrain_from: ConstrainFrom = "reasoning"
    changes: tuple[tuple[str, Any], ...] = ()
    """Settings that differ from the playground's: model, prompts, sampling (`CHANGEABLE`), by name, in that order."""

    def changed(self, **values: Any) -> Variant:
        """Return the variant with these settings changed."""
        changes = {**dict(self.changes), **values}
        return replace(self, changes=tuple((name, changes[name]) for name in CHANGEABLE if name in changes))

    def value(self, name: str, base: RunRequest) -> Any:
        """Return one of the `CHANGEABLE` settings: the variant's, or else the one in `base`."""
        return dict(self.changes).get(name, getattr(base.sampling if name in _SAMPLING else base, name))

    @property
    def change_words(self) -> str:
        """The changes in a line; empty if there are none."""
        return ", ".join(CHANGEABLE[name](value) for name, value in self.changes)

    def request(self, base: PreparedRequest) -> PreparedRequest:
        """The request of `base` with the changes of this variant.

        Only the models' texts are compared: no tool runs, and no column uses a custom grammar, which is written for one
        notation.
        """
        own: dict[str, object] = {"native": "auto"}
        if self.notation != "native":
            own = {**notation_members(self.notation), "shape": self.shape}
        own |= {
            "constrain_from": self.constrain_from,
            "constraint": self.constraint,
            "order": under_constraint(base.request, self.constraint).order,
        }
        own |= {name: value for name, value in self.changes if name not in _SAMPLING}
        sampling = {name: value for name, value in self.changes if name in _SAMPLING}
        own["sampling"] = msgspec.structs.replace(base.request.sampling, **sampling)
        return base.changed(strategy=self.strategy, grammar=None, dispatch=False, **own)


PICKED = tuple(field.name for field in fields(Variant) if field.name != "changes")
"""The settings in the pickers of a column, in that order."""


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
BRIEF = tr("Write one tool call. Leave out optional arguments that the user did not mention.")
"""A system prompt to compare with, if the playground has none."""


def _models(basis: Basis) -> tuple[Variant, ...]:
    names = dict.fromkeys((basis.request.model, *basis.models))
    columns = tuple(basis.variant.changed(model=name) for name in names)[:MAX_COLUMNS]
    return columns if len(columns) >= MIN_COLUMNS else (*columns, basis.variant)


def _prompts(basis: Basis) -> tuple[Variant, ...]:
    mine = basis.request.system_prompt
    texts = (mine, "") if mine.strip() else ("", BRIEF)
    return tuple(basis.variant.changed(system_prompt=text) for text in texts)


def _columns(question: Question, basis: Basis) -> tuple[Variant, ...]:
    return tuple(replace(basis.variant, **settings) for settings in question.columns())


PRESETS: tuple[Preset, ...] = (
    *(Preset(each.key, in_language(each.title), partial(_columns, each)) for each in QUESTIONS),
    Preset("models", tr("Which model?"), _models),
    Preset(
        "temperatures",
        tr("Which temperature?"),
        lambda b: tuple(b.variant.changed(temperature=value) for value in TEMPERATURES),
    ),
    Preset("prompts", tr("Which system prompt?"), _prompts),
)
"""The questions of an evaluation, then those about settings that an evaluation does not vary."""


def variant_of(options: RunRequest) -> Variant:
    """The playground's settings as a variant; even for a tool loop, only one call is requested."""
    notation: Notation = "native" if options.native else options.notation
    strategy: Strategy = "direct" if options.strategy == "loop" else options.strategy
    return Variant(notation, options.shape, options.constraint, strategy, options.constrain_from)


def playground_request(project: ProjectController) -> RunRequest:
    """The playground's settings with the current model and the prompts, without the tools."""
    prompt = project.prompt.state
    return msgspec.structs.replace(
        project.options, model=project.model, prompt=prompt.user, system_prompt=prompt.system_prompt
    )


def next_variant(variants: Sequence[Variant]) -> Variant:
    """Return a variant to add: the last one, with a notation, constraint or temperature that is not compared yet."""
    last = variants[-1]
    if (warm := dict(last.changes).get("temperature")) is not None:
        return last.changed(temperature=round(min(warm + 0.3, MAX_TEMPERATURE), 2))
    others = [replace(last, notation=n) for n in ("glyph", "json")]
    others += [replace(last, constraint=c) for c in ("mask", "off", "gbnf")]
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
    changes = dict(variant.changes)
    picked = {name: WORDS.get(getattr(variant, name), "") for name in PICKED}
    if variant.notation == "native":
        picked["shape"] = ""
    return picked | {
        name: words(changes[name]) if name in changes else "" for name, words in CHANGEABLE.items()
    }


def _name(words: Mapping[str, str]) -> str:
    """Return `GLYPH mask, temperature 0.7`: the choices in the column's boxes, then its changes."""
    picked = " ".join(words[name] for name in PICKED if words.get(name))
    return ", ".join(filter(None, (picked, *(words[name] for name in CHANGEABLE if name in words))))
