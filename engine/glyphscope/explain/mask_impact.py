"""Wanted X, got Y: of each field, what the constraint took from the model, and which words of the prompt could change.

Read from a run's events. Every probability is the model's own (raw), before mask and sampler; a step whose raw
distribution was not recorded (evidence that was not asked for, an endpoint) is counted as unknown, never as nothing.
What is struck only because the same text comes in other tokens is no loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from glyphscope.events import Alternative, RunRequest, Token, TokenStep
from glyphscope.explain.constraint_attribution import Attribution, Attributor
from glyphscope.explain.prompt_places import PromptPlace, prompt_places
from glyphscope.grammar.match import MatchLimit
from glyphscope.registry import ToolRegistry
from glyphscope.runs.run_state import FieldState, RunState, StageState

Unexplained: TypeAlias = Literal["", "strategy", "grammar", "early", "order", "duplicate", "limit", "none"]
"""It is looked for under another strategy only; a grammar of one's own holds the run; no tool was known yet, so no
schema could strike anything; the schema's order of keys did; it took too long; there is no single one.
"""
AROUND = ""
"""The path of what is written around the fields: brackets, keys, the text before a call."""
_AHEAD = 64
"""Tokens that a single other token may reach over."""
_LITTLE = 0.005
"""A loss that is not worth a line: the sampler's own cuts take more."""


@dataclass(frozen=True)
class MaskedToken:
    """A step at which the model's first choice was struck. `before` is the field's value up to it.

    `wanted` and `got` are the two tokens' text; `got_raw` is None where the record does not tell it. `lost` is the raw
    probability that the constraint took away at this step. `refused` is the one keyword that struck it; where none is
    told, `unexplained` says why.
    """

    token: int
    before: str
    wanted: str
    wanted_raw: float
    got: str
    got_raw: float | None
    lost: float
    refused: Attribution | None = None
    unexplained: Unexplained = ""


@dataclass(frozen=True)
class FieldImpact:
    """A field. `lost` is the raw probability that the constraint took away, summed over `tokens` less the `unknown`
    ones; `most` the largest of one step, at `most_token`. `other_tokens` is what spelled the same text otherwise.

    `fight` is the worst of the `struck` steps, None where the model's first choice was never struck. `places` are
    what of the prompt speaks of the field, the likeliest first.
    """

    path: str
    value: str
    tokens: int = 0
    unknown: int = 0
    lost: float = 0.0
    other_tokens: float = 0.0
    most: float = 0.0
    most_token: int | None = None
    struck: int = 0
    fight: MaskedToken | None = None
    places: tuple[PromptPlace, ...] = ()


@dataclass(frozen=True)
class MaskImpact:
    """`fields` in the order of the text, `conflicts` those where grammar and model fight, the worst first.

    `held` is False where no constraint was on, and None where an endpoint held one and does not tell what it took.
    """

    fields: tuple[FieldImpact, ...]
    held: bool | None

    @property
    def conflicts(self) -> tuple[FieldImpact, ...]:
        return tuple(sorted((want for want in self.fields if want.fight), key=lambda want: -want.lost))

    @property
    def unknown(self) -> int:
        """Steps of which the record tells no raw distribution."""
        return sum(want.unknown for want in self.fields)


def mask_impact(
    state: RunState,
    stage: StageState | None = None,
    *,
    cancel: Callable[[], bool] | None = None,
) -> MaskImpact:
    """What was wanted in a stage of the run, the present one unless it is given. Raises MatchCancelled.

    Which constraint struck is looked for in runs of the strategy direct; others ask for a call in parts.
    """
    stage = stage or state.present
    if state.started is None:
        return MaskImpact((), None)
    request = state.started.request
    enforced = state.registry
    finder: Attributor | Unexplained = "strategy" if request.grammar is None else "grammar"
    if enforced is not None and request.strategy == "direct" and request.grammar is None:
        finder = Attributor(request, enforced)
    wants = [_field_impact(tally, stage, finder, cancel) for tally in _tallies(stage)]
    whole = state.whole_registry
    if enforced is not None and whole is not None:
        tool = stage.tool.name if stage.tool is not None else ""
        wants = [_placed(want, request, whole, tool, stage) for want in wants]
    return MaskImpact(tuple(wants), _is_constrained(request, stage))


@dataclass
class _Tally:
    path: str
    value: str
    start: int
    steps: list[Token] = field(default_factory=list)


def _is_constrained(request: RunRequest, stage: StageState) -> bool | None:
    if request.constraint == "off":
        return False
    return True if any(token.step.feasible is not None for token in stage.tokens) else None


