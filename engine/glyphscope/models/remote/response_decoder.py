"""Converts the chunks of an answer to a run's steps and counts, and detects an ignored constraint."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.errors import ModelError
from glyphscope.events import TokenStep
from glyphscope.models.interface import GenerateRequest, Output, Usage
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.chunks import Chunk
from glyphscope.models.remote.dialect import Dialect
from glyphscope.models.remote.fields import Constraint
from glyphscope.models.remote.parts import PartWriter
from glyphscope.models.remote.steps import StepMaker
from glyphscope.models.remote.watch import Watch
from glyphscope.text.figures import pluralize

_CUT = frozenset(
    {
        "content_filter",
        "abort",
        "error",
        "cancelled",
        "insufficient_system_resource",
        "network_error",
        "safety",
    }
)
_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_MORE_STEPS = 16
"""Steps that an answer may have beyond the requested tokens: its end, and a character in parts."""


class ChatStreamDecoder:
    """The decoder of one answer: `feed` each chunk, then `end`."""

    def __init__(
        self, request: GenerateRequest, constraint: Constraint, dialect: Dialect, address: Address
    ) -> None:
        self._request, self._dialect, self._address = request, dialect, address
        self._watch = Watch(request, constraint, dialect.title)
        self._maker = StepMaker(request.alternatives)
        self._parts = PartWriter()
        self._usage: Usage | None = None
        self._characters = self._reasoning = self._received = 0
        self._finish = ""
        self._answered = False

    def prefix(self) -> tuple[TokenStep, ...]:
        """The prefix of the answer, before any text of the endpoint; it has no figures."""
        return self._maker.written(self._request.written)

    def feed(self, chunk: Chunk) -> Iterator[Output]:
        """Raises GrammarError before yielding text that the constraint excludes; ModelError if it is too long."""
        if chunk.usage is not None and chunk.usage != self._usage:
            self._usage = chunk.usage
            yield chunk.usage
        self._received += chunk.characters
        self._reasoning += len(chunk.reasoning)
        self._finish = self._finish or chunk.finish
        if self._request.tools:  # only an answer in the endpoint's own form has a place for reasoning
            yield from self._written(self._parts.reasoning(chunk.reasoning))
        if chunk.text or chunk.tokens:
            self._answered = True
            self._watch.feed(chunk.text)
            text = self._parts.text(chunk.text)
            yield from self._steps(self._maker.steps(text, chunk.tokens if text == chunk.text else ()))
        for piece in chunk.calls:
            self._answered = True
            self._watch.called()
            yield from self._written(self._parts.call(piece))
        self._check_length()

    def end(self) -> Iterator[Output]:
        """The answer's last step, if it ended by itself. Raises GrammarError and ModelError."""
        yield from self._written(self._parts.end())
        if self._finish.lower() in _CUT:
            raise ModelError(
                f"The endpoint aborted its answer ({self._finish}), "
                f"after {pluralize(self._characters, 'character')}.",
                where=str(self._address),
                hint="Its content filter or its operator ended it: change the prompt, or use another endpoint.",
            )
        if self._reasoning and not self._answered:
            raise ModelError(
                f"The endpoint sent {pluralize(self._reasoning, 'character')} of reasoning and no answer.",
                where=str(self._address),
                hint="Allow more tokens (--max-tokens), or turn its thinking off (--thinking off, or at the server).",
            )
        if self._finish.lower() not in _LENGTH:
            self._watch.end()
            yield (self._maker.end(),)

    @property
    def _step_count(self) -> int:
        """The number of steps that the endpoint sent."""
        return self._maker.count - len(self._request.written)

    def _written(self, text: str) -> Iterator[Output]:
        """The steps of the text written for parts that the endpoint sends separately."""
        return self._steps(self._maker.steps(text, ()) if text else ())

    def _steps(self, steps: tuple[TokenStep, ...]) -> Iterator[Output]:
        if not steps:
            return
        self._characters += sum(len(step.text) for step in steps)
        self._check_length()
        yield steps

    def _check_length(self) -> None:
        """Also counts data without a step: reasoning, a name that does not end, calls that wait for others."""
        most = self._request.max_tokens
        if self._step_count > 2 * most + _MORE_STEPS or self._received > max(1 << 20, 256 * most):
            raise ModelError(
                f"The endpoint continues beyond the {most:,} tokens that it was asked for.",
                where=str(self._address),
                hint="Does it send its chunks repeatedly? See the server's log.",
            )
