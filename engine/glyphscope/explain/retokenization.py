"""Token boundaries: a run's tokens beside the model's own tokenization of the same text.

Forced and typed text may be tokenized unlike any text the model was trained on. The model's tokenizer splits the whole
answer as it follows the prompt, and the boundaries are compared by bytes. The effect on the model's probabilities is
not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from glyphscope.base.errors import ModelError
from glyphscope.events import TokenStep
from glyphscope.models.interface import Model
from glyphscope.models.response_prefix import ModelTokenizer, tokenize_after

Cause: TypeAlias = Literal["grammar", "written", "model"]
"""The origin of the first differing token: forced by the grammar, written by a person, or sampled."""
_CONTEXT = 4_096
"""Bytes of the prompt that are tokenized with the answer: more than any token has."""


@dataclass(frozen=True)
class BoundaryDiff:
    """The run's tokens `first` to `last` (exclusive), with the texts `run`, for which the model's own tokens are `own`.

    `masked`: the mask excluded the model's own first token there; None if the record does not have it.
    """

    first: int
    last: int
    run: tuple[str, ...]
    own: tuple[str, ...]
    cause: Cause
    masked: bool | None = None

    @property
    def more(self) -> int:
        """The number of tokens that the run has more than the model's own tokenization; negative: fewer."""
        return len(self.run) - len(self.own)


@dataclass(frozen=True)
class TokenBoundaries:
    """The run's number of `tokens`, the model's `own` number for the same text, and the places where they differ.

    `unknown` is the reason why they could not be compared; empty if they were.
    """

    tokens: int = 0
    own: int = 0
    differences: tuple[BoundaryDiff, ...] = ()
    unknown: str = ""

    @property
    def canonical(self) -> bool | None:
        """Whether the text is in the model's own tokens; None if that is unknown."""
        return None if self.unknown else not self.differences

    def at(self, token: int) -> BoundaryDiff | None:
        """The difference that the run's token is part of, if any."""
        return next((one for one in self.differences if one.first <= token < one.last), None)


def boundaries_of(prompt: str, steps: Sequence[TokenStep], model: Model | None) -> TokenBoundaries:
    """Compare the tokens of an answer that follows `prompt`; `model` is the one that wrote it, None if it is not open.

    Never raises: `unknown` has the reason. End tokens, which have no text, are left out.
    """
    steps = [step for step in steps if not step.end]
    if not steps:
        return TokenBoundaries(unknown="there are no tokens")
    if any(step.id < 0 for step in steps):
        return TokenBoundaries(unknown="the endpoint does not report its tokens")
    if model is None:
        return TokenBoundaries(unknown="the model that wrote it is not open")
    data = b"".join(step.data for step in steps)
    try:
        vocabulary = model.vocabulary()
        if not vocabulary.tokens:
            return TokenBoundaries(unknown="this model has no vocabulary")
        text = data.decode()
        if name := next((name for name in vocabulary.names if name and name in text), ""):
            return TokenBoundaries(unknown=f"the text spells the special token {name}")
        before = prompt.encode("utf-8", "replace")[-_CONTEXT:]
        own = tokenize_after(before, data, ModelTokenizer(model, vocabulary.tokens))
    except UnicodeDecodeError:
        return TokenBoundaries(unknown="the text ends within a character, or is not text")
    except ModelError as error:
        return TokenBoundaries(unknown=error.message)
    return compare_tokens(steps, [(token, vocabulary.tokens[token]) for token in own])


def compare_tokens(steps: Sequence[TokenStep], own: Sequence[tuple[int, bytes]]) -> TokenBoundaries:
    """The places between two common boundaries where the tokens differ; `own` are (token id, its bytes)."""
    found: list[BoundaryDiff] = []
    i = j = 0
    while i < len(steps) and j < len(own):
        if steps[i].id == own[j][0]:
            i, j = i + 1, j + 1
            continue
        first, second = i, j
        mine, theirs = len(steps[i].data), len(own[j][1])
        i, j = i + 1, j + 1
        while mine != theirs:
            if mine < theirs and i < len(steps):
                mine, i = mine + len(steps[i].data), i + 1
            elif theirs < mine and j < len(own):
                theirs, j = theirs + len(own[j][1]), j + 1
            else:
                break
        found.append(_difference(steps[first:i], own[second:j]))
    if i < len(steps) or j < len(own):
        found.append(_difference(steps[i:] or steps[-1:], own[j:]))
    return TokenBoundaries(len(steps), len(own), tuple(found))


def _difference(steps: Sequence[TokenStep], own: Sequence[tuple[int, bytes]]) -> BoundaryDiff:
    differing = next((step for step, other in zip(steps, own) if step.id != other[0]), steps[0])
    cause: Cause = "written" if differing.origin == "written" else "grammar" if differing.forced else "model"
    preferred = next((each for each in differing.alternatives if own and each.id == own[0][0]), None)
    return BoundaryDiff(
        first=steps[0].index,
        last=steps[-1].index + 1,
        run=tuple(step.data.decode(errors="replace") for step in steps),
        own=tuple(data.decode(errors="replace") for _, data in own),
        cause=cause,
        masked=None if preferred is None or preferred.allowed is None else not preferred.allowed,
    )


def boundary_words(boundaries: TokenBoundaries) -> str:
    """The comparison in one sentence."""
    if boundaries.unknown:
        return f"Token boundaries are unknown: {boundaries.unknown}."
    if not boundaries.differences:
        if boundaries.tokens == 1:
            return "The text is one token, as in the model's own tokenization."
        return f"All {boundaries.tokens:,} tokens are as in the model's own tokenization."
    count = len(boundaries.differences)
    places = "1 place" if count == 1 else f"{count} places"
    more = boundaries.tokens - boundaries.own
    cost = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
    return (
        f"At {places} the text is not in the model's own tokens: {boundaries.tokens:,} tokens, {cost} the model itself "
        "would use. The effect on its probabilities was not measured."
    )


def boundary_diff_words(one: BoundaryDiff) -> str:
    """`[1][0] (forced by the grammar); the model's own tokenization is [10]`."""
    run = " ".join(_seen(text) for text in one.run)
    own = " ".join(_seen(text) for text in one.own) or "nothing"
    cause = {"grammar": "forced by the grammar", "written": "typed", "model": "sampled by the model"}[
        one.cause
    ]
    masked = ", whose own token the mask excluded" if one.masked else ""
    return f"{run} ({cause}{masked}); the model's own tokenization is {own}"


def _seen(text: str) -> str:
    return "[" + text.replace(" ", "·").replace("\n", "⏎").replace("\t", "⇥") + "]"
