"""The threads that make samples: for the folder of a result, for an A/B, for the lab."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.running.progress import Control, SampleBegun, SampleGrew
from glyphscope.evals.running.run_sample import SampleAndRuns
from glyphscope.evals.scoring.model_judge import ModelJudge
from glyphscope.events import AnyEvent
from glyphscope.models.interface import Model

SampleRunner: TypeAlias = Callable[
    [Planned, Model, threading.Event, Callable[[SampleGrew], object]], SampleAndRuns
]
"""`run_sample` with its other arguments bound."""


@dataclass(frozen=True)
class FinishedSample:
    """A sample and the events of each of its runs, made in `seconds`. `stopped`: it was cancelled in its last run."""

    planned: Planned
    sample: Sample
    runs: list[list[AnyEvent]]
    seconds: float
    stopped: bool = False


class SampleQueue:
    """Samples in their order, for one worker. For several, samples with the same prompt go to the same worker, and so
    do prompts that begin alike, as each model has a separate cache. An idle worker takes another's last ones.
    """

    def __init__(self, samples: Iterable[Planned], workers: int) -> None:
        self._lock = threading.Lock()
        self._left: dict[Hashable, deque[deque[Planned]]] = {}  # by kind of prompt, each prompt's samples
        self._taken: dict[int, tuple[Hashable, deque[Planned]]] = {}  # by worker
        if workers == 1:
            self._taken[0] = None, deque(samples)
            return
        prompts: dict[Hashable, deque[Planned]] = {}
        for sample in samples:
            kind = sample.prompt_kind
            prompt = prompts.setdefault((kind, sample.scenario.id), deque())
            if not prompt:
                self._left.setdefault(kind, deque()).append(prompt)
            prompt.append(sample)

    def next(self, worker: int) -> Planned | None:
        """The worker's next sample; None if nothing is left. From any thread."""
        with self._lock:
            kind, samples = self._taken.get(worker, (None, deque()))
            if samples:
                return samples.popleft()
            others = {taken for other, (taken, _) in self._taken.items() if other != worker}
            same = (each for each in (kind,) if each in self._left)
            found = next(chain(same, (each for each in self._left if each not in others), self._left), None)
            if found is None:
                samples = max((taken for _, taken in self._taken.values()), key=len, default=samples)
                return samples.pop() if samples else None
            samples = self._left[found].popleft()
            if not self._left[found]:
                del self._left[found]
            self._taken[worker] = found, samples
            return samples.popleft()


class WorkerPool:
    """Threads that make samples, each with a separate model, until none are left or they are stopped.

    A context manager: leaving it stops the threads and waits for them. `judges` are cancelled with the models.
    """

    def __init__(
        self,
        models: Sequence[Model],
        todo: Iterable[Planned],
        control: Control,
        make: SampleRunner,
        judges: Iterable[ModelJudge] = (),
    ) -> None:
        self._models, self._make, self._judges = models, make, tuple(judges)
        self._todo = SampleQueue(todo, len(models))
        self._control = control
        self._items: queue.SimpleQueue[SampleBegun | SampleGrew | FinishedSample | BaseException | None] = (
            queue.SimpleQueue()
        )
        self._ended = threading.Event()
        self.jobs = len(models)
        self._threads = [
            threading.Thread(target=self._work, args=(number, model), name=f"evaluation {number + 1}")
            for number, model in enumerate(models)
        ]

    def __enter__(self) -> WorkerPool:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Cancel the samples in progress, and wait for the threads."""
        self._ended.set()
        while any(thread.is_alive() for thread in self._threads):
            for model in self._models:
                model.cancel()  # repeatedly: it may be between two generations
            for judge in self._judges:
                judge.cancel()
            for thread in self._threads:
                thread.join(0.02)

    def items(self) -> Iterator[SampleBegun | SampleGrew | FinishedSample]:
        """Yield the reports of the threads, until the last of them ends. Raises unexpected exceptions of threads."""
        working = len(self._threads)
        while working:
            try:
                item = self._items.get(timeout=0.05)
            except queue.Empty:
                if self._control.stopped.is_set():
                    self.stop()
                continue
            if item is None:
                working -= 1
            elif isinstance(item, BaseException):
                self.stop()
                raise item
            else:
                yield item

    def _work(self, worker: int, model: Model) -> None:
        try:
            while self._control.wait(self._ended):
                planned = self._todo.next(worker)
                if planned is None:
                    break
                suite, scenario = planned.suite.suite.name, planned.scenario.id
                self._items.put(SampleBegun(planned.id, planned.arm.id, suite, scenario, planned.trial))
                began = time.monotonic()
                sample, runs = self._make(planned, model, self._ended, self._items.put)
                stopped = self._ended.is_set() and sample.outcome == "cancelled"
                self._items.put(FinishedSample(planned, sample, runs, time.monotonic() - began, stopped))
        except BaseException as error:  # a bug, raised in the evaluation's thread
            self._items.put(error)
        finally:
            self._items.put(None)
