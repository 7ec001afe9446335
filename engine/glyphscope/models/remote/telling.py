"""From the chunks of an answer to what a run reads: steps, counts, and the proof that a constraint was ignored."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.errors import ModelError
from glyphscope.events import TokenStep
from glyphscope.models.interface import GenerateRequest, Output, Usage
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.calls import CallWriter
from glyphscope.models.remote.chunks import Chunk
from glyphscope.models.remote.constraint import Constraint
from glyphscope.models.remote.dialect import Dialect
from glyphscope.models.remote.steps import StepMaker
from glyphscope.models.remote.watch import Watch

_CUT = frozenset({"content_filter", "abort", "error"})
_MORE_STEPS = 16
"""Steps beyond the number of tokens asked for that an answer may have: its end, and a character in parts."""


class Teller:
    """One answer's. `told` for each chunk, then `end`."""

    def __init__(
        self, request: GenerateRequest, constraint: Constraint, dialect: Dialect, address: Address
    ) -> None:
        self._request, self._dialect, self._address = request, dialect, address
        self._watch = Watch(request, constraint, dialect.title)
        self._maker = StepMaker(request.alternatives)
        self._calls = CallWriter()
        self._usage: Usage | None = None
        self._characters = self._reasoning = self._received = 0
        self._finish = ""

    def written(self) -> tuple[TokenStep, ...]:
        """What the answer was begun with, before anything that the endpoint tells; it has no figures."""
        return self._maker.written(self._request.written)

    def told(self, chunk: Chunk) -> Iterator[Output]:
        """Raises GrammarError at text that the constraint excludes, before it is told; ModelError for one too long."""
        if chunk.usage is not None and chunk.usage != self._usage:
            self._usage = chunk.usage
            yield chunk.usage
        self._received += chunk.characters
        self._reasoning += chunk.reasoning
        self._finish = self._finish or chunk.finish
        if chunk.text or chunk.tokens:
            self._watch.feed(chunk.text)
            yield from self._steps(self._maker.steps(chunk.text, chunk.tokens))
        for piece in chunk.calls:
            self._watch.called()
            yield from self._steps(self._maker.steps(self._calls.feed(piece), ()))
        self._check_length()

    def end(self) -> Iterator[Output]:
        """The answer's last step, where it ended by itself. Raises GrammarError and ModelError."""
        yield from self._steps(self._maker.steps(self._calls.end(), ()))
        if self._finish in _CUT:
            raise ModelError(
                f"The endpoint broke its answer off ({self._finish}), after {self._characters} characters.",
                where=str(self._address),
                hint="Its filter or its operator ended it; ask for something else, or elsewhere.",
            )
        if self._reasoning and not self._told:
            raise ModelError(
                f"The endpoint sent {self._reasoning} characters of reasoning and no answer.",
                where=str(self._address),
                hint="Allow more tokens (--max-tokens), or turn its thinking off (--thinking off, or at the server).",
            )
        if self._finish != "length":
            self._watch.end()
            yield (self._maker.end(),)

    @property
    def _told(self) -> int:
        """The steps that the endpoint told."""
        return self._maker.count - len(self._request.written)

    def _steps(self, steps: tuple[TokenStep, ...]) -> Iterator[Output]:
        if not steps:
            return
        self._characters += sum(len(step.text) for step in steps)
        self._check_length()
        yield steps

    def _check_length(self) -> None:
        """Also of what comes in no step: thinking, a name that does not end."""
        most = self._request.max_tokens
        if self._told > 2 * most + _MORE_STEPS or self._received > max(1 << 20, 256 * most):
            raise ModelError(
                f"The endpoint goes on beyond the {most} tokens that it was asked for.",
                where=str(self._address),
                hint="Does it send its pieces again and again? Its own log may tell.",
            )
