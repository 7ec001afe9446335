"""The differences between two prompts, in text and tokens, and the place where the cache ended: from events only.

The prompts are divided into their tokens if the events contain them, otherwise into words; token counts are then
None. Beyond a bound, everything counts as replaced, which is correct, but not minimal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Literal, TypeAlias

from glyphscope.base.figures import duration_ms
from glyphscope.base.lines import common_length
from glyphscope.base.shorten import listed
from glyphscope.events import BEGUN, ControlText, PromptEvaluated, PromptPart, PromptRendered
from glyphscope.prompting.costs import part_words

Kind: TypeAlias = Literal["same", "removed", "added"]
Why: TypeAlias = Literal["first", "kept", "restored", "changed", "less", "more", "unknown"]

_MAX_COMPARED = 1_000_000_000
"""Pairs of units up to which the shortest edit script is computed, in an eighth of a byte each."""
_WORDS = re.compile(r"\s*[^\W_]+|\s*[\W_]", re.DOTALL)
_SHOWN = 40
"""Characters of the text at a place that are shown."""
_LISTED = 4
"""Texts and parts that a sentence names."""
WORTH_SHOWING = 16
"""With fewer tokens, no advice is given: the end of a chat turn has as many."""
_CHANGING = ("user", "history", "template", BEGUN, "said", "result", "note", "asked", "attempt", "repair")
"""Parts that are expected to change from one run to the next, or that belong to the chat template."""


@dataclass(frozen=True)
class ChangedPiece:
    """A stretch of text in both prompts or in one only; `start` is its character there (for `same`: in the second).

    `tokens` is None if the prompts' tokens are not known.
    """

    kind: Kind
    text: str
    start: int
    tokens: int | None


@dataclass(frozen=True)
class Changes:
    """All pieces in order: without `added` ones they are the first prompt, without `removed` ones the second."""

    pieces: tuple[ChangedPiece, ...]

    def tokens(self, kind: Kind) -> int | None:
        """The tokens of a kind of piece; None if tokens are not known."""
        if any(piece.tokens is None for piece in self.pieces):
            return None
        return sum(piece.tokens or 0 for piece in self.pieces if piece.kind == kind)

    @property
    def is_same(self) -> bool:
        return all(piece.kind == "same" for piece in self.pieces)


@dataclass(frozen=True)
class CacheLoss:
    """The place from which a prompt was evaluated again: from `token` on, `again` tokens in `ms`.

    `char` is the beginning of that token, `before` and `after` are the text around it, `part` its part of the prompt;
    None and empty if tokens are not known. `why` compares with the prompt read before: they differ from there on
    (`changed`), the cache contained all it could (`kept`) or was `restored` from disk, or it contained `less` or `more`
    than the two have in common. `unchanged` is the number of tokens read again that were also in that prompt; None if
    that is not known.
    """

    token: int
    again: int
    ms: float | None
    char: int | None
    before: str
    after: str
    part: PromptPart | None
    why: Why
    common: int | None
    unchanged: int | None


def prompt_changes(before: PromptRendered, after: PromptRendered) -> Changes:
    """The edits that turn the first prompt into the second."""
    counted = bool(before.lengths or not before.text) and bool(after.lengths or not after.text)
    one, other = _units(before, counted), _units(after, counted)
    begin = common_length(one, other)
    end = common_length(one[begin:][::-1], other[begin:][::-1])
    steps: list[tuple[Kind, str]] = [("same", text) for text in one[:begin]]
    steps += _edits(one[begin : len(one) - end], other[begin : len(other) - end])
    steps += [("same", text) for text in one[len(one) - end :]]
    return Changes(tuple(_pieces(steps, counted)))


def cache_loss(
    prompt: PromptRendered,
    evaluated: PromptEvaluated | None,
    before: PromptRendered | None,
    *,
    first: bool = False,
) -> CacheLoss | None:
    """The cache loss of a run's prompt; `before` is the prompt that the model read last, None if it is not known.

    `first`: the model had read none. Returns None if the tokens were not counted.
    """
    if not prompt.tokens:
        return None
    again = prompt.tokens - prompt.cached
    ends = list(accumulate(prompt.lengths))
    known = bool(ends) and prompt.cached < len(ends)
    char = (ends[prompt.cached - 1] if prompt.cached else 0) if known else None
    common = None if before is None else in_common(before, prompt)
    return CacheLoss(
        token=prompt.cached,
        again=again,
        ms=evaluated.ms if evaluated is not None and evaluated.done == evaluated.total > 0 else None,
        char=char,
        before="" if char is None else prompt.text[max(0, char - _SHOWN) : char],
        after="" if char is None else prompt.text[char : char + _SHOWN],
        part=None if char is None else next((p for p in prompt.parts if p.start <= char < p.end), None),
        why=_why(prompt, common, first=first),
        common=common,
        unchanged=_unchanged(before, prompt),
    )


def in_common(before: PromptRendered, after: PromptRendered) -> int | None:
    """The number of tokens in their common prefix; None if tokens are not known."""
    if not before.lengths or not after.lengths:
        return None
    return common_length(_units(before, True), _units(after, True))


def control_words(prompt: PromptRendered) -> tuple[str, ...]:
    """Sentences on the texts of users, tools and results that read like control tokens."""
    words = []
    for plain in (False, True):
        found = [each for each in prompt.controls if each.plain is plain]
        if not found:
            continue
        texts = dict.fromkeys(prompt.text[each.start : each.end] for each in found)
        parts = dict.fromkeys(part_words(part, prompt.text) for part in prompt.parts if _has_any(part, found))
        are = "is encoded as text" if plain else "is a control token for the model, as in the chat template"
        words.append(f"{listed(list(texts), _LISTED)} in {listed(list(parts), _LISTED)} {are}.")
    return tuple(words)


def _has_any(part: PromptPart, controls: Sequence[ControlText]) -> bool:
    return any(part.start <= each.start < part.end for each in controls)


def advice(prompt: PromptRendered, loss: CacheLoss | None = None) -> tuple[str, ...]:
    """Advice that makes the next runs cheaper, as far as this prompt and its evaluation prove it."""
    found = [*control_words(prompt)]
    behind = _tokens_behind_user(prompt)
    if behind >= WORTH_SHOWING:
        found.append(
            f"The user's text comes before the parts that stay the same: every change of it re-reads {behind:,} tokens "
            "of system message, tools and examples behind it."
        )
    if loss is not None and loss.why == "changed" and loss.unchanged and loss.part is not None:
        fixed = loss.part.name not in _CHANGING
        if fixed and loss.unchanged >= WORTH_SHOWING:
            found.append(
                f"A change in {part_words(loss.part, prompt.text)} made {loss.unchanged:,} tokens behind it be read "
                "again that had not changed. Parts that change often cost least near the end of the prompt."
            )
    return tuple(found)


_WHY: dict[Why, str] = {
    "first": "No prompt was read before it.",
    "changed": "There it differs from the previous prompt.",
    "less": "The previous prompt shares a longer prefix, but not all of it was in the cache.",
    "restored": "The tokens before it were restored from disk, where an earlier process had stored them.",
    "more": "The cache contained more than the prefix shared with the previous prompt ({common:,}).",
    "unknown": "",
    "kept": "",
}


def loss_words(loss: CacheLoss) -> str:
    """The place where the cache ended, the reason and the cost, in a sentence or two."""
    if loss.why == "kept":
        return f"All of it was cached; the last token is always evaluated again{_ms(loss)}."
    if loss.token == 0:
        sentence = f"Nothing was in the cache: all {loss.again:,} tokens were read{_ms(loss)}."
        why = {
            "first": _WHY["first"],
            "less": "The previous prompt begins alike, but it was not in the cache.",
        }
        return f"{sentence} {why.get(loss.why, '')}".rstrip()
    place = f"From token {loss.token:,} on: {loss.again:,} tokens were read{_ms(loss)}."
    if loss.why in ("less", "more") and loss.common is not None:
        return f"{place} {_WHY[loss.why].format(common=loss.common)}"
    return f"{place} {_WHY[loss.why]}".rstrip()


def _ms(loss: CacheLoss) -> str:
    return "" if loss.ms is None else f" in {duration_ms(loss.ms)}"


def _why(prompt: PromptRendered, common: int | None, *, first: bool) -> Why:
    if prompt.restored:
        return "restored"
    if prompt.cached >= prompt.tokens - 1:
        return "kept"
    if first and prompt.cached == 0:
        return "first"
    if common is None:
        return "unknown"
    if common == prompt.cached:
        return "changed"
    return "less" if prompt.cached < common else "more"


def _unchanged(before: PromptRendered | None, prompt: PromptRendered) -> int | None:
    """The number of tokens read again although the previous prompt also had them."""
    if before is None or not before.lengths or not prompt.lengths:
        return None
    number = count = 0
    for piece in prompt_changes(before, prompt).pieces:
        if piece.kind != "removed":
            after = number + (piece.tokens or 0)
            if piece.kind == "same":
                count += max(0, after - max(number, prompt.cached))
            number = after
    return count


def _tokens_behind_user(prompt: PromptRendered) -> int:
    """The tokens after the beginning of the user's text that are not expected to change."""
    at = next((part.start for part in prompt.parts if part.name == "user"), None)
    if at is None:
        return 0
    return sum(part.tokens for part in prompt.parts if part.start > at and part.name not in _CHANGING)


