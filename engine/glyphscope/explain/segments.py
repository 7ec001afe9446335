"""The costs of an answer's parts, and the probability of a call before the model began one."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from glyphscope.base.errors import PromptError
from glyphscope.events import RunRequest, SegmentKind, Token
from glyphscope.runs.state import Segment, StageState
from glyphscope.runs.strategies.turns import turn_form

PartKind: TypeAlias = SegmentKind | Literal["marker"]
"""`marker` is the text outside all parts, which opens and closes them."""


_FORCED = attrgetter("step.forced")


@dataclass(slots=True)
class PartCost:
    """The number of tokens in all parts of one kind, of forced ones among them, and the seconds that they took."""

    tokens: int = 0
    forced: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """The highest raw probability of a call's marker within reasoning, and the number of the token at that place."""

    share: float
    token: int


def part_of(stage: StageState, token: Token) -> Segment | None:
    """The part that the token's first character is in; None for markers, or if the text has no parts."""
    segments = stage.segments
    place = bisect_left(segments, token.end, key=lambda segment: segment.start) - 1
    if place < 0:
        return None
    end = segments[place].end
    return segments[place] if end is None or token.start < end else None


def seconds_of(stage: StageState, tokens: range) -> float:
    """The seconds from the token before these (or the prompt's end) to the last of them."""
    if not tokens:
        return 0.0
    if tokens.start:
        begin = stage.tokens[tokens.start - 1].t
    else:
        begin = stage.evaluated.t if stage.evaluated is not None else stage.tokens[0].t
    return max(stage.tokens[tokens[-1]].t - begin, 0.0)


def counted(stage: StageState, tokens: range) -> int | None:
    """How many tokens these are. None if that is unknown: an endpoint counts those of the whole answer, at its end, and
    its pieces need not be tokens.
    """
    count = stage.counted_tokens
    if len(tokens) == len(stage.tokens):
        return count
    return len(tokens) if count == len(stage.tokens) else None


def part_costs(stage: StageState) -> dict[PartKind, PartCost]:
    """The cost of each kind of part; empty for a text without parts, or if an endpoint's pieces are not its tokens. A
    token across a border counts for the first.
    """
    if not stage.segments or stage.counted_tokens != len(stage.tokens):
        return {}
    costs: dict[PartKind, PartCost] = {}
    seen = 0
    for segment in stage.segments:
        within = stage.tokens_between(segment.start, segment.end)
        within = range(max(within.start, seen), max(within.stop, seen))
        _add(costs, "marker", stage, range(seen, within.start))
        _add(costs, segment.kind, stage, within)
        seen = within.stop
    _add(costs, "marker", stage, range(seen, len(stage.tokens)))
    return costs


def _add(costs: dict[PartKind, PartCost], kind: PartKind, stage: StageState, tokens: range) -> None:
    if tokens:
        cost = costs.setdefault(kind, PartCost())
        cost.tokens += len(tokens)
        cost.forced += sum(map(_FORCED, stage.tokens[tokens.start : tokens.stop]))
        cost.seconds += seconds_of(stage, tokens)


def reasoning_tokens(stage: StageState) -> int:
    """The number of reasoning tokens in the text; 0 if an endpoint's pieces are not its tokens."""
    parts = (part for part in stage.segments if part.kind == "reasoning")
    return sum(counted(stage, stage.tokens_between(part.start, part.end)) or 0 for part in parts)


def earlier_call(stage: StageState, reasoning: Segment, request: RunRequest) -> EarlierCall | None:
    """The token of `reasoning` at which the first token of the later call was most probable.

    None without a call, or if the token is not among the recorded alternatives of these tokens.
    """
    marker = _marker(stage, reasoning, request)
    best: EarlierCall | None = None
    if marker is None:
        return None
    for place in stage.tokens_between(reasoning.start, reasoning.end):
        for other in stage.tokens[place].step.alternatives:
            same = other.id == marker.step.id if other.id >= 0 else other.data == marker.step.data
            if same and (best is None or other.raw > best.share):
                best = EarlierCall(other.raw, place)
    return best


def _marker(stage: StageState, reasoning: Segment, request: RunRequest) -> Token | None:
    """The token that begins the first call after the reasoning, with its marker."""
    segments = stage.segments
    first = bisect_left(segments, reasoning.start, key=lambda segment: segment.start)
    before = reasoning
    for segment in segments[first + 1 :]:
        if segment.kind == "call" and before.end is not None:
            return _token_after(stage, before, segment, _closing(request) if before is reasoning else "")
        before = segment
    return None


def _token_after(stage: StageState, before: Segment, call: Segment, closing: str) -> Token | None:
    """The token of the first character between the two that is neither white space nor in the closing marker."""
    assert before.end is not None
    between = stage.text[before.end : call.start]
    place = before.end + (between.find(closing) + len(closing) if closing and closing in between else 0)
    text = stage.text[place : call.start + 1]
    place += len(text) - len(text.lstrip())
    tokens = stage.tokens_between(place, None)
    if not tokens:
        return None
    token = stage.tokens[tokens.start]
    return token if not stage.text[token.start : place].strip() else None


def _closing(request: RunRequest) -> str:
    """The marker that closes reasoning in the run's form; empty if it has none."""
    try:
        form = turn_form(request)
    except PromptError:
        return ""
    return "" if form is None or form.reasoning is None else form.reasoning.close.strip()
