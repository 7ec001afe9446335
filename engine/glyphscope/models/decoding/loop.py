"""The decoding loop: one evaluation per step of forced tokens and one chosen token, with their evidence.

The evidence in one row of logits: for the chosen token and for its alternatives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from glyphscope.base.errors import GrammarError, ModelError
from glyphscope.events import Alternative, EvidenceKind, Narrowed, Origin, Sampling, TokenStep
from glyphscope.models.decoding.budget import TokenBudget
from glyphscope.models.decoding.mask import Constraint
from glyphscope.models.decoding.response_prefix import PrefixToken
from glyphscope.models.decoding.rows import Allowed, Logits, top, weigh
from glyphscope.models.decoding.sampler import Draw, SamplerState
from glyphscope.models.decoding.text import shown, text_decoder


def best_token(logits: Logits) -> int:
    """The first token with the largest logit. Raises ModelError for logits that are not numbers, as with damaged
    weights.
    """
    best = int(logits.argmax())  # the first NaN, if there is one
    if not math.isfinite(logits[best]):
        raise ModelError(
            "The model's output is not a number.", hint="Its file may be damaged: load it again."
        )
    return best


_EXACT = 16
"""The largest logits whose weights are computed exactly: there are that many alternatives at most in usual runs."""


class Evidence:
    """The raw distribution of one step: natural logarithms, probabilities, and the entropy in bits.

    `logits` have the shape (vocabulary,).
    """

    def __init__(self, logits: Logits, best: int | None = None, allowed: Allowed | None = None) -> None:
        """`best` is the result of `best_token`, if known. Raises the same ModelError."""
        self._logits, self._allowed = logits, allowed
        self._best = logits[best_token(logits) if best is None else best]
        self._largest = top(logits, _EXACT)
        self._total, self._mean, self._feasible = weigh(logits, self._largest, allowed)
        self._log_total = math.log(self._total)

    def logprob(self, token: int) -> float:
        """The token's raw log-probability."""
        return float(self._logits[token]) - float(self._best) - self._log_total

    def rank(self, token: int) -> int:
        """The number of tokens with a larger logit."""
        logit = self._logits[token]
        return 0 if logit == self._best else int(np.count_nonzero(self._logits > logit))

    @property
    def entropy(self) -> float:
        """The entropy of the raw distribution, in bits."""
        return max(0.0, (self._log_total - self._mean / self._total) / math.log(2))

    @property
    def feasible(self) -> float:
        """The share of raw probability on allowed tokens."""
        return min(1.0, self._feasible / self._total)

    def alternatives(self, count: int, draw: Draw, pieces: list[bytes]) -> tuple[Alternative, ...]:
        """The `count` most probable tokens and the chosen one, masked ones included; empty for a count of 0."""
        if count <= 0:
            return ()
        ids = (self._largest[:count] if count <= _EXACT else top(self._logits, count)).tolist()
        if draw.id not in ids:
            ids.append(draw.id)
        best, total = float(self._best), self._total
        raw = [math.exp(logit - best) / total for logit in self._logits[ids].tolist()]
        final = draw.probability_of(ids)
        allowed = self._allowed
        free = [allowed is None or token in allowed for token in ids]
        removed = [by if ok and share else "" for by, ok, share in zip(draw.removed_by(ids), free, raw)]
        data = [pieces[token] for token in ids]
        return tuple(map(Alternative, ids, data, map(shown, data), raw, final, free, removed))


_BATCH = 64
"""Tokens of the prefix that are evaluated together: all of their logits are in memory until they are reported."""


