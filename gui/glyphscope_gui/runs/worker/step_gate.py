"""Stepping: a gate between two decoding steps, and a model that waits at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import closing

from glyphscope.models.interface import ForwardingModel, GenerateRequest, Model, Output


class Gate:
    """Lets every step through while open, and one for each `admit` while shut."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._open = True
        self._permits = 0
        self._waited = 0.0

    def clock(self) -> float:
        """Seconds without the waits at the gate, as time limits do not count the user's pauses."""
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
        """Wait for a permit and use it; while the gate is open, return at once."""
        with self._condition:
            before = time.perf_counter()
            self._condition.wait_for(lambda: self._open or self._permits > 0)
            self._waited += time.perf_counter() - before
            if not self._open:
                self._permits -= 1


class GatedModel(ForwardingModel):
    """A model that waits at a gate before it decodes the next step, so that everything decoded is shown."""

    def __init__(self, model: Model, gate: Gate) -> None:
        super().__init__(model)
        self._gate = gate

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        with closing(self._model.generate(request)) as outputs:
            for output in outputs:
                yield output
                if isinstance(output, tuple):
                    self._gate.pass_through()

    def cancel(self) -> None:
        super().cancel()
        self._gate.open()