def _tallies(stage: StageState) -> list[_Tally]:
    """The leaves of the call with their tokens, and what is around them first."""
    text = stage.text
    around = _Tally(AROUND, "", 0)
    leaves = [_Tally(leaf.path, text[leaf.start or 0 : leaf.end], leaf.start or 0) for leaf in _leaves(stage)]
    leaves.sort(key=lambda tally: tally.start)
    for token in stage.tokens:
        (_owner(token, leaves, text) or around).steps.append(token)
    return [tally for tally in (around, *leaves) if tally.steps]


def _leaves(stage: StageState) -> Iterable[FieldState]:
    paths = list(stage.fields)
    inner = {path.rpartition("/")[0] for path in paths}
    return [each for path, each in stage.fields.items() if path not in inner and each.start is not None]


def _owner(token: Token, leaves: list[_Tally], text: str) -> _Tally | None:
    """The field in whose value the token begins; right behind a value that could go on, the token that ended it."""
    low, high = 0, len(leaves)
    while low < high:
        middle = (low + high) // 2
        if leaves[middle].start <= token.start:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    leaf = leaves[low - 1]
    end = leaf.start + len(leaf.value)
    goes_on = token.start == end and leaf.value and leaf.value[-1] not in "\"'}])"
    return leaf if leaf.start <= token.start < end or goes_on else None


def _field_impact(
    tally: _Tally, stage: StageState, finder: Attributor | Unexplained, cancel: Callable[[], bool] | None
) -> FieldImpact:
    lost = other = most = 0.0
    unknown = struck = 0
    most_token: int | None = None
    worst: MaskedToken | None = None
    for token in tally.steps:
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
        struck += 1
        if worst is None or loss > worst.lost:
            worst = _masked_token(token, first, loss, tally, stage)
    if worst is not None and isinstance(finder, Attributor):
        worst = _with_reason(worst, stage, finder, cancel)
    elif worst is not None and not isinstance(finder, Attributor):
        worst = replace(worst, unexplained=finder)
    return FieldImpact(
        path=tally.path,
        value=tally.value,
        tokens=len(tally.steps),
        unknown=unknown,
        lost=lost,
        other_tokens=other,
        most=most,
        most_token=most_token if most > _LITTLE else None,
        struck=struck,
        fight=worst,
    )


def _first_choice(step: TokenStep) -> Alternative | None:
    return max(step.alternatives, key=lambda one: one.raw, default=None)


def _same_text(step: TokenStep, rest: bytes) -> float:
    """The raw probability of struck tokens that spell the beginning of what came: a forced text has many tokens."""
    return sum(
        one.raw
        for one in step.alternatives
        if one.allowed is False and one.data and one.id != step.id and rest.startswith(one.data)
    )


def _rest(stage: StageState, token: Token) -> bytes:
    """What was written from that token on, as far as a token reaches."""
    place = token.step.index - stage.tokens[0].step.index
    return b"".join(one.step.data for one in stage.tokens[place : place + _AHEAD])


def _masked_token(
    token: Token, first: Alternative, loss: float, tally: _Tally, stage: StageState
) -> MaskedToken:
    step = token.step
    return MaskedToken(
        token=step.index,
        before=stage.text[tally.start : token.start] if tally.path != AROUND else "",
        wanted=first.text or first.data.decode(errors="replace"),
        wanted_raw=first.raw,
        got="" if step.end and not step.text else step.text or step.data.decode(errors="replace"),
        got_raw=None if step.logprob is None else math.exp(step.logprob),
        lost=loss,
    )


def _with_reason(
    struck: MaskedToken, stage: StageState, finder: Attributor, cancel: Callable[[], bool] | None
) -> MaskedToken:
    token = stage.tokens[struck.token - stage.tokens[0].step.index]
    first = _first_choice(token.step)
    if first is None or not first.data or 0x80 <= first.data[0] < 0xC0:
        return replace(struck, unexplained="none")  # it is no text by itself
    before = stage.text[: token.start]
    if not finder.speaks(before):
        return replace(struck, unexplained="early")
    text = first.data.decode(errors="ignore")
    try:
        # first, as a relaxed `required` or `additionalProperties` lets it through as well
        if unrelated := finder.unrelated(before, text, cancel=cancel):
            return replace(struck, unexplained=unrelated)
        refused = finder.find(before, text, cancel=cancel)
    except MatchLimit:
        return replace(struck, unexplained="limit")
    return replace(struck, refused=refused, unexplained="none" if refused is None else "")


def _placed(
    want: FieldImpact, request: RunRequest, registry: ToolRegistry, tool: str, stage: StageState
) -> FieldImpact:
    refused = want.fight.refused if want.fight is not None else None
    places = prompt_places(want.path, tool, request, registry, stage.prompt, refused)
    return replace(want, places=places)
