"""Variants: the ways of asking the same that a comparison puts beside each other, and the questions they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from glyphscope.calling import PreparedRequest
from glyphscope.events import ConstrainFrom, ConstraintKind, RunRequest, Shape, Strategy, under_constraint
from glyphscope_gui.shared.language import tr

Notation: TypeAlias = Literal["glyph", "json", "native"]
FEWEST, MOST = 2, 4
"""Columns of a comparison: four are as many as a person can keep apart."""
WORDS = {
    "glyph": "GLYPH", "json": "JSON", "native": tr("native"), "flat": tr("flat"),
    "off": tr("unconstrained"), "mask": tr("mask"), "gbnf": "GBNF",
    "direct": tr("direct"), "two-stage": tr("two-stage"), "route-execute": tr("routed"),
    "start": tr("at the first token"), "reasoning": tr("after the reasoning"), "call": tr("at the call’s marker"),
}  # fmt: skip
OWN = "own"
"""The key of what is none of the presets."""


@dataclass(frozen=True)
class Variant:
    """What is asked differently in one column. In the model's own notation the shape is the notation's."""

    notation: Notation = "glyph"
    shape: Shape = "flat"
    constraint: ConstraintKind = "mask"
    strategy: Strategy = "direct"
    constrain_from: ConstrainFrom = "reasoning"

    def request(self, base: PreparedRequest) -> PreparedRequest:
        """The same prompt, tools, model and sampling as `base`, asked this way.

        What is compared is what the model writes: nothing is carried out, and a grammar of the user's own, which is
        written for one notation, holds for none of the columns.
        """
        own: dict[str, object] = {"native": "auto"}
        if self.notation != "native":
            own = {"native": "", "notation": self.notation, "shape": self.shape}
        own |= {
            "constrain_from": self.constrain_from,
            "constraint": self.constraint,
            "order": under_constraint(base.request, self.constraint).order,
        }
        return base.changed(strategy=self.strategy, grammar=None, dispatch=False, **own)


class Preset(NamedTuple):
    """A question, and the variants whose difference answers it, made from the settings of the playground."""

    key: str
    question: str
    variants: Callable[[Variant], tuple[Variant, ...]]


PRESETS: tuple[Preset, ...] = (
    Preset(
        "mask", tr("Does the mask help?"), lambda v: tuple(replace(v, constraint=c) for c in ("off", "mask"))
    ),
    Preset(
        "notation",
        tr("GLYPH or JSON?"),
        lambda v: tuple(replace(v, notation=n, constraint="mask") for n in ("glyph", "json")),
    ),
    Preset(
        "stages",
        tr("One pass or two?"),
        lambda v: tuple(replace(v, strategy=s, constraint="mask") for s in ("direct", "two-stage")),
    ),
    Preset(
        "alone",
        tr("What does the model write by itself?"),
        lambda v: tuple(replace(v, notation=n, constraint="off") for n in ("glyph", "json", "native")),
    ),
    Preset(
        "begin",
        tr("When does the constraint begin?"),
        lambda v: tuple(
            replace(v, constraint="mask", strategy="direct", constrain_from=begin)
            for begin in ("start", "reasoning", "call")
        ),
    ),
    Preset(
        "engine",
        tr("Mask or llama.cpp’s own sampler?"),
        lambda v: tuple(replace(v, constraint=c) for c in ("mask", "gbnf")),
    ),
)


def variant_of(options: RunRequest) -> Variant:
    """The playground's settings as a variant; of a conversation only one call is asked for."""
    notation: Notation = "native" if options.native else options.notation
    strategy: Strategy = "direct" if options.strategy == "loop" else options.strategy
    return Variant(notation, options.shape, options.constraint, strategy, options.constrain_from)


def next_variant(variants: Sequence[Variant]) -> Variant:
    """One more: the last one as far as it is not there yet in another notation, or under another constraint."""
    last = variants[-1]
    others = [replace(last, notation=n) for n in ("glyph", "json")]
    others += [replace(last, constraint=c) for c in ("mask", "off", "gbnf")]
    return next((variant for variant in others if variant not in variants), last)


def variant_names(variants: Sequence[Variant]) -> list[str]:
    """What distinguishes each from the others, such as `GLYPH` and `JSON`; equal ones get numbers."""
    if not variants:
        return []
    facts = [
        (v.notation, "" if v.notation == "native" else v.shape, v.constraint, v.strategy, v.constrain_from)
        for v in variants
    ]
    differs = [len({fact[place] for fact in facts}) > 1 for place in range(5)]
    given = {fact[1] for fact in facts if fact[1]}
    differs[1] = len(given) > 1  # the model's own shape goes without saying
    shown = differs if any(differs) else [True, False, True, False, False]
    names = [
        " ".join(WORDS.get(word, word) for word, tell in zip(fact, shown) if tell and word) for fact in facts
    ]
    twice = {name for name, count in Counter(names).items() if count > 1}
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if name in twice else name)
    return numbered
