"""The mask impact in sentences, for the terminal and the window."""

from __future__ import annotations

import json

from glyphscope.explain.constraint_attribution import Attribution, is_control_token
from glyphscope.explain.mask_impact import AROUND, FieldImpact, MaskedToken, MaskImpact, Unexplained
from glyphscope.explain.prompt_places import PromptPlace
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import follow, readable, steps_of
from glyphscope.runs.relaxation import parts_of
from glyphscope.text.figures import percent, pluralize
from glyphscope.text.shorten import shorten

_MAX_LENGTH = 60
"""Characters of a quoted value or description."""
_UNEXPLAINED: dict[Unexplained, str] = {
    "": "the keyword that blocks it is unknown",
    "strategy": "the keyword that blocks it can be found only for the strategy direct",
    "grammar": "the custom grammar blocks it: the run is not constrained by a schema",
    "early": "no tool is known yet, so no schema blocks it: the notation does, or the list of tools",
    "order": (
        "no keyword blocks it: the run enforces the schema's order of keys; the order any "
        "(--order any, or Order of arguments in the strategy settings) allows it here"
    ),
    "duplicate": "no keyword blocks it: the argument is already present, and a key may appear only once",
    "limit": "finding the keyword that blocks it takes too long",
    "none": ("no single keyword of a schema was found: the notation blocks it, or several keywords together"),
}


def field_name(impact: FieldImpact) -> str:
    """`max_results`; "outside fields" for the text around them."""
    return "outside fields" if impact.path == AROUND else readable(impact.path)


def tokens_taken(lost: float) -> str:
    """`1.41`: probabilities summed over steps are the expected number of masked tokens."""
    if not lost:
        return "0"
    return "<0.01" if lost < 0.005 else f"{lost:.2f}"


def preferred_words(masked: MaskedToken) -> str:
    """`50▸0`: the value up to the step, and the token that the model preferred."""
    return f"{_tail(masked.before)}{quoted(masked.preferred)}"


def sampled_words(masked: MaskedToken) -> str:
    return f"{_tail(masked.before)}{quoted(masked.sampled)}" if masked.sampled else "the end"


def quoted(text: str) -> str:
    """The text as JSON, in which blanks and line ends are visible."""
    return json.dumps(text, ensure_ascii=False)


def attribution_words(attribution: Attribution, registry: ToolRegistry | None) -> str:
    """`maximum 100 (search:/properties/max_results/maximum)`."""
    value = ""
    tool = registry.get(attribution.tool) if registry is not None else None
    if tool is not None:
        found = follow(tool.parameters, attribution.pointer)
        name = parts_of(attribution.pointer).name
        if found is not None:
            value = f" {shorten(json.dumps(found[1], ensure_ascii=False), _MAX_LENGTH)}"
        elif name:
            value = f" {shorten(quoted(name), _MAX_LENGTH)}"
    return f"{attribution.keyword}{value} ({attribution.tool}:{attribution.pointer})"


def head(mask: MaskImpact) -> str:
    """The headline: in which fields grammar and model conflict."""
    if mask.constrained is False:
        return "No constraint: nothing was removed."
    if mask.constrained is None:
        return "The record does not contain what the constraint removed."
    unknown = f" Unknown for {pluralize(mask.unknown, 'token')}." if mask.unknown else ""
    conflicts = mask.conflicts
    if not conflicts:
        known = " where it is known" if mask.unknown else ""
        return f"The model's first choice was never masked{known}.{unknown}"
    named = ", ".join(field_name(impact) for impact in conflicts)
    order = " Sorted by removed raw probability, the largest first." if len(conflicts) > 1 else ""
    return f"Grammar and model conflict in: {named}.{order}{unknown}"


def loss_words(impact: FieldImpact) -> str:
    """`1.41 of 3 tokens masked, by raw probability, most at token 8: 93%`."""
    known = impact.tokens - impact.unknown
    if not known:
        return f"unknown, over {pluralize(impact.tokens, 'token')}"
    words = f"{tokens_taken(impact.lost)} of {pluralize(known, 'token')} masked, by raw probability"
    if impact.most_token is not None:
        words += f", most at token {impact.most_token}: {percent(impact.most)}"
    if impact.other_tokens >= 0.0005:
        words += f"; {tokens_taken(impact.other_tokens)} more for the same text in other tokens"
    if impact.unknown:
        words += f"; unknown for {impact.unknown} more"
    return words


def worst_words(impact: FieldImpact, registry: ToolRegistry | None) -> list[str]:
    """The preferred and the sampled token, the reason, and the places to change; empty if nothing was masked."""
    masked = impact.worst
    if masked is None:
        return []
    lines = [
        f"token {masked.token}: preferred {preferred_words(masked)} (raw {percent(masked.preferred_raw)}), "
        f"sampled {sampled_words(masked)} (raw {percent(masked.sampled_raw)})"
    ]
    if masked.attribution is not None:
        lines.append(f"blocked by {attribution_words(masked.attribution, registry)}")
    elif is_control_token(masked.preferred):
        lines.append(
            "this is a control token of the model, such as the end of its answer: a grammar contains only text"
        )
    else:
        lines.append(_UNEXPLAINED[masked.unexplained])
    if masked.reason:
        lines.append(f"masked: {masked.reason}")
    if impact.masked > 1:
        lines.append(f"its first choice was masked at {pluralize(impact.masked, 'step')}")
    lines += [f"could change: {place_words(place)}" for place in impact.places[:2]]
    return lines


def place_words(place: PromptPlace) -> str:
    """The place in the prompt to change, and the known facts about it."""
    if place.kind == "format":
        return "the rule of the format and the examples of the system message"
    names = {
        "description": "the description of",
        "tool": "the description of the tool",
        "example": "the example of",
    }
    steps = steps_of(place.of)  # tool, "parameters", "properties", argument, "description"
    words = f"{names[place.kind]} {steps[3] if place.kind == 'description' else steps[0]}"
    words += (
        f", “{shorten(' '.join(place.text.split()), _MAX_LENGTH)}”"
        if place.text
        else ", which it does not have"
    )
    if place.text and place.shown is False:
        words += ", which this prompt does not show"
    if place.states is False:
        words += "; the prompt does not mention this constraint"
    elif place.states:
        words += "; the prompt mentions this constraint"
    return words


def _tail(text: str) -> str:
    return "" if not text else f"{shorten(text, 24, keep='end')}▸"
