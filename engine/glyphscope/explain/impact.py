"""Mask impact: the probability that the constraint removed in each field, and the parts of the prompt to change.

Computed from a run's events. Every probability is the model's own (raw), before mask and sampler; a step without a
recorded raw distribution (evidence not requested, an endpoint) counts as unknown, never as zero. A masked token that
spells the same text as the generated ones is not a loss.

`mask_impact` divides the steps among the fields, sums up each field, and explains the worst step of each.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from glyphscope.base.figures import percent, pluralize
from glyphscope.base.pointer import follow, readable, steps_of
from glyphscope.base.shorten import shorten
from glyphscope.events import Alternative, RunRequest, Token, TokenStep
from glyphscope.explain.constraint_attribution import Attribution, Attributor, has_parts, is_control_token
from glyphscope.explain.in_prompt import PromptPlace, prompt_places
from glyphscope.explain.masked import token_reasons
from glyphscope.grammar import MatchLimit
from glyphscope.registry import ToolRegistry
from glyphscope.runs.relaxation import parts_of
from glyphscope.runs.state import RunState, StageState

Unexplained: TypeAlias = Literal[
    "", "strategy", "grammar", "answer", "early", "order", "duplicate", "limit", "none"
]
"""Why no keyword is named. strategy: keywords are searched only under the strategy direct; grammar: the run has a
custom one; early: no tool was known, so no schema masked anything; order: the schema's order of keys did; duplicate:
the key is already present; limit: the search took too long; none: no single keyword is the reason. Empty if one is
named.
"""
AROUND = ""
"""The path of the text outside fields: brackets, keys, the text before a call."""
_AHEAD = 64
"""Generated tokens with whose text another token is compared: more than any token spells."""
_LITTLE = 0.005
"""The largest loss of a step that is not reported by its token: the sampler's own truncation removes more."""


@dataclass(frozen=True)
class MaskedToken:
    """A step, number `token` of the answer, at which the model's first choice was masked.

    `before` is the field's value up to the step, `preferred` and `sampled` the two tokens' text. `sampled_raw` is None
    if it is not recorded. `lost` is the raw probability that the constraint removed at this step. `attribution` is
    the one keyword that masks `preferred`; if none is known, `unexplained` says why. `reason` is why it was masked, as
    shown beside the alternative; empty if unknown.
    """

    token: int
    before: str
    preferred: str
    preferred_raw: float
    sampled: str
    sampled_raw: float | None
    lost: float
    attribution: Attribution | None = None
    unexplained: Unexplained = ""
    reason: str = ""


@dataclass(frozen=True)
class FieldImpact:
    """The field at JSON Pointer `path`. Of its `tokens` (a number of steps), `unknown` have no recorded distribution.

    `lost` is the raw probability that the constraint removed, summed over the other steps; `most` is the largest loss
    of one step, `most_token` that step. `other_tokens` is the summed probability of masked tokens that spell the same
    text. `worst` is the `masked` step with the largest loss, None if the first choice was never masked. `places` are
    the parts of the prompt about the field, the most likely cause first.
    """

    path: str
    value: str
    tokens: int = 0
    unknown: int = 0
    lost: float = 0.0
    other_tokens: float = 0.0
    most: float = 0.0
    most_token: int | None = None
    masked: int = 0
    worst: MaskedToken | None = None
    places: tuple[PromptPlace, ...] = ()


@dataclass(frozen=True)
class MaskImpact:
    """`fields` are in the order of the text. `constrained` is False if the run had no constraint, and None if no step
    records the masked tokens, as with an endpoint.
    """

    fields: tuple[FieldImpact, ...]
    constrained: bool | None

    @property
    def conflicts(self) -> tuple[FieldImpact, ...]:
        """The fields in which the model's first choice was masked, the largest loss first."""
        return tuple(sorted((each for each in self.fields if each.worst), key=lambda each: -each.lost))

    @property
    def unknown(self) -> int:
        """Steps whose raw distribution is not recorded."""
        return sum(each.unknown for each in self.fields)