def _units(prompt: PromptRendered, counted: bool) -> list[str]:
    """The characters that each of the prompt's tokens completes, or its words."""
    if not counted:
        return _WORDS.findall(prompt.text)
    ends = list(accumulate(prompt.lengths))
    return [prompt.text[end - length : end] for end, length in zip(ends, prompt.lengths)]


def _edits(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """The shortest edit script."""
    if len(one) * len(other) > _MAX_COMPARED:
        yield from (("removed", text) for text in one)
        yield from (("added", text) for text in other)
        return
    from rapidfuzz.distance import Indel  # 1 MB, which a first prompt does without

    for block in Indel.opcodes(one, other):
        old, new = one[block.src_start : block.src_end], other[block.dest_start : block.dest_end]
        if block.tag == "equal":
            yield from (("same", text) for text in old)
        else:
            yield from (("removed", text) for text in old)
            yield from (("added", text) for text in new)


def _pieces(steps: Sequence[tuple[Kind, str]], counted: bool) -> Iterator[ChangedPiece]:
    """Adjacent steps of one kind as one piece; between two common stretches, removals come first."""
    first = second = 0
    for same, group in groupby(steps, key=lambda step: step[0] == "same"):
        inside = list(group)
        kinds: tuple[Kind, ...] = ("same",) if same else ("removed", "added")
        for kind in kinds:
            texts = [text for each, text in inside if each == kind]
            if not texts:
                continue
            text = "".join(texts)
            yield ChangedPiece(
                kind, text, first if kind == "removed" else second, len(texts) if counted else None
            )
            first += len(text) if kind != "added" else 0
            second += len(text) if kind != "removed" else 0
