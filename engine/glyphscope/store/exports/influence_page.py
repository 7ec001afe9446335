"""The influence of a prompt as an HTML page without scripts: the prompt, coloured by it, and the list of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from glyphscope.base import resources
from glyphscope.base.figures import UNKNOWN, percent
from glyphscope.base.visible import visible
from glyphscope.explain.ablation.types import OmissionEffect, PromptAblation
from glyphscope.explain.ablation.words import (
    choice_name,
    cost_words,
    effect_words,
    head_words,
    is_changed,
    omission_name,
    other_words,
    shown_probability,
)
from glyphscope.store.exports.run_page import block_digest, page_templates

_LIMITS = (
    "Each part was left out of the request before its templates were rendered, and the answer was scored again as it "
    "was written. The figures are facts about this prompt, not a gradient; interactions of parts are not seen."
)


class HeatPiece(NamedTuple):
    """A stretch of the prompt. `role` is empty where no part changes anything; `words` describe the innermost part."""

    text: str
    role: str = ""
    words: str = ""


class _EffectRow(NamedTuple):
    name: str
    probability: str
    change: str
    other: str


def influence_page(found: PromptAblation) -> str:
    """The page."""
    style = resources.read_text("page/page.css")
    ranked = sorted(found.effects, key=lambda effect: -abs(found.change(effect) or 0.0))
    return (
        page_templates()
        .get_template("influence.jinja")
        .render(
            title=f"Influence of the prompt on {visible(choice_name(found.choice))}",
            style=Markup(style),
            style_digest=block_digest(style),
            model=visible(found.model.name),
            choice=visible(choice_name(found.choice)),
            head=[visible(line) for line in head_words(found)],
            pieces=list(heat_pieces(found)),
            rows=[_row(found, effect) for effect in ranked],
            notes=[visible(line) for line in (cost_words(found), found.note, _LIMITS) if line],
        )
    )


def heat_pieces(found: PromptAblation) -> Iterator[HeatPiece]:
    """The prompt in stretches; of nested parts, the smallest one that changes something decides."""
    spans = sorted(
        (
            (start, end, effect)
            for effect in found.effects
            if is_changed(found, effect)
            for start, end in effect.omission.spans
        ),
        key=lambda each: (each[1] - each[0], sum(end - start for start, end in each[2].omission.spans)),
    )
    borders = sorted({0, len(found.prompt), *(place for span in spans for place in span[:2])})
    for start, end in pairwise(borders):
        text = visible(found.prompt[start:end], lines=True)
        inner = next((effect for first, last, effect in spans if first <= start and end <= last), None)
        if inner is None:
            yield HeatPiece(text)
        else:
            role = "holds" if (found.change(inner) or 0.0) < 0 else "impossible"
            yield HeatPiece(text, role, visible(effect_words(found, inner)))


def _row(found: PromptAblation, effect: OmissionEffect) -> _EffectRow:
    name, change = visible(omission_name(effect.omission)), found.change(effect)
    if effect.known is None or change is None:
        return _EffectRow(name, UNKNOWN, UNKNOWN, visible(effect.problem))
    about = "" if effect.score is not None else "≈ "
    return _EffectRow(
        name,
        about + percent(shown_probability(found, effect.known)),
        f"{about}{change:+.2f}",
        visible(other_words(found, effect.known.decision(found.base))),
    )
