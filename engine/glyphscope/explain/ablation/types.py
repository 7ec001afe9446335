"""The parts of a prompt that can be left out, and the scores of what was written without each of them.

A score is a sum of natural logarithms over the tokens of a choice, each given the tokens written before it. `raw` is
the model's own; `masked` is that among the tokens which the run's constraint allows, before any sampler. A run without
a constraint has only the raw one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from glyphscope.events import ConstraintKind, ModelInfo

OmissionKind: TypeAlias = Literal["tool", "description", "example", "message", "sentence"]
OMISSION_KINDS: tuple[OmissionKind, ...] = get_args(OmissionKind)
ChoiceKind: TypeAlias = Literal["answer", "tool", "field", "token"]
NOTHING = 0.05
"""A smaller change of a log-probability is called none: the batches of an evaluation alone change the last digits of a
quantised model's logits by about a third of this.
"""


@dataclass(frozen=True)
class Omission:
    """A part of the prompt that is left out of the request, before its templates are rendered.

    `of` is as in `PromptPart`: a JSON Pointer that begins with the tool, the template's line, or the message; empty for
    the user's. `spans` are its characters in the rendered prompt, start and end (exclusive); empty if the chat template
    writes it in a form in which it is not found.
    """

    kind: OmissionKind
    of: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class WrittenChoice:
    """A part of the answer that is scored again: the tokens `first` to `last` (exclusive) of the answer. `path` is a
    field's, `name` the tool's.
    """

    kind: ChoiceKind
    first: int
    last: int
    text: str
    path: str = ""
    name: str = ""


@dataclass(frozen=True)
class OtherToken:
    """The most probable other token at a place, with the names of the tools that it can begin."""

    text: str
    raw: float
    masked: float | None = None
    tools: tuple[str, ...] = ()

    @property
    def probability(self) -> float:
        """Under the run's constraint, if it has one."""
        return self.raw if self.masked is None else self.masked


@dataclass(frozen=True)
class TokenScore:
    """The scores of the token with that index. `other` is None if none of the most probable tokens is allowed."""

    index: int
    raw: float
    masked: float | None
    other: OtherToken | None

    @property
    def logprob(self) -> float:
        """Under the run's constraint, if it has one."""
        return self.raw if self.masked is None else self.masked


@dataclass(frozen=True)
class ChoiceScore:
    """The scores of a choice's tokens with one prompt."""

    tokens: tuple[TokenScore, ...]

    @property
    def raw(self) -> float:
        """The model's own log-probability of the choice."""
        return sum(token.raw for token in self.tokens)

    @property
    def masked(self) -> float | None:
        """The log-probability of the choice among what the run's constraint allows; None without a constraint."""
        found = [token.masked for token in self.tokens if token.masked is not None]
        return sum(found) if len(found) == len(self.tokens) else None

    @property
    def logprob(self) -> float:
        """Under the run's constraint, if it has one."""
        return self.raw if (masked := self.masked) is None else masked

    @property
    def probability(self) -> float:
        return math.exp(min(self.logprob, 0.0))

    def decision(self, base: ChoiceScore | None = None) -> TokenScore:
        """The token that decides: the one that is less probable than in `base` by most, or the least probable one."""
        before = {token.index: token.logprob for token in base.tokens} if base is not None else {}
        return min(self.tokens, key=lambda token: token.logprob - before.get(token.index, 0.0))


@dataclass(frozen=True)
class OmissionEffect:
    """The score without a part; None if it was not computed, for the reason `problem`, or because the budget or the
    user ended it before. `estimate` is the score with the whole prompt, in which the last message and the answer do not
    see the part, while the text between has read it. `tokens` is the length of the prompt without it, 0 if it cannot be
    rendered.
    """

    omission: Omission
    score: ChoiceScore | None = None
    estimate: ChoiceScore | None = None
    tokens: int = 0
    problem: str = ""

    @property
    def known(self) -> ChoiceScore | None:
        """The score, or without one the estimate."""
        return self.score if self.score is not None else self.estimate


@dataclass(frozen=True)
class PromptAblation:
    """The choice with the whole prompt (`base`) and without each of its parts, in the order of the prompt.

    `prompt` is the rendered text of so many `tokens`; `evaluated` tokens were evaluated in `ms` for the scores. `note`
    reports where the prompt is not that of the record.
    """

    run: str
    model: ModelInfo
    constraint: ConstraintKind
    choice: WrittenChoice
    prompt: str
    tokens: int
    base: ChoiceScore
    effects: tuple[OmissionEffect, ...]
    evaluated: int = 0
    ms: float = 0.0
    note: str = ""

    @property
    def complete(self) -> bool:
        """Whether each part has a score or a problem."""
        return all(effect.score is not None or effect.problem for effect in self.effects)

    @property
    def estimated(self) -> bool:
        """Whether each part has at least an estimate, or a problem."""
        return all(effect.known is not None or effect.problem for effect in self.effects)

    @property
    def is_forced(self) -> bool:
        """Whether the constraint left no choice: each token was the only one allowed, whatever the prompt is."""
        return all(token.masked == 0.0 and token.other is None for token in self.base.tokens)

    def change(self, effect: OmissionEffect) -> float | None:
        """The change of the log-probability without that part; raw where the constraint left no choice. None if it is
        not known.
        """
        if (known := effect.known) is None:
            return None
        if self.is_forced:
            return known.raw - self.base.raw
        return known.logprob - self.base.logprob

    @property
    def ranked(self) -> tuple[OmissionEffect, ...]:
        """The effects with a score or an estimate, from the largest fall to the largest rise."""
        known = [effect for effect in self.effects if effect.known is not None]
        return tuple(sorted(known, key=lambda effect: self.change(effect) or 0.0))
