"""One generation in the model's process: the constraint, the prompt's evaluation, then the steps."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from glyphscope.decoding import Constraint, Decoder, TokenMask
from glyphscope.errors import ContextOverflow, GlyphscopeError, GrammarError
from glyphscope.events import TokenStep
from glyphscope.models.gbnf import GbnfConstraint
from glyphscope.models.interface import ConstraintMade, GenerateRequest, PromptProgress, PromptReady
from glyphscope.models.native import CHUNK
from glyphscope.models.session import Session


class Generation:
    """Everything that can be refused is refused when it is made: a grammar that cannot be built, a prompt too long."""

    def __init__(self, session: Session, request: GenerateRequest) -> None:
        """Raises GrammarError and ContextOverflow."""
        engine = self._engine = session.engine
        self._prompt = engine.tokenize(request.prompt, begin=True) or engine.ends[:1]
        if len(self._prompt) + 1 > engine.context:
            raise ContextOverflow(len(self._prompt), engine.context)
        constraint, made = _constraint(session, request)
        self._made: ConstraintMade | None = made
        self._decoder = Decoder(
            engine,
            self._prompt,
            constraint=constraint,
            sampling=request.sampling,
            max_tokens=request.max_tokens,
            alternatives=request.alternatives,
            evidence=request.evidence,
        )
        self.ready = PromptReady(len(self._prompt), 0, 0.0, self._made)

    @property
    def ended(self) -> bool:
        """There is no further step."""
        return self._decoder.ended

    def evaluate_prompt(self) -> Iterator[PromptProgress]:
        """Evaluates what the context does not hold yet, except the last token: that one belongs to the first step.

        The first progress comes before any evaluation: its `done` is what was cached.
        """
        start = time.perf_counter()
        total = len(self._prompt)
        cached = done = self._engine.keep(self._prompt)
        yield PromptProgress(done, total, 0.0)
        while done < total - 1:
            chunk = self._prompt[done : min(done + CHUNK, total - 1)]
            self._engine.evaluate(chunk)
            done += len(chunk)
            yield PromptProgress(done, total, (time.perf_counter() - start) * 1000)
        self.ready = PromptReady(total, cached, (time.perf_counter() - start) * 1000, self._made)

    def look_ahead(self) -> None:
        """Evaluates what the next step needs. What fails is told by that step."""
        with contextlib.suppress(GlyphscopeError):
            self._decoder.evaluate()

    def step(self) -> tuple[TokenStep, ...]:
        """The next step's tokens; empty at the end."""
        return self._decoder.step()


def _constraint(
    session: Session, request: GenerateRequest
) -> tuple[Constraint, ConstraintMade] | tuple[None, None]:
    if request.constraint == "off":
        return None, None
    if not request.grammar:
        raise GrammarError(
            f"The constraint {request.constraint} needs a grammar.",
            hint="Give one, or turn the constraint off.",
        )
    key = session.constraint_key(request.constraint, request.grammar)
    if request.constraint == "gbnf":
        start = time.perf_counter()
        sampler = GbnfConstraint(session.engine, request.grammar)  # llama.cpp reads it anew each time
        return sampler, ConstraintMade(key, False, (time.perf_counter() - start) * 1000)
    tokenizer = session.mask_tokenizer  # made once for each model; no grammar's time is to hold it
    mask = TokenMask(tokenizer, request.grammar)
    return mask, ConstraintMade(key, mask.hit, mask.compile_ms)