def mask_impact(
    state: RunState,
    stage: StageState | None = None,
    *,
    cancel: Callable[[], bool] | None = None,
) -> MaskImpact:
    """The mask impact in a stage of the run, by default the last. Raises MatchCancelled once `cancel` returns True.

    Masked tokens are attributed to constraints only under the strategy direct, as others generate a call in parts.
    """
    stage = stage or state.present
    if state.started is None:
        return MaskImpact((), None)
    request = state.started.request
    attributor = None
    if state.registry is not None and request.strategy == "direct" and has_parts(request):
        attributor = Attributor(request, state.registry)
    fields = []
    for steps in _steps_by_field(stage):
        impact = _sums(steps, stage)
        worst, places = impact.worst, impact.places
        if worst is not None and attributor is not None:
            worst = _explained(worst, stage, attributor, cancel)
        elif worst is not None:
            worst = replace(worst, unexplained=_unexplained(request))
        if worst is not None and state.registry is not None:
            worst = replace(worst, reason=_reason(worst, stage, request, state.registry))
        if state.registry is not None and state.whole_registry is not None:
            tool = stage.tool.name if stage.tool is not None else ""
            why = None if worst is None else worst.attribution
            places = prompt_places(impact.path, tool, request, state.whole_registry, stage.prompt, why)
        fields.append(replace(impact, worst=worst, places=places))
    return MaskImpact(tuple(fields), _is_constrained(request, stage))


def _unexplained(request: RunRequest) -> Unexplained:
    if request.grammar is not None:
        return "grammar"
    return "strategy" if has_parts(request) else "answer"


def _is_constrained(request: RunRequest, stage: StageState) -> bool | None:
    if request.constraint == "off":
        return False
    return True if any(token.step.feasible is not None for token in stage.tokens) else None


# the steps of each field


@dataclass
class _Steps:
    """A field, its value's text and first character, and the tokens that wrote it."""

    path: str
    value: str
    start: int
    tokens: list[Token] = field(default_factory=list)


def _steps_by_field(stage: StageState) -> list[_Steps]:
    """The text outside fields, then the leaves of the call, each with its tokens; without those that have none."""
    around = _Steps(AROUND, "", 0)
    containers = {path.rpartition("/")[0] for path in stage.fields}
    leaves = [
        _Steps(path, stage.text[each.start : each.end], each.start)
        for path, each in stage.fields.items()
        if path not in containers and each.start is not None
    ]
    leaves.sort(key=lambda leaf: leaf.start)
    for token in stage.tokens:
        (_field_of(token, leaves) or around).tokens.append(token)
    return [each for each in (around, *leaves) if each.tokens]


def _field_of(token: Token, leaves: list[_Steps]) -> _Steps | None:
    """The field in whose value the token begins. A token right after an unquoted value, which could have continued,
    belongs to that value, as it ended the value.
    """
    place = bisect_right(leaves, token.start, key=lambda leaf: leaf.start) - 1
    if place < 0:
        return None
    leaf = leaves[place]
    end = leaf.start + len(leaf.value)
    ended_it = token.start == end and leaf.value and leaf.value[-1] not in "\"'}])"
    return leaf if token.start < end or ended_it else None


# the sums of a field


def _sums(steps: _Steps, stage: StageState) -> FieldImpact:
    """The field, still without places and without the reason of its worst step."""
    lost = other = most = 0.0
    unknown = masked = 0
    most_token: int | None = None
    worst: MaskedToken | None = None
    for token in steps.tokens:
        step = token.step
        if step.feasible is None:
            unknown += 1
            continue
        rest = _rest(stage, token) if step.forced else b""
        same = _same_text(step, rest)
        loss = max(0.0, 1.0 - step.feasible - same)
        lost, other = lost + loss, other + same
        if loss > most:
            most, most_token = loss, step.index
        first = _first_choice(step)
        if first is None or first.allowed is not False or (rest and rest.startswith(first.data)):
            continue
        masked += 1
        if worst is None or loss > worst.lost:
            before = stage.text[steps.start : token.start] if steps.path != AROUND else ""
            worst = _masked_token(step, first, loss, before)
    return FieldImpact(
        path=steps.path,
        value=steps.value,
        tokens=len(steps.tokens),
        unknown=unknown,
        lost=lost,
        other_tokens=other,
        most=most,
        most_token=most_token if most > _LITTLE else None,
        masked=masked,
        worst=worst,
    )


def _rest(stage: StageState, token: Token) -> bytes:
    """The bytes generated from that token on, as many as another token may spell."""
    place = bisect_left(stage.tokens, token.step.index, key=lambda one: one.step.index)
    return b"".join(one.step.data for one in stage.tokens[place : place + _AHEAD])


def _same_text(step: TokenStep, rest: bytes) -> float:
    """The raw probability of masked tokens that spell the beginning of `rest`: a forced text has many tokenizations."""
    return sum(
        one.raw
        for one in step.alternatives
        if one.allowed is False and one.data and one.id != step.id and rest.startswith(one.data)
    )


def _first_choice(step: TokenStep) -> Alternative | None:
    return max(step.alternatives, key=lambda one: one.raw, default=None)