class Backend(Protocol):
    """An engine that evaluates tokens."""

    pieces: list[bytes]
    """The bytes of each token of the vocabulary, special ones as they are written."""

    @property
    def room(self) -> int:
        """The number of tokens for which there is still room in the context."""

    def decode(self, tokens: Sequence[int], outputs: int) -> list[Logits]:
        """Evaluate the tokens. Returns the logits after the last `outputs`, valid until the next evaluation."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""


class ToEvaluate(NamedTuple):
    """Tokens to evaluate, and of how many of the last of them the logits are needed."""

    tokens: list[int]
    outputs: int


@dataclass
class _Next:
    """The parts of a step: the forced tokens, and the logits after them and before them."""

    forced: list[int]
    rows: list[Logits] = field(default_factory=list)
    decode_ms: float = 0.0
    evaluated: bool = False


class Decoder:
    """Decodes one generation, one step at a time.

    `prompt` is in the backend's context except for its last token: that one, and later the token chosen last, is
    evaluated in one batch with the tokens forced after it. Logits are computed for every position in the batch as
    evidence, which costs a quarter of a forced token's time; `evidence` selects the tokens.

    The prefix `written` is a separate first step that does not count towards `max_tokens`. The constraint has already
    read it. Its tokens from `figures_from` on are evaluated for their evidence; those before are in the context
    like the prompt, except for the last of them. With a prefix whose figures are evaluated, so many of the prompt's
    last tokens may be `unread`, and are evaluated in its first batch.

    With a `budget`, near the token limit, the constraint is narrowed to text that can still be completed.
    """

    def __init__(
        self,
        backend: Backend,
        prompt: Sequence[int],
        *,
        constraint: Constraint | None,
        sampling: Sampling,
        max_tokens: int,
        alternatives: int,
        evidence: EvidenceKind = "all",
        written: Sequence[PrefixToken] = (),
        figures_from: int = 0,
        budget: TokenBudget | None = None,
        unread: int = 1,
    ) -> None:
        self._backend = backend
        self._unread = unread
        self._constraint = constraint
        self._budget = budget
        self._sampler = SamplerState(sampling, backend.pieces)
        self._max_tokens = max_tokens + len(written)
        self._written = tuple(written)
        self._figures_from = figures_from
        self._alternatives = alternatives
        self._evidence = evidence
        self._tokens = list(prompt)
        self._first = len(self._tokens)
        self._index = 0
        self._text = text_decoder()
        self._ended = False
        self._next: _Next | None = None

    @property
    def ended(self) -> bool:
        """Whether generation has ended: by an end token, a complete text, or a full context."""
        return not self._written and self._next is None and (self._complete or self._backend.room < 1)

    @property
    def _complete(self) -> bool:
        """Whether the text is complete, regardless of the room left."""
        return self._ended or self._complete_with(())

    def _complete_with(self, forced: Sequence[int]) -> bool:
        """Whether the text is complete after these tokens, read by the constraint: then their logits are not needed."""
        stopped = self._constraint is not None and self._constraint.stopped
        return stopped or self._index + len(forced) >= self._max_tokens

    def evaluate(self) -> None:
        """Evaluate the tokens of the next step, unless already done: in advance, while the last one is being sent.

        Chooses no token. Raises ModelError; the next step raises it again.
        """
        if (needed := self.to_evaluate()) is not None:
            start = time.perf_counter()
            rows = self._backend.decode(*needed)
            self.evaluated(rows, (time.perf_counter() - start) * 1000)

    def to_evaluate(self) -> ToEvaluate | None:
        """The tokens of the next step that are not evaluated yet; None if there are none.

        Those of several decoders can be evaluated in one batch; `evaluated` takes the logits.
        """
        if self.ended or self._written:
            return None
        if self._next is None:
            self._next = _Next(self._next_forced())
        if self._next.evaluated:
            return None
        forced = self._next.forced
        if self._evidence != "all" and self._complete_with(forced):
            self._next.evaluated = True
            return None
        return ToEvaluate([self._tokens[-1], *forced], 1 + len(forced) if self._evidence == "all" else 1)

    def evaluated(self, rows: list[Logits], ms: float) -> None:
        """Take the logits of `to_evaluate`, which took so many milliseconds."""
        assert self._next is not None, "it has tokens to evaluate"
        self._next.rows, self._next.decode_ms, self._next.evaluated = rows, ms, True

    def step(self) -> tuple[TokenStep, ...]:
        """The forced tokens and one chosen token; empty at the end. Raises GrammarError and ModelError.

        The first step is the whole prefix and nothing else.
        """
        if self._written:
            return self._written_steps()
        self.evaluate()
        if self._next is None:
            return ()
        following, self._next = self._next, None
        rows: Sequence[Logits | None] = following.rows
        if self._evidence != "all":
            rows = [None] * len(following.forced)
        spent = following.decode_ms
        steps: list[TokenStep] = []
        for token, row in zip(following.forced, rows):
            forced = PrefixToken(token, "model", forced=True)
            steps.append(self._given_step(forced, row, decode_ms=0.0 if steps else spent))
        if not self._complete:
            steps.append(self._chosen_step(following.rows[-1], decode_ms=0.0 if steps else spent))
        return tuple(steps)

    def _written_steps(self) -> tuple[TokenStep, ...]:
        """The steps of the prefix. Its last token is evaluated in the next step's batch, as a chosen one is."""
        written, known = self._written, min(self._figures_from, len(self._written))
        steps = [self._given_step(one, None, 0.0) for one in written[:known]]
        for start in range(known, len(written), _BATCH):
            batch = written[start : start + _BATCH]
            began = time.perf_counter()
            rows = self._backend.decode(
                [*self._tokens[-self._unread :], *(one.id for one in batch[:-1])], len(batch)
            )
            self._unread = 1
            spent = (time.perf_counter() - began) * 1000
            for one, row in zip(batch, rows):
                steps.append(self._given_step(one, row, spent))
                spent = 0.0
        self._written = ()
        return tuple(steps)

    def _given_step(self, one: PrefixToken, row: Logits | None, decode_ms: float) -> TokenStep:
        """The step of a token that is not sampled: written, or forced by the constraint."""
        start = time.perf_counter()
        allowed = one.allowed(len(self._backend.pieces))
        if not one.forced:
            self._sampler.skip()
        draw = Draw(one.id, np.array([one.id]), np.ones(1))
        evidence = None
        if row is not None and (self._evidence == "all" or not one.forced):
            evidence = Evidence(row, allowed=allowed)
            if not one.forced:
                draw = self._sampler.put(one.id, row, allowed, self._tokens)
        step = self._step(
            draw, allowed, evidence, mask_ms=0.0, start=start, decode_ms=decode_ms, origin=one.origin
        )
        if row is None and not step.forced:
            step = msgspec.structs.replace(step, probability=None)
        return step

    def _next_forced(self) -> list[int]:
        if self._constraint is None:
            return []
        # the token before the forced ones is evaluated with them, and needs room in the context too
        fitting = min(self._max_tokens - self._index, self._backend.room - 1)
        tokens = self._constraint.forced()[:fitting]
        if self._budget is not None:
            left = min(self._max_tokens - self._index, self._backend.room)
            tokens = self._budget.fitting(self._tokens[self._first :], tokens, left)
        for token in tokens:
            self._constraint.commit(token)
        return tokens

    def _chosen_step(self, row: Logits, decode_ms: float) -> TokenStep:
        start = time.perf_counter()
        allowed: Allowed | None = None
        narrowed: Narrowed = ""
        if self._constraint is not None:
            allowed = self._constraint.allowed()
            if self._budget is not None:
                left = min(self._max_tokens - self._index, self._backend.room + 1)
                allowed, narrowed = self._budget.narrowed(self._tokens[self._first :], allowed, left)
            if not allowed.count:
                raise GrammarError(
                    "The constraint allows no token here.",
                    where="grammar",
                    hint="The grammar asks for text that this model's tokens cannot write.",
                )
        masked = time.perf_counter()
        best = best_token(row)  # before sampling, whether or not its figures are reported
        draw = self._sampler.draw(row, allowed, self._tokens, best)
        if self._constraint is not None:
            self._constraint.commit(draw.id)
        evidence = None if self._evidence == "none" else Evidence(row, best, allowed)
        step = self._step(
            draw, allowed, evidence, mask_ms=(masked - start) * 1000, start=masked, decode_ms=decode_ms
        )
        return msgspec.structs.replace(step, narrowed=narrowed) if narrowed else step

    def _step(
        self,
        draw: Draw,
        allowed: Allowed | None,
        evidence: Evidence | None,
        *,
        mask_ms: float,
        start: float,
        decode_ms: float,
        origin: Origin = "model",
    ) -> TokenStep:
        """The step of a token; `start` is the time when choosing it began."""
        raw = {} if evidence is None else self._raw(evidence, draw)
        count = len(self._backend.pieces) if allowed is None else allowed.count
        end = self._backend.is_end(draw.id)
        data = b"" if end else self._backend.pieces[draw.id]
        step = TokenStep(
            index=self._index,
            id=draw.id,
            data=data,
            text=self._text.decode(data, final=end),
            probability=draw.probability(draw.id),
            allowed=count,
            left=draw.left if count != 1 else (),
            forced=count == 1,
            end=end,
            origin=origin,
            mask_ms=mask_ms,
            sample_ms=(time.perf_counter() - start) * 1000,
            decode_ms=decode_ms,
            **raw,
        )
        self._index += 1
        self._tokens.append(draw.id)
        self._ended = end
        return step

    def _raw(self, evidence: Evidence, draw: Draw) -> dict[str, Any]:
        """The fields of a step that are computed from the model's own logits."""
        return {
            "logprob": evidence.logprob(draw.id),
            "rank": evidence.rank(draw.id),
            "feasible": evidence.feasible,
            "entropy": evidence.entropy,
            "alternatives": evidence.alternatives(self._alternatives, draw, self._backend.pieces),
        }
