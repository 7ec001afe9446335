"""Step by step: a gate between two decoding steps, and a model that waits at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from typing import Any

from glyphscope.events import Message, ModelInfo, Thinking
from glyphscope.models import GenerateRequest, Model, Output, RenderedPrompt, Vocabulary
from glyphscope.turns import TurnForm


class Gate:
    """Open, it lets every step through. Closed, each `admit` lets one step through; opening lets all through.

    `clock` is for the steps that pass through it.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._open = True
        self._permits = 0
        self._waited = 0.0

    def clock(self) -> float:
        """Seconds without the waits of steps: a time limit does not count a user's pauses."""
        return time.perf_counter() - self._waited

    def shut(self) -> None:
        with self._condition:
            self._open, self._permits = False, 0

    def open(self) -> None:
        with self._condition:
            self._open = True
            self._condition.notify_all()

    def admit(self) -> None:
        with self._condition:
            self._permits += 1
            self._condition.notify_all()

    def pass_through(self) -> None:
        """Wait for a permit and use it up; at once while the gate is open."""
        with self._condition:
            before = time.perf_counter()
            self._condition.wait_for(lambda: self._open or self._permits > 0)
            self._waited += time.perf_counter() - before
            if not self._open:
                self._permits -= 1


class GatedModel:
    """A model whose next step waits at a gate. The wait is before the decoding, so what is shown is all there is."""

    def __init__(self, model: Model, gate: Gate) -> None:
        self._model = model
        self._gate = gate

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def tokenize(self, text: str) -> list[int]:
        return self._model.tokenize(text)

    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary()

    def render_chat(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = (), thinking: Thinking = "auto"
    ) -> RenderedPrompt:
        if thinking == "auto":  # as `priced_prompt` asks: only who is asked for a state need know of it
            return self._model.render_chat(messages, tools)
        return self._model.render_chat(messages, tools, thinking)

    def turn_form(self) -> TurnForm | None:
        return self._model.turn_form()

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        output = self._model.generate(request)
        try:
            for item in output:
                yield item
                if isinstance(item, tuple):
                    self._gate.pass_through()
        finally:
            output.close()

    def cancel(self) -> None:
        self._model.cancel()
        self._gate.open()

    def close(self) -> None:
        self._model.close()
