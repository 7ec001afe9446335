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
    """A stretch of the prompt. `role` is empty where no part changes anything; `words` describe the innermost part,
    which is that `row` of the list.
    """

    text: str
    role: str = ""
    words: str = ""
    row: int = 0


class _EffectRow(NamedTuple):
    name: str
    probability: str
    change: str
    other: str
    changed: bool = False


def influence_page(found: PromptAblation) -> str:
    """The page."""
    style = resources.read_text("page/page.css")
    ranked = _ranked(found)
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
            estimated=any(effect.score is None for effect in ranked if is_changed(found, effect)),
            notes=[visible(line) for line in (cost_words(found), found.note, _LIMITS) if line],
        )
    )


def _ranked(found: PromptAblation) -> list[OmissionEffect]:
    """The effects in the order of the list: the largest changes first."""
    return sorted(found.effects, key=lambda effect: -abs(found.change(effect) or 0.0))


def heat_pieces(found: PromptAblation) -> Iterator[HeatPiece]:
    """The prompt in stretches; of nested parts, the smallest one that changes something decides."""
    spans = sorted(
        (
            (start, end, row, effect)
            for row, effect in enumerate(_ranked(found))
            if is_changed(found, effect)
            for start, end in effect.omission.spans
        ),
        key=lambda each: (each[1] - each[0], sum(end - start for start, end in each[3].omission.spans)),
    )
    borders = sorted({0, len(found.prompt), *(place for span in spans for place in span[:2])})
    for start, end in pairwise(borders):
        text = visible(found.prompt[start:end], lines=True)
        inner = next((span for span in spans if span[0] <= start and end <= span[1]), None)
        if inner is None:
            yield HeatPiece(text)
        else:
            *_, row, effect = inner
            role = "holds" if (found.change(effect) or 0.0) < 0 else "impossible"
            role += "" if effect.score is not None else " estimate"
            yield HeatPiece(text, role, visible(effect_words(found, effect)), row)


def _row(found: PromptAblation, effect: OmissionEffect) -> _EffectRow:
    name, change = visible(omission_name(effect.omission)), found.change(effect)
    if effect.known is None or change is None:
        return _EffectRow(name, UNKNOWN, UNKNOWN, visible(effect.problem or "not computed"))
    about = "" if effect.score is not None else "≈ "
    return _EffectRow(
        name,
        about + percent(shown_probability(found, effect.known)),
        f"{about}{change:+.2f}",
        visible(other_words(found, effect.known.decision(found.base))),
        is_changed(found, effect),
    )
