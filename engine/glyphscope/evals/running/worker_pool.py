"""A pool of workers that make samples: for the folder of a result, for an A/B, for the lab.

A worker has an open model, in this process (`local_workers.py`) or elsewhere (a plug-in, such as a Dask cluster). The
pool has a thread for each, which gives it one sample after the other.
"""

from __future__ import annotations

import queue
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias

from glyphscope.base.errors import ModelError
from glyphscope.evals.matrix.needs import Needs
from glyphscope.evals.matrix.plan import Plan, Planned
from glyphscope.evals.results.manifest import Machine
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.tables import SuiteTables
from glyphscope.evals.running.progress import Control, SampleBegun, SampleGrew, WorkerLeft
from glyphscope.evals.running.sample_runs import SampleAndRuns, unanswered
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.events import AnyEvent, ModelInfo

LOOK_SECONDS = 1.0
"""Time between two looks for workers that have joined."""
MAX_WAITING = 1_000
"""The reports from which on the threads wait for them to be taken."""
TRIES = 2
"""How often a sample is begun whose worker ends in the middle of it."""


@dataclass(frozen=True)
class OpenedModel:
    """An open model, the suites' tables with its token counts, the open judge models by name, and the `problems` of
    the planned requests with it, one a line.
    """

    info: ModelInfo
    tables: tuple[SuiteTables, ...] = ()
    judges: Mapping[str, ModelInfo] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkerOpened:
    """A worker has opened the model. `address` is that of another process or a replica, `machine` that of a process of
    another machine.
    """

    address: str = ""
    facts: OpenedModel | None = None
    machine: Machine | None = None


@dataclass(frozen=True)
class FinishedSample:
    """A sample and the events of each of its runs, made in `seconds` by the `worker` of that address. `stopped`: the
    evaluation was stopped before it had an answer.
    """

    planned: Planned
    sample: Sample
    runs: list[list[AnyEvent]]
    seconds: float
    stopped: bool = False
    worker: str = ""


Item: TypeAlias = WorkerOpened | WorkerLeft | SampleBegun | SampleGrew | FinishedSample
"""A report of the pool."""


class WorkerLost(Exception):
    """A worker that can make no more samples, and did not finish the last one. Its text is the reason, empty if it was
    reported before.
    """


class Worker(Protocol):
    """Makes samples with its open model: one at a time, or several together."""

    @property
    def opened(self) -> WorkerOpened:
        """The address is the same for workers that fail together."""

    def make(
        self, samples: Sequence[Planned], ended: threading.Event, report: Callable[[SampleGrew], object]
    ) -> Iterator[tuple[Planned, SampleAndRuns]]:
        """Make the samples, and yield each as soon as it is made.

        Once `ended` is set, a sample that is not finished has the outcome `cancelled`, or is not yielded. Raises
        WorkerLost if the worker is lost, GlyphscopeError if no worker of this kind can be reached any longer.
        """

    def cancel(self) -> None:
        """Ends the samples that are being made. From any thread, as often as one likes."""


class WorkerCandidate(NamedTuple):
    """A worker that may join the pool.

    `open` opens its model and returns the worker. That may take minutes; setting the event ends it early. It raises
    WorkerLost if this worker cannot begin, and ModelError if no worker of this address is to be used.
    """

    address: str
    open: Callable[[threading.Event], Worker]


Joining: TypeAlias = Callable[[bool], Iterable[WorkerCandidate]]
"""The workers that were not there before. It is called with whether the pool has no worker, and raises GlyphscopeError
where there is no use in waiting.
"""


class Workers(Protocol):
    """The place where the samples of an evaluation are made. `servers` execute their calls."""

    @property
    def servers(self) -> ToolServers | None:
        """None where calls have scripted results only."""

    def begin(
        self, plan: Plan, needs: Needs, allow_python: bool, control: Control
    ) -> AbstractContextManager[Mapping[str, ModelInfo]]:
        """For the time of the evaluation: the judges that are open already. Stopping `control` ends a wait for workers.
        Raises GlyphscopeError where none of its samples could be made.
        """

    def pool(
        self, model: str, todo: Sequence[Planned], control: Control
    ) -> AbstractContextManager[WorkerPool]:
        """The pool that makes these samples. Raises ModelError where the model cannot be opened."""


class _Waiting:
    """The indices of the groups of samples that wait for one worker, in order; four bytes each."""

    def __init__(self, groups: Iterable[int] = ()) -> None:
        self._groups = array("I", groups)
        self._first = 0

    def __len__(self) -> int:
        return len(self._groups) - self._first

    def append(self, group: int) -> None:
        self._groups.append(group)

    def put_back(self, group: int) -> None:
        """Make it the first one."""
        self._groups, self._first = array("I", [group, *self._groups[self._first :]]), 0

    def first(self) -> int:
        self._first += 1
        return self._groups[self._first - 1]

    def last(self) -> int:
        return self._groups.pop()


