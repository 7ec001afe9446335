"""The model's process: `python -m glyphscope.models.child`, frames in on stdin, frames out on stdout.

A `Generation` has the constraint, the prompt's evaluation, then the steps.

Two threads. One reads frames: it cancels, and answers quick requests such as `Tokenize`. The other loads and computes.
When stdin closes, because the parent closed it or died, the process ends, even in the middle of a computation.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import llama_cpp as llama

from glyphscope.base.errors import ContextOverflow, GlyphscopeError, GrammarError, ModelError
from glyphscope.base.lines import common_length
from glyphscope.events import TokenStep
from glyphscope.models import wire
from glyphscope.models.batch_sizes import TOKENS, BatchTimer, BatchTimes, OtherPrograms
from glyphscope.models.decoding.budget import TokenBudget
from glyphscope.models.decoding.loop import Decoder, ToEvaluate
from glyphscope.models.decoding.mask import Constraint, TokenMask
from glyphscope.models.decoding.response_prefix import PrefixToken, commit_prefix
from glyphscope.models.gbnf import GbnfConstraint, LazyGbnfConstraint
from glyphscope.models.interface import ConstraintMade, GenerateRequest, PromptProgress, PromptReady
from glyphscope.models.llama_engine import Interrupted, LlamaEngine
from glyphscope.models.llama_sequence import LlamaSequence, PromptPiece
from glyphscope.models.response_prefix import place_prefix
from glyphscope.models.session import Session
from glyphscope.processes.pipe import Pipe, SentError, parent_pipe

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
        prompt = engine.tokenize(request.prompt, begin=True, plain=request.plain) or engine.ends[:1]
        _check_room(engine, len(prompt) + sum(one.id >= 0 for one in request.written))
        placed = place_prefix(request.written, engine)
        _check_room(engine, len(prompt) + len(placed.tokens))
        constraint, made = _constraint(session, request)
        self._made: ConstraintMade | None = made
        self._note = placed.note
        written = commit_prefix(placed.tokens, constraint, engine.pieces, engine.raise_if_interrupted)
        figures_from = _figures_from(written, request)
        budget = _budget(session, request, constraint)
        if budget is not None:
            ids = [one.id for one in written]
            room = min(request.max_tokens, engine.context - len(prompt) - len(ids) + 1)
            self._note = f"{self._note} {_too_few(budget.least(ids, room), room)}".strip()
        self._before = [*prompt, *(one.id for one in written[:figures_from])]
        self._hidden, self._beside = request.hidden, self.sequence
        self._shared = _shared(self.sequence, engine, request, self._before, len(written) - figures_from)
        if self._shared is not None and engine.spare is not None:
            self.sequence = engine.spare
        self._unread = 1 if self._shared is None or not written else len(self._before) - self._shared
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
            unread=self._unread,
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
        if self._shared is not None:
            sequence.share(self._beside, self._shared, self._hidden)
        else:
            if self.engine.spare is not None:
                self.engine.spare.cut(0)
            sequence.keep(self._before, repeatable=self._repeatable, alone=alone)
        restored = 0
        if (
            self._prompts is not None and alone
        ):  # a restored prompt shares no cells, which would change digits
            restored = self._prompts.restore(sequence, self._before)
        cached = done = len(sequence.tokens)
        read = time.perf_counter()
        yield PromptProgress(done, total, (read - start) * 1000 if restored else 0.0, self._note, restored)
        for end in self.engine.batch_ends(self._before[: -self._unread]):
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
        rows = needed[0][0].engine.decode([PromptPiece(one.sequence, *tokens) for one, tokens in needed])
        ms = (time.perf_counter() - start) * 1000
        for (generation, _), found in zip(needed, rows):
            generation.decoder.evaluated(found, ms)


def _check_room(engine: LlamaEngine, tokens: int) -> None:
    """Raise ContextOverflow unless the tokens and one more fit the context."""
    if tokens + 1 > engine.context:
        raise ContextOverflow(tokens, engine.context)


def _shared(
    sequence: LlamaSequence, engine: LlamaEngine, request: GenerateRequest, prompt: list[int], written: int
) -> int | None:
    """The number of first tokens that a prompt beside the sequence's shares with it; None for one in its place.

    Raises ModelError for hidden tokens without room, or of another prompt.
    """
    if not request.beside:
        return None
    known = common_length(prompt[:-1], sequence.tokens)
    shared = request.seen_from if request.hidden else known
    needed = len(sequence.tokens) + len(prompt) - shared + written
    fits = engine.spare is not None and needed <= engine.context * len(engine.sequences)
    if request.hidden and (shared > known or not fits):
        raise ModelError("The prompt is not in the model's memory, or there is no room beside it.")
    return shared if fits else None


def _figures_from(written: list[PrefixToken], request: GenerateRequest) -> int:
    """The first prefix token whose figures are requested. The original run has reported the figures of kept tokens:
    `chosen` leaves them out, so that a branch costs only the evaluation of its new tokens.
    """
    if request.evidence == "all":
        return min(request.scored_from, len(written))
    if request.evidence == "none":
        return len(written)
    return next((n for n, one in enumerate(written) if one.origin != "kept"), len(written))


def _budget(session: Session, request: GenerateRequest, constraint: Constraint | None) -> TokenBudget | None:
    """The budget of a mask; llama.cpp's own sampler has none."""
    if request.constraint != "mask" or constraint is None or not request.rules:
        return None
    return TokenBudget(
        request.rules, request.near, session.spelling, constraint.takes, request.reasoning_budget
    )


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


