"""One generation in the model's process: the constraint, the prompt's evaluation, then the steps."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from glyphscope.decoding.budget import Budget
from glyphscope.decoding.loop import Decoder, ToEvaluate
from glyphscope.decoding.mask import Constraint, TokenMask
from glyphscope.decoding.response_prefix import PrefixToken, commit_prefix
from glyphscope.errors import ContextOverflow, GlyphscopeError, GrammarError
from glyphscope.events import EvidenceKind, TokenStep
from glyphscope.models.gbnf import GbnfConstraint, LazyGbnfConstraint
from glyphscope.models.interface import ConstraintMade, GenerateRequest, PromptProgress, PromptReady
from glyphscope.models.llama_engine import LlamaEngine
from glyphscope.models.llama_sequence import Part
from glyphscope.models.response_prefix import place_prefix
from glyphscope.models.session import Session

TOO_FEW = (
    "The shortest answer that the grammar allows takes {:,} tokens of this model, and {} left for it: "
    "the answer will be cut off."
)


class Generation:
    """A generation in one of the context's sequences. Making it rejects everything that can be rejected: an invalid
    grammar, a prompt that is too long, a prefix with tokens that the constraint excludes.
    """

    def __init__(self, session: Session, request: GenerateRequest, number: int = 0) -> None:
        """Raises GrammarError, ContextOverflow and ModelError."""
        engine = self.engine = session.engine
        self.sequence = engine.sequences[number]
        prompt = engine.tokenize(request.prompt, begin=True) or engine.ends[:1]
        _check_room(engine, len(prompt) + sum(one.id >= 0 for one in request.written))
        placed = place_prefix(request.written, engine)
        _check_room(engine, len(prompt) + len(placed.tokens))
        constraint, made = _constraint(session, request)
        self._made: ConstraintMade | None = made
        self._note = placed.note
        written = commit_prefix(placed.tokens, constraint, engine.pieces, engine.raise_if_interrupted)
        figures_from = _figures_from(written, request.evidence)
        budget = _budget(session, request, constraint)
        if budget is not None:
            ids = [one.id for one in written]
            room = min(request.max_tokens, engine.context - len(prompt) - len(ids) + 1)
            self._note = f"{self._note} {_too_few(budget.least(ids, room), room)}".strip()
        self._before = [*prompt, *(one.id for one in written[:figures_from])]
        self.decoder = Decoder(
            self.sequence,
            prompt,
            constraint=constraint,
            sampling=request.sampling,
            max_tokens=request.max_tokens,
            alternatives=request.alternatives,
            evidence=request.evidence,
            written=written,
            figures_from=figures_from,
            budget=budget,
        )
        self._repeatable = request.repeatable
        self._prompts = session.prompts
        self.ready = PromptReady(len(self._before), 0, 0.0, self._made)

    @property
    def ended(self) -> bool:
        """Whether there is no further step."""
        return self.decoder.ended

    def evaluate_prompt(self, *, alone: bool = True) -> Iterator[PromptProgress]:
        """Evaluate the tokens that are not in the context yet, except the last one, which belongs to the first step.

        Prefix tokens that need no figures are evaluated and counted with the prompt.

        The first progress is yielded before any evaluation; its `done` is the number cached in memory or on disk.
        `alone`: no other sequence is in use.
        """
        start = time.perf_counter()
        total = len(self._before)
        sequence = self.sequence
        sequence.keep(self._before, repeatable=self._repeatable, alone=alone)
        restored = 0
        if (
            self._prompts is not None and alone
        ):  # a restored prompt shares no cells, which would change digits
            restored = self._prompts.restore(sequence, self._before)
        cached = done = len(sequence.tokens)
        read = time.perf_counter()
        yield PromptProgress(done, total, (read - start) * 1000 if restored else 0.0, self._note, restored)
        for end in self.engine.batch_ends(self._before[:-1]):
            if end <= done:
                continue
            sequence.evaluate(self._before[done:end])
            done = end
            now = time.perf_counter()
            if self._prompts is not None:
                self._prompts.ms_per_token = (now - read) * 1000 / (done - cached)
            yield PromptProgress(done, total, (now - start) * 1000)
        self.ready = PromptReady(total, cached, (time.perf_counter() - start) * 1000, self._made)

    def step(self) -> tuple[TokenStep, ...]:
        """The next step's tokens; empty at the end."""
        return self.decoder.step()


def evaluate_together(generations: Sequence[Generation]) -> None:
    """Evaluate the tokens that the next step of each generation needs, in as few batches as possible.

    Raises Interrupted. Other errors are raised by the step itself, which then evaluates alone.
    """
    needed: list[tuple[Generation, ToEvaluate]] = []
    for generation in generations:
        with contextlib.suppress(GlyphscopeError):
            if (tokens := generation.decoder.to_evaluate()) is not None:
                needed.append((generation, tokens))
    if not needed:
        return
    start = time.perf_counter()
    with contextlib.suppress(GlyphscopeError):
        rows = needed[0][0].engine.decode([Part(one.sequence, *tokens) for one, tokens in needed])
        ms = (time.perf_counter() - start) * 1000
        for (generation, _), found in zip(needed, rows):
            generation.decoder.evaluated(found, ms)


def _check_room(engine: LlamaEngine, tokens: int) -> None:
    """Raise ContextOverflow unless the tokens and one more fit the context."""
    if tokens + 1 > engine.context:
        raise ContextOverflow(tokens, engine.context)


def _figures_from(written: list[PrefixToken], evidence: EvidenceKind) -> int:
    """The first prefix token whose figures are requested. The original run has reported the figures of kept tokens:
    `chosen` leaves them out, so that a branch costs only the evaluation of its new tokens.
    """
    if evidence == "all":
        return 0
    if evidence == "none":
        return len(written)
    return next((n for n, one in enumerate(written) if one.origin != "kept"), len(written))


def _budget(session: Session, request: GenerateRequest, constraint: Constraint | None) -> Budget | None:
    """The budget of a mask; llama.cpp's own sampler has none."""
    if request.constraint != "mask" or constraint is None or not request.rules:
        return None
    return Budget(request.rules, request.near, session.spelling, constraint.takes, request.reasoning_budget)


def _too_few(least: int, room: int) -> str:
    """The message if no text of the grammar fits the limit; empty if one does."""
    if not least:
        return ""
    return TOO_FEW.format(least, "1 token is" if room == 1 else f"{room:,} tokens are")


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
        # llama.cpp reads it again each time
        sampler = (
            LazyGbnfConstraint(session.engine, request.grammar, request.triggers)
            if request.triggers
            else GbnfConstraint(session.engine, request.grammar)
        )
        return sampler, ConstraintMade(key, False, (time.perf_counter() - start) * 1000)
    tokenizer = session.mask_tokenizer  # made once per model, so not part of a grammar's time
    mask = TokenMask(tokenizer, request.grammar)
    return mask, ConstraintMade(key, mask.hit, mask.compile_ms)