class SampleQueue:
    """Decides which worker makes which samples next.

    One worker gets them in their order. Several get them by prompt, because each model has a separate cache: samples
    with the same prompt go to the same worker, and so do prompts that begin alike. A worker with nothing left takes the
    last ones of the worker that has the most. `workers` is their number, None if it can change.

    Samples are handed out in groups of `together`, which are made at the same time: the first so many, the next so
    many, and so on. A group is known by its index.
    """

    def __init__(self, samples: Sequence[Planned], workers: int | None, together: int = 1) -> None:
        self._samples, self._together = samples, together
        self._lock = threading.Lock()
        self._begun: dict[int, int] = {}  # by worker, the group that it makes
        self._left: dict[Hashable, deque[_Waiting]] = {}  # by kind of prompt, each prompt's samples
        self._taken: dict[int, tuple[Hashable, _Waiting]] = {}  # by worker
        if workers == 1:
            self._taken[0] = None, _Waiting(range(-(-len(samples) // together)))
            return
        prompts: dict[Hashable, _Waiting] = {}
        for group in range(-(-len(samples) // together)):
            sample = samples[group * together]
            kind = sample.prompt_kind
            prompt = prompts.setdefault((kind, sample.scenario.id), _Waiting())
            if not prompt:
                self._left.setdefault(kind, deque()).append(prompt)
            prompt.append(group)

    def next(self, worker: int) -> Sequence[Planned]:
        """The worker's next samples; empty if nothing is left. Its previous ones are finished. From any thread."""
        with self._lock:
            self._begun.pop(worker, None)
            group = self._next(worker)
            if group is None:
                return ()
            self._begun[worker] = group
            start = group * self._together
            return self._samples[start : start + self._together]

    def leave(self, worker: int, *, finished: bool = True) -> None:
        """Others make the samples of this worker, first those that it did not finish. From any thread."""
        with self._lock:
            kind, waiting = self._taken.pop(worker, (None, _Waiting()))
            begun = self._begun.pop(worker, None)
            if begun is not None and not finished:
                waiting.put_back(begun)
            if waiting:
                self._left.setdefault(kind, deque()).appendleft(waiting)

    @property
    def is_done(self) -> bool:
        """Whether every sample is finished."""
        with self._lock:
            return (
                not self._left and not self._begun and not any(waiting for _, waiting in self._taken.values())
            )

    def finished(self, worker: int) -> None:
        """The samples of the worker are made, or are not to be made. From any thread."""
        with self._lock:
            self._begun.pop(worker, None)

    def _next(self, worker: int) -> int | None:
        kind, waiting = self._taken.get(worker, (None, _Waiting()))
        if waiting:
            return waiting.first()
        others = {taken for other, (taken, _) in self._taken.items() if other != worker}
        same = (each for each in (kind,) if each in self._left)
        found = next(chain(same, (each for each in self._left if each not in others), self._left), None)
        if found is None:
            waiting = max((taken for _, taken in self._taken.values()), key=len, default=waiting)
            return waiting.last() if waiting else None
        waiting = self._left[found].popleft()
        if not self._left[found]:
            del self._left[found]
        self._taken[worker] = found, waiting
        return waiting.first()


class WorkerPool:
    """Threads that give samples to workers, until all samples are made or they are stopped.

    A context manager: leaving it stops the threads and waits for them. `workers` are there from the beginning, with an
    open model; `joining` finds others, which open a model in their threads. Each gets `together` samples at a time. A
    sample whose worker is lost is begun again by another one, once.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        todo: Sequence[Planned],
        control: Control,
        joining: Joining | None = None,
        together: int = 1,
    ) -> None:
        self._workers, self._joining, self._control = workers, joining, control
        self._todo = SampleQueue(todo, None if joining else len(workers), together)
        self._together = together
        self._items: queue.SimpleQueue[Item | BaseException | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._threads: list[_WorkerThread] = []
        self._next_look = 0.0
        self._working = 0
        self._left_out: dict[str, str] = {}
        self._begun: dict[str, int] = {}  # how often a sample's worker was lost

    def __enter__(self) -> WorkerPool:
        for worker in self._workers:
            self._start(worker.opened.address, partial(lambda there, _ended: there, worker))
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def jobs(self) -> int:
        """The number of samples that are made at once now."""
        return max(1, self._working) * self._together

    def stop(self) -> None:
        """Cancel the samples in progress, and wait for the threads."""
        self._ended.set()
        while any(thread.is_alive() for thread in self._threads):
            for thread in self._threads:
                if thread.worker is not None:
                    thread.worker.cancel()  # repeatedly: it may be between two generations
                thread.join(0.02)

    def leave_out(self, address: str, why: str) -> None:
        """Give no further samples to the workers of that address."""
        self._left_out[address] = why
        for thread in self._threads:
            if thread.address == address:
                thread.left_out.set()

    def items(self) -> Iterator[Item]:
        """Yield the reports of the threads, until the last of them ends.

        Raises ModelError once each worker was left out, GlyphscopeError where `joining` does, and unexpected exceptions
        of threads.
        """
        while self._working or self._can_wait():
            if self._joining is not None and not self._ended.is_set() and time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + LOOK_SECONDS
                for candidate in self._joining(not self._working):
                    self._start(*candidate)
            try:
                item = self._items.get(timeout=0.05)
            except queue.Empty:
                if self._control.stopped.is_set():
                    self.stop()
                continue
            if item is None:
                self._working -= 1
            elif isinstance(item, BaseException):
                self.stop()
                raise item
            else:
                yield item
        if self._is_left_out:
            raise ModelError("; ".join(f"{at}: {why}" if at else why for at, why in self._left_out.items()))

    def _can_wait(self) -> bool:
        """Whether workers that have not joined yet are of use."""
        stopped = self._ended.is_set() or self._control.stopped.is_set()
        return not (self._joining is None or stopped or self._todo.is_done or self._is_left_out)

    @property
    def _is_left_out(self) -> bool:
        """Whether there were workers, and each of them was left out."""
        there = {thread.address for thread in self._threads}
        return bool(there) and there == self._left_out.keys()

    def _start(self, address: str, open_worker: Callable[[threading.Event], Worker]) -> None:
        number = len(self._threads)
        thread = _WorkerThread(address, number, lambda: self._work(thread, open_worker))
        self._threads.append(thread)
        self._working += 1
        thread.start()

    def _work(self, thread: _WorkerThread, open_worker: Callable[[threading.Event], Worker]) -> None:
        try:
            thread.worker = worker = open_worker(self._ended)
            self._items.put(worker.opened)
            while self._may_continue() and not thread.left_out.is_set():
                if samples := self._todo.next(thread.number):
                    self._make(thread, worker, samples)
                elif self._todo.is_done:
                    break
                else:  # the worker of one that is being made may be lost
                    self._ended.wait(0.05)
            self._todo.leave(thread.number)
        except WorkerLost as lost:
            self._todo.leave(thread.number)
            if str(lost) and not self._ended.is_set():
                self._items.put(WorkerLeft(thread.address, str(lost)))
        except ModelError as error:
            self.leave_out(thread.address, str(error))
            self._items.put(WorkerLeft(thread.address, str(error)))
        except BaseException as error:  # a bug, which ends the evaluation in its own thread
            self._items.put(error)
        finally:
            self._items.put(None)

    def _may_continue(self) -> bool:
        """Wait while paused, and while samples that are made wait to be taken; returns whether to make another one."""
        while self._items.qsize() > MAX_WAITING and not self._ended.is_set():
            self._ended.wait(0.005)
        return self._control.wait(self._ended)

    def _make(self, thread: _WorkerThread, worker: Worker, samples: Sequence[Planned]) -> None:
        left = {planned.id: planned for planned in samples if not planned.is_made}
        for planned in left.values():
            suite, scenario = planned.suite.suite.name, planned.scenario.id
            self._items.put(SampleBegun(planned.id, planned.arm.id, suite, scenario, planned.trial))
        began, lost = time.monotonic(), None

        def report(grew: SampleGrew) -> None:
            if grew.id in left:
                self._items.put(grew)

        def finish(planned: Planned, sample: Sample, runs: list[list[AnyEvent]]) -> None:
            if left.pop(planned.id, None) is not None:
                ended = self._ended.is_set() or self._control.stopped.is_set()
                stopped = ended and (sample.outcome == "cancelled" or not sample.answered)
                seconds = time.monotonic() - began
                self._items.put(FinishedSample(planned, sample, runs, seconds, stopped, thread.address))

        try:
            for planned, (sample, runs) in worker.make(samples, self._ended, report):
                finish(planned, sample, runs)
        except WorkerLost as error:
            lost = error
            first = samples[0].id
            self._begun[first] = begun = self._begun.get(first, 0) + 1
            if begun < TRIES:
                self._todo.leave(thread.number, finished=False)
                raise
            why = f"Its worker was lost {TRIES} times, last: {thread.address}: {error}"
            for planned in list(left.values()):
                finish(planned, unanswered(planned, "MODEL_FAILED", why), [])
        self._todo.finished(thread.number)
        if lost is not None:
            raise lost


class _WorkerThread(threading.Thread):
    """Works with one worker, which it has once its model is open."""

    def __init__(self, address: str, number: int, work: Callable[[], None]) -> None:
        super().__init__(target=work, name=f"evaluation {number + 1}")
        self.address, self.number = address, number
        self.worker: Worker | None = None
        self.left_out = threading.Event()