def _masked_token(step: TokenStep, first: Alternative, loss: float, before: str) -> MaskedToken:
    return MaskedToken(
        token=step.index,
        before=before,
        preferred=first.text or first.data.decode(errors="replace"),
        preferred_raw=first.raw,
        sampled="" if step.end and not step.text else step.text or step.data.decode(errors="replace"),
        sampled_raw=step.raw,
        lost=loss,
    )


# the reasons


def _place(masked: MaskedToken, stage: StageState) -> int:
    """The place of its token among the stage's, whose numbers have gaps in a record that lacks some."""
    return next(place for place, token in enumerate(stage.tokens) if token.step.index == masked.token)


def _reason(masked: MaskedToken, stage: StageState, request: RunRequest, registry: ToolRegistry) -> str:
    place = _place(masked, stage)
    first = _first_choice(stage.tokens[place].step)
    if first is None:
        return ""
    return token_reasons(request, registry, stage.place, stage.tokens, place, (first,)).texts[0]


def _explained(
    masked: MaskedToken, stage: StageState, attributor: Attributor, cancel: Callable[[], bool] | None
) -> MaskedToken:
    token = stage.tokens[_place(masked, stage)]
    first = _first_choice(token.step)
    if first is None or not first.data or 0x80 <= first.data[0] < 0xC0:
        return replace(masked, unexplained="none")  # the inside of a character: it has no text by itself
    before = stage.text[: token.start]
    if not attributor.knows_tool(before):
        return replace(masked, unexplained="early")
    text = first.data.decode(errors="ignore")
    try:
        # before `find`: a relaxed `required` or `additionalProperties` would accept such a text too
        if unrelated := attributor.unrelated(before, text, cancel=cancel):
            return replace(masked, unexplained=unrelated)
        attribution = attributor.find(before, text, cancel=cancel)
    except MatchLimit:
        return replace(masked, unexplained="limit")
    return replace(masked, attribution=attribution, unexplained="none" if attribution is None else "")


_MAX_LENGTH = 60
"""Characters of a quoted value or description."""
_UNEXPLAINED: dict[Unexplained, str] = {
    "": "the keyword that blocks it is unknown",
    "strategy": "the keyword that blocks it can be found only for the strategy direct",
    "grammar": "the custom grammar blocks it: the run is not constrained by a schema",
    "answer": "the answer's grammar blocks it: no schema constrains the run",
    "early": "no tool is known yet, so no schema blocks it: the notation does, or the list of tools",
    "order": (
        "no keyword blocks it: the run enforces the schema's order of keys; the order any "
        "(--order any, or Order of arguments in the options) allows it here"
    ),
    "duplicate": "no keyword blocks it: the argument is already present, and a key may appear only once",
    "limit": "finding the keyword that blocks it takes too long",
    "none": ("no single keyword of a schema was found: the notation blocks it, or several keywords together"),
}


def masked_words(impact: FieldImpact, unknown: str) -> str:
    """`1.41 of 3`: the expected number of masked tokens, of those whose distribution is recorded."""
    known = impact.tokens - impact.unknown
    return f"{tokens_taken(impact.lost)} of {known:,}" if known else unknown


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
    """`1.41 of 3 tokens masked (expected number), 93% at token 8`."""
    known = impact.tokens - impact.unknown
    if not known:
        return f"unknown, over {pluralize(impact.tokens, 'token')}"
    words = f"{tokens_taken(impact.lost)} of {pluralize(known, 'token')} masked (expected number)"
    if impact.most_token is not None:
        words += f", {percent(impact.most)} at token {impact.most_token}"
    if impact.other_tokens >= 0.0005:
        words += f"; not counted: {tokens_taken(impact.other_tokens)} for the same text in other tokens"
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
    lines += [f"try: {place_words(place)}" for place in impact.places[:2]]
    return lines


def place_words(place: PromptPlace) -> str:
    """The change of the prompt at that place, and the known facts about it."""
    if place.kind == "format":
        return "change the rule of the format and the examples of the system message"
    part = "example" if place.kind == "example" else "description"
    steps = steps_of(place.of)  # tool, "parameters", "properties", argument, "description"
    name = steps[3] if place.kind == "description" else steps[0]
    owner = f"the tool {name}" if place.kind == "tool" else name
    if not place.text:
        words = f"add {'an' if part == 'example' else 'a'} {part} to {owner}"
    else:
        words = f"change the {part} of {owner}, “{shorten(' '.join(place.text.split()), _MAX_LENGTH)}”"
    if place.text and place.shown is False:
        words += ", which this prompt does not show"
    if place.states is False:
        words += "; the prompt does not mention this constraint"
    elif place.states:
        words += "; the prompt mentions this constraint"
    return words


def _tail(text: str) -> str:
    return "" if not text else f"{shorten(text, 24, keep='end')}▸"
