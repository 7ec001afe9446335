"""The effects of a prompt's parts in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from glyphscope.base.figures import duration_ms, percent, plain_number
from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import capitalised, excerpt, shorten
from glyphscope.base.translate import Translate, english
from glyphscope.explain.ablation.pairs import ToolPair
from glyphscope.explain.ablation.types import (
    NOTHING,
    ChoiceScore,
    Omission,
    OmissionEffect,
    PromptAblation,
    TokenScore,
    WrittenChoice,
)
from glyphscope.prompting.messages import SYSTEM_PROMPT

_MAX_LENGTH = 60
"""Characters of a part or a choice that are quoted."""


def omission_name(omission: Omission, tr: Translate = english) -> str:
    """`example of browse`, `description of query of search`, `sentence “Use the exact argument names shown”`."""
    steps = steps_of(omission.of)
    match omission.kind:
        case "tool":
            return tr("tool {tool}", tool=steps[0])
        case "example":
            return tr("example of {tool}", tool=steps[0])
        case "description" if len(steps) > 2:
            return tr("description of {argument} of {tool}", argument=steps[3], tool=steps[0])
        case "description":
            return tr("description of {tool}", tool=steps[0])
        case "message" if omission.of == SYSTEM_PROMPT:
            return tr("system prompt")
        case "message":
            return omission.of or tr("user’s message")
    return tr("sentence “{text}”", text=shorten(" ".join(omission.text.split()), _MAX_LENGTH))


def choice_name(choice: WrittenChoice, tr: Translate = english) -> str:
    """`the tool search`, `the field /query`, `token 4`, `the answer`."""
    match choice.kind:
        case "tool":
            return tr("the tool {name}", name=choice.name)
        case "field":
            return tr("the field {path}", path=choice.path)
        case "token":
            return tr("token {index}", index=choice.first)
    return tr("the answer")


def measure_name(ablation: PromptAblation, tr: Translate = english) -> str:
    """Which probability is shown."""
    if ablation.constraint == "off":
        return tr("the model’s own, without a constraint")
    if ablation.is_forced:
        return tr("the model’s own: the constraint left no choice")
    return tr("among the tokens that the constraint {constraint} allows", constraint=ablation.constraint)


def shown_probability(ablation: PromptAblation, score: ChoiceScore) -> float:
    """The probability of the choice as it is shown: the model's own where the constraint left no choice."""
    return math.exp(min(score.raw, 0.0)) if ablation.is_forced else score.probability


def is_changed(ablation: PromptAblation, effect: OmissionEffect) -> bool:
    """Whether the choice is more or less probable without the part, by more than the last digits vary."""
    change = ablation.change(effect)
    return change is not None and abs(change) >= NOTHING


def other_words(ablation: PromptAblation, token: TokenScore, tr: Translate = english) -> str:
    """`browse 61.0%`: the best other token where the choice is decided, or the tool that it begins; empty for none."""
    other = token.other
    if other is None:
        return ""
    share = percent(other.raw if ablation.is_forced else other.probability)
    name = other.tools[0] if len(other.tools) == 1 else excerpt(other.text)
    return tr("{name} {share}", name=name, share=share)


def effect_words(ablation: PromptAblation, effect: OmissionEffect, tr: Translate = english) -> str:
    """`Without the example of browse, the tool browse falls from 81.0% to 12.0%; the best other token there: …`"""
    name = omission_name(effect.omission, tr)
    if effect.known is None:
        why = effect.problem or tr("not computed")
        return tr("Without the {part}: {why}", part=name, why=why).rstrip(".") + "."
    if not is_changed(ablation, effect):
        if effect.score is None:
            return tr("Without the {part}, nothing changes, by an estimate.", part=name)
        return tr("Without the {part}, nothing changes.", part=name)
    before, after = shown_probability(ablation, ablation.base), shown_probability(ablation, effect.known)
    shown = percent(before), percent(after)
    if shown[0] == shown[1]:  # both are nearly 0 or 1
        shown = tr("log-probability {figure:.2f}", figure=math.log(before)), f"{math.log(after):.2f}"
    parts = {
        "part": name,
        "choice": choice_name(ablation.choice, tr),
        "before": shown[0],
        "after": shown[1] if effect.score is not None else tr("about {share}", share=shown[1]),
    }
    words = (
        tr("Without the {part}, {choice} falls from {before} to {after}", **parts)
        if after < before
        else tr("Without the {part}, {choice} rises from {before} to {after}", **parts)
    )
    other = other_words(ablation, effect.known.decision(ablation.base), tr) if after < before else ""
    return words + (tr("; the best other token there: {other}.", other=other) if other else ".")


def head_words(ablation: PromptAblation, tr: Translate = english) -> Iterator[str]:
    """The choice with the whole prompt, which probability it is, and the best other token where it is decided."""
    decision = ablation.base.decision()
    choice = choice_name(ablation.choice, tr)
    if ablation.choice.kind != "tool":
        choice = tr("{choice} ({text})", choice=choice, text=excerpt(ablation.choice.text, _MAX_LENGTH))
    yield tr(
        "{choice}: probability {share} with the whole prompt, {measure}.",
        choice=capitalised(choice),
        share=percent(shown_probability(ablation, ablation.base)),
        measure=measure_name(ablation, tr),
    )
    if other := other_words(ablation, decision, tr):
        yield tr(
            "It is decided at token {index}; the best other token there: {other}.",
            index=decision.index,
            other=other,
        )


def cost_words(ablation: PromptAblation, tr: Translate = english) -> str:
    """The number of evaluated tokens, and what was not computed."""
    left = [effect for effect in ablation.effects if effect.score is None and not effect.problem]
    estimated = sum(effect.estimate is not None for effect in left)
    words = tr(
        "Evaluated: {evaluated:,} tokens, {times} times the prompt’s {tokens:,}, in {time}.",
        evaluated=ablation.evaluated,
        times=plain_number(ablation.evaluated / max(1, ablation.tokens)),
        tokens=ablation.tokens,
        time=duration_ms(ablation.ms),
    )
    if estimated:
        words += " " + tr("Only estimated: %n part(s).", "", estimated)
    if len(left) > estimated:
        words += " " + tr("Not computed: %n part(s).", "", len(left) - estimated)
    return words


def pair_words(pair: ToolPair, tr: Translate = english) -> str:
    """`search or browse, for “Open llamas.org”: search has 61.0%. Separated by: example of search (-1.20).`"""
    words = tr(
        "{called} or {other}, for “{prompt}”: {called} has {share}.",
        called=pair.called,
        other=pair.other,
        prompt=excerpt(pair.prompt, _MAX_LENGTH),
        share=percent(pair.probability),
    )
    found = [each for each in pair.separating if is_changed(pair.ablation, each)]
    if not found:
        return words + " " + tr("No description or example separates them.")
    parts = (f"{omission_name(each.omission, tr)} ({pair.ablation.change(each):+.2f})" for each in found)
    return words + " " + tr("Separated by: {parts}.", parts=", ".join(parts))
