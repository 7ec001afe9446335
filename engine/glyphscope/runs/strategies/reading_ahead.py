"""A run's first prompt, evaluated before the run, which then evaluates only what has changed since.

A run of any strategy does it, which is ended before its first token and not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass

from glyphscope.events import AnyEvent, ModelInfo, PromptEvaluated, PromptRendered, RunFailed, RunRequest
from glyphscope.models.interface import (
    Cancelled,
    ForwardingModel,
    GenerateRequest,
    Model,
    Output,
    PromptReady,
)
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.strategies.running import run


@dataclass(frozen=True)
class ReadAhead:
    """`events` are the events of the prompt and its evaluation; none if the run ends before. `complete`: the prompt is
    evaluated. `failed`: the run ended with an error. `stopped`: something else needed the model.
    """

    events: tuple[AnyEvent, ...] = ()
    complete: bool = False
    failed: bool = False
    stopped: bool = False

    @property
    def prompt(self) -> PromptRendered | None:
        """The prompt with its tokens; None if the run ends before."""
        return next((event for event in self.events if isinstance(event, PromptRendered)), None)

    @property
    def tokens(self) -> int:
        """The number of the prompt's tokens; 0 if it is not known."""
        return next((event.total for event in self.events if isinstance(event, PromptEvaluated)), 0)


def can_read_ahead(info: ModelInfo) -> bool:
    """Whether evaluated tokens stay in the memory of the model's process."""
    return info.kind == "llama.cpp"


def read_ahead(
    request: RunRequest | PreparedRequest, model: Model, stop: Callable[[], bool] = lambda: False
) -> ReadAhead:
    """Evaluate the first prompt of a run of the request, and compile its constraint.

    `stop` is called after each chunk of the prompt, and ends the evaluation by returning True; `model.cancel()`, from
    any thread, also ends a chunk. Returns at once for models that are not local. Never raises a GlyphscopeError.
    """
    if not can_read_ahead(model.info):
        return ReadAhead()
    first = _PromptOnly(model, stop)
    events = tuple(run(request, first))
    kept = tuple(event for event in events if isinstance(event, PromptRendered | PromptEvaluated))
    failed = any(isinstance(event, RunFailed) for event in events)
    return ReadAhead(kept, first.complete, failed, stopped=stop() and not first.complete)


class _PromptOnly(ForwardingModel):
    """Ends each generation as cancelled once its prompt is evaluated."""

    def __init__(self, model: Model, stop: Callable[[], bool]) -> None:
        super().__init__(model)
        self._stop = stop
        self.complete = False

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        with closing(self._model.generate(request)) as outputs:
            for output in outputs:
                yield output
                self.complete = isinstance(output, PromptReady)
                if self.complete or self._stop():
                    break
        yield Cancelled()