_WARNING = 3  # ggml_log_level: 1 debug, 2 information, 3 warning, 4 error, 5 continues the previous line
_CONTINUED = 5
_MAX_WRITING = 0.6
"""Seconds after its last generation in which the process may write the prompt to disk before it ends."""


class ModelChild:
    """Both threads and their shared state: the queue of work, and the numbers of cancelled generations."""

    def __init__(self, pipe: Pipe[wire.Envelope], log: deque[str]) -> None:
        self._pipe = pipe
        self._log = log
        self._work: queue.SimpleQueue[wire.Envelope] = queue.SimpleQueue()
        self._session: Session | None = None
        self._generations: dict[int, Generation] = {}
        """Those that have not ended, by number, each in another sequence."""
        self._lock = threading.Lock()
        self._running: frozenset[int] = frozenset()
        self._timing = 0  # the number of the request that times batches
        self._cancelled: set[int] = set()
        self._kept = threading.Event()
        """Clear between a generation's end and the decision to store its prompt."""
        self._kept.set()

    def compute(self) -> None:
        """The main thread: handles one frame of work after another."""
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            frame = self._work.get()
            try:
                self._handle(frame)
            except Interrupted:
                self._forget(self._running)
            except Exception as error:
                for number in frame.body.numbers if isinstance(frame.body, wire.Step) else (frame.number,):
                    self._reply(number, _failure(error))

    def _read(self) -> None:
        try:
            while (frame := self._pipe.read()) is not None:
                match frame.body:
                    case wire.Cancel():
                        self._cancel(frame.number)
                        self._kept.clear()
                        self._work.put(frame)
                    case wire.Tokenize() | wire.ListVocabulary() if self._session is not None:
                        self._look_up(frame, self._session)
                    case _:
                        self._work.put(frame)
                        if self._timing:
                            self._cancel(self._timing)
        finally:
            self._finish_writing()
            os._exit(0)

    def _finish_writing(self) -> None:
        prompts = self._session.prompts if self._session else None
        if prompts is not None and prompts.cache is not None:
            end = time.monotonic() + _MAX_WRITING
            self._kept.wait(_MAX_WRITING)
            prompts.finish(max(0.0, end - time.monotonic()))

    def _cancel(self, number: int) -> None:
        with self._lock:
            self._cancelled.add(number)
            if self._session and self._running <= self._cancelled:
                self._session.engine.interrupt(True)

    def _begin(self, *numbers: int) -> None:
        """Make the evaluations of these generations interruptible, once each of them is cancelled.

        Raises Interrupted if they were already cancelled.
        """
        with self._lock:
            self._running = frozenset(numbers)
            interrupted = self._running <= self._cancelled
            if self._session:
                self._session.engine.interrupt(interrupted)
        if interrupted:
            raise Interrupted

    def _look_up(self, frame: wire.Envelope, session: Session) -> None:
        try:
            match frame.body:
                case wire.Tokenize(text=text, begin=begin, plain=plain):
                    ids = session.engine.tokenize(text, begin=begin, plain=plain)
                    self._reply(frame.number, wire.Tokens(ids))
                case wire.ListVocabulary():
                    self._reply(frame.number, session.list_vocabulary())
        except Exception as error:
            self._reply(frame.number, _failure(error))

    def _handle(self, frame: wire.Envelope) -> None:
        number = frame.number
        match frame.body:
            case wire.Load() as load:
                session = self._session = Session(
                    load, progress=lambda share: self._reply(number, wire.Loading(share)), log=self._log
                )
                self._reply(number, wire.Loaded(session.info, session.templates))
            case wire.Generate(request=request, prompts=prompts, sha256=sha256, sequence=place):
                session = self._loaded()
                self._forget(
                    [other for other, one in self._generations.items() if one.sequence.number == place]
                )
                if session.prompts:
                    session.prompts.cache, session.prompts.sha256 = prompts, sha256
                self._begin(number)
                generation = Generation(session, request, place)
                for progress in generation.evaluate_prompt(alone=not self._generations):
                    self._reply(number, progress)
                self._generations[number] = generation
                self._reply(number, generation.ready)
            case wire.Step(numbers=numbers):
                self._begin(*numbers)
                self._step(numbers)
            case wire.TimeBatches():
                self._timing = number
                self._reply(number, self._time_batches(number))
                self._timing = 0
            case wire.Cancel():  # every generation ends with one
                self._end(number)
            case _:
                raise ModelError("The model is not loaded.")

    def _time_batches(self, number: int) -> wire.BatchesTimed:
        session = self._loaded()
        engine, timer = session.engine, session.batch_timer
        try:
            self._begin(number)
            while self._work.empty() and (size := timer.next_size) is not None:
                others = OtherPrograms()
                timer.add(size, engine.time_batch(size, TOKENS), others.share)
                self._reply(number, wire.BatchesTimed())
        except Interrupted:
            return wire.BatchesTimed(ended=True)
        if timer.complete:
            return wire.BatchesTimed(BatchTimes(timer.known, engine.interruptible), ended=True)
        if busy := timer.next_size is None:
            session.batch_timer = BatchTimer()
        return wire.BatchesTimed(ended=True, busy=busy)

    def _step(self, numbers: Sequence[int]) -> None:
        """A step of each of the generations, which are evaluated together. An error ends only its own."""
        if len(numbers) > 1:
            self._evaluate(numbers)
        for number in numbers:
            try:
                if (generation := self._generations.get(number)) is None:
                    raise ModelError("There is no generation to continue.")
                steps = generation.step()
                self._reply(number, wire.Steps(steps, generation.ended))
            except Interrupted:
                raise
            except Exception as error:
                self._forget([number])
                self._reply(number, _failure(error))
        # while the parent reads, judges and shows them; no token is chosen before it is requested
        self._evaluate(numbers)

    def _evaluate(self, numbers: Sequence[int]) -> None:
        """Evaluate the next steps of these generations."""
        evaluate_together([self._generations[number] for number in numbers if number in self._generations])

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._generations.pop(number, None)

    def _end(self, number: int) -> None:
        """End a generation, and store its prompt, unless there is other work."""
        generation = self._generations.pop(number, None)
        with self._lock:
            self._cancelled.discard(number)
        try:
            if self._work.empty() and self._session and self._session.prompts:
                sequences = self._session.engine.sequences
                self._session.prompts.keep(sequences[0] if generation is None else generation.sequence)
        finally:
            self._kept.set()

    def _loaded(self) -> Session:
        if self._session is None:
            raise ModelError("The model is not loaded.")
        return self._session

    def _reply(self, number: int, body: wire.Reply) -> None:
        try:
            self._pipe.write(wire.NumberedAnswer(number, body))
        except OSError:
            os._exit(0)


def _failure(error: Exception) -> SentError:
    if isinstance(error, MemoryError):
        error = ModelError("There is not enough memory.", hint="Use a smaller model or context.")
    elif not isinstance(error, GlyphscopeError):
        traceback.print_exception(error)
        error = ModelError(f"The model's process failed: {type(error).__name__}: {error}")
    return SentError.of(error)


def _listen(log: deque[str]) -> Any:
    """Writes llama.cpp's warnings and errors to `log` and stderr. Keep the returned callback alive while it is used."""
    last = [0]

    @llama.llama_log_callback  # type: ignore[untyped-decorator]
    def listen(level: int, text: bytes, _: object) -> None:
        last[0] = last[0] if level == _CONTINUED else level
        if last[0] >= _WARNING:
            line = text.decode("utf-8", errors="replace")
            sys.stderr.write(line)
            if stripped := line.strip():
                log.append(stripped)

    llama.llama_log_set(listen, None)
    return listen


def main() -> None:
    """Serves until stdin closes."""
    pipe = parent_pipe(wire.Envelope)
    log: deque[str] = deque(maxlen=8)
    listener = _listen(log)
    ModelChild(pipe, log).compute()
    del listener


if __name__ == "__main__":
    main()
