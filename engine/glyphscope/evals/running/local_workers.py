"""Workers in this process: threads, each with a separate model.

A model may be served at several addresses: the samples are shared out among these replicas. Each has its own workers,
so one that is faster makes more samples, and prompts that begin alike stay with one of them. A replica that stops
answering is asked again later; one that serves another model is left out.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.needs import Needs
from glyphscope.evals.matrix.plan import LoadedSuite, Plan, Planned
from glyphscope.evals.results.tables import SuiteTables, suite_tables
from glyphscope.evals.running.progress import Control, SampleGrew
from glyphscope.evals.running.sample_runs import Interact, SampleAndRuns, request_problems, run_sample
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.evals.running.worker_pool import (
    FinishedSample,
    OpenedModel,
    Worker,
    WorkerCandidate,
    WorkerLost,
    WorkerOpened,
    WorkerPool,
)
from glyphscope.evals.scoring.assertions import NO_ASSERTIONS, AssertionOptions
from glyphscope.evals.scoring.model_judge import ModelJudge
from glyphscope.evals.suites.reading import suite_registry
from glyphscope.events import ModelInfo
from glyphscope.models.interface import Model
from glyphscope.models.llama import LlamaModel
from glyphscope.models.remote import is_address, read_address, replicas_of
from glyphscope.models.sequence_group import GroupMember

Opener: TypeAlias = Callable[[str], Model]
SampleRunner: TypeAlias = Callable[
    [Planned, Model, threading.Event, Callable[[SampleGrew], object]], SampleAndRuns
]
"""`run_sample` with its other arguments bound."""


GROUP_TRIES = 2
"""How often samples are made together whose model's process ends; those without a result are then made one by one."""


class LocalWorker:
    """A model of this process; `judges` are cancelled with it."""

    def __init__(
        self,
        model: Model,
        make: SampleRunner,
        judges: Iterable[ModelJudge] = (),
        facts: OpenedModel | None = None,
    ) -> None:
        self.opened = WorkerOpened(facts=facts)
        self._model, self._make, self._judges = model, make, tuple(judges)
        self._generating: Sequence[Model] = (model,)

    def make(
        self, samples: Sequence[Planned], ended: threading.Event, report: Callable[[SampleGrew], object]
    ) -> Iterator[tuple[Planned, SampleAndRuns]]:
        """Several samples are made together, each in a sequence of the model's context.

        If its process ends, all are made again, as the figures depend on the whole group.
        """
        left = {planned.id: planned for planned in samples}
        for _ in range(GROUP_TRIES if len(samples) > 1 else 0):
            for planned, made in self._together(samples, ended, report):
                if left.pop(planned.id, None) is not None:
                    yield planned, made
            if not left or ended.is_set():
                return
        for planned in left.values():
            yield planned, self._make(planned, self._model, ended, report)

    def _together(
        self, samples: Sequence[Planned], ended: threading.Event, report: Callable[[SampleGrew], object]
    ) -> Iterator[tuple[Planned, SampleAndRuns]]:
        """The samples that have a result, without those that the end of the process left without one."""
        if not isinstance(self._model, LlamaModel):
            raise ModelError("This kind of model has one sequence.", where=self._model.info.name)
        results: queue.SimpleQueue[tuple[Planned, SampleAndRuns] | BaseException] = queue.SimpleQueue()

        def work(planned: Planned, member: GroupMember) -> None:
            try:
                results.put((planned, self._make(planned, member, ended, report)))
            except BaseException as error:  # a bug, which ends the evaluation in its main thread
                results.put(error)
            finally:
                member.close()

        with ExitStack() as stack:
            group = stack.enter_context(self._model.together(len(samples)))
            stack.callback(setattr, self, "_generating", (self._model,))
            self._generating = group.members
            threads = [
                threading.Thread(target=work, args=each, name="evaluation sequence")
                for each in zip(samples, group.members)
            ]
            for thread in threads:
                thread.start()
                stack.callback(thread.join)
            for _ in samples:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                failures = result[1][0].failures
                if not (group.died and any(each.reason == "MODEL_FAILED" for each in failures)):
                    yield result

    def cancel(self) -> None:
        for model in self._generating:
            model.cancel()
        for judge in self._judges:
            judge.cancel()


@dataclass
class LocalWorkers:
    """As many workers as the plan has `jobs`; all have the same judges, which `opener` opens. It opens the models, too,
    unless `group_opener` is given, which opens them with the plan's number of sequences. `servers` execute calls.
    """

    opener: Opener
    group_opener: Opener | None = None
    servers: ToolServers | None = None
    _plan: Plan = field(init=False)
    _assertions: AssertionOptions = NO_ASSERTIONS

    @contextmanager
    def begin(
        self, plan: Plan, needs: Needs, allow_python: bool, control: Control
    ) -> Iterator[Mapping[str, ModelInfo]]:
        """The open judges. Raises ModelError for one that cannot be opened."""
        with ExitStack() as stack:
            judges = open_judges(needs, self.opener, stack)
            self._plan, self._assertions = plan, AssertionOptions(allow_python, judges)
            yield {judge.name: judge.info for judge in judges.values()}

    @contextmanager
    def pool(self, model: str, todo: Sequence[Planned], control: Control) -> Iterator[WorkerPool]:
        judges, jobs = list(self._assertions.judges.values()), self._plan.matrix.jobs
        together, opener = self._plan.matrix.sequences, self.group_opener or self.opener
        savings = self._plan.matrix.savings
        make = partial(run_sample, savings=savings, assertions=self._assertions, servers=self.servers)

        arms = [arm for arm in self._plan.arms if arm.model == model]

        def worker_of(opened: Model) -> LocalWorker:
            return LocalWorker(opened, make, judges, facts_of(opened, self._plan.suites, arms))

        with ExitStack() as stack:
            if is_address(model) and len(addresses := replicas_of(model)) > 1:
                for address in addresses:
                    read_address(address)
                replicas = stack.enter_context(Replicas(addresses, jobs, self.opener, worker_of))
                yield stack.enter_context(WorkerPool([], todo, control, replicas.joining))
                return
            workers: list[LocalWorker] = []
            try:
                for _ in range(min(jobs, -(-len(todo) // together))):
                    opened = opener(model)
                    stack.callback(opened.close)
                    workers.append(worker_of(opened))
            except GlyphscopeError as error:
                raise ModelError(str(error)) from None
            pool = WorkerPool(workers, todo, control, together=together)
            yield stack.enter_context(pool)  # ends before the models are closed


def open_judges(needs: Needs, opener: Opener, stack: ExitStack) -> dict[str, ModelJudge]:
    """The judge of each suite that has rubrics; one that several name is opened once. Raises ModelError."""
    judges: dict[str, ModelJudge] = {}
    for name in dict.fromkeys(needs.judges.values()):
        try:
            judges[name] = ModelJudge(name, opener(name))
        except GlyphscopeError as error:
            hint = error.hint or "Name another model with --judge."
            raise ModelError(
                f"The judge cannot be opened: {error.message}", where=error.where or name, hint=hint
            ) from None
        stack.callback(judges[name].close)
    return {suite: judges[name] for suite, name in needs.judges.items()}


def facts_of(model: Model, suites: Sequence[LoadedSuite], arms: Iterable[Arm]) -> OpenedModel:
    """The facts about an open model, with the tables of those of the suites that have any, and with the problems of
    the requests of its `arms`.
    """
    return OpenedModel(
        model.info, tuple(_tables(model, suites)), problems=request_problems(model, suites, arms)
    )


def _tables(model: Model, suites: Iterable[LoadedSuite]) -> Iterator[SuiteTables]:
    for suite in (loaded.suite for loaded in suites):
        if suite.checks or suite.sizes:
            registry = suite_registry(suite, None)
            yield suite_tables(suite, registry, _counter(model), model=model.info.name)


def _counter(model: Model) -> Callable[[str], int] | None:
    """How the model counts tokens; None where it cannot, as an endpoint without a tokenizer to ask."""
    try:
        model.count_tokens("")
    except GlyphscopeError:
        return None
    return model.count_tokens


def run_samples(
    samples: Sequence[Planned], model: Model, interact: Interact, control: Control
) -> Generator[FinishedSample, None, None]:
    """Make the samples in order with an open model, until `control` stops them. `interact` answers for the tools."""
    with WorkerPool([LocalWorker(model, partial(run_sample, interact=interact))], samples, control) as pool:
        yield from (made for made in pool.items() if isinstance(made, FinishedSample))


# one model at several addresses


RETRY_SECONDS = 15.0
"""Time after which a replica that did not answer is asked again."""
WAIT_SECONDS = 60.0
"""Time without any replica after which the model counts as missing."""
_SAME = {"name": "model", "server": "server", "quantisation": "quantisation", "context": "context size"}
"""The facts in which replicas have to agree."""


@dataclass
class _Replica:
    """`free` of its workers may be started from `retry_at` on. `problem` is why it does not answer."""

    address: str
    free: int
    retry_at: float = 0.0
    problem: str = ""


class Replicas:
    """The workers of the replicas at these addresses: `jobs` in all, at least one each. A context that closes them."""

    def __init__(
        self,
        addresses: Sequence[str],
        jobs: int,
        opener: Callable[[str], Model],
        worker_of: Callable[[Model], Worker],
    ) -> None:
        self._opener, self._worker_of = opener, worker_of
        jobs = max(jobs, len(addresses))
        self._replicas = [
            _Replica(address, len(range(index, jobs, len(addresses))))
            for index, address in enumerate(addresses)
        ]
        self._first: ModelInfo | None = None
        self._seen = time.monotonic()
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def joining(self, idle: bool) -> list[WorkerCandidate]:
        """The workers that can be started now; of a replica that did not answer, one at first.

        Raises ModelError where none answers, at once if none ever did.
        """
        now = time.monotonic()
        self._seen = self._seen if idle else now
        silent = [replica for replica in self._replicas if replica.problem]
        never = self._first is None and len(silent) == len(self._replicas)
        if idle and (never or now - self._seen > WAIT_SECONDS):
            raise ModelError("; ".join(f"{replica.address}: {replica.problem}" for replica in silent))
        candidates = []
        with self._lock:
            for replica in self._replicas:
                starting = (
                    0 if now < replica.retry_at else min(replica.free, 1 if replica.problem else replica.free)
                )
                replica.free -= starting
                candidates += [WorkerCandidate(replica.address, partial(self._open, replica))] * starting
        return candidates

    def lost(self, replica: _Replica, why: str) -> WorkerLost:
        """A worker of that replica has ended, as it does not answer. Only the first has a reason to report."""
        with self._lock:
            report = "" if replica.problem else why
            replica.free += 1
            replica.problem, replica.retry_at = why, time.monotonic() + RETRY_SECONDS
        return WorkerLost(report)

    def answers(self, replica: _Replica) -> bool:
        """Whether the replica can be opened now."""
        try:
            self._opener(replica.address).close()
        except GlyphscopeError:
            return False
        return True

    def _open(self, replica: _Replica, _ended: threading.Event) -> _ReplicaWorker:
        try:
            model = self._opener(replica.address)
        except GlyphscopeError as error:
            raise self.lost(replica, error.words) from None
        with self._lock:
            self._stack.callback(model.close)
            self._first = first = self._first or model.info
            differing = [
                f"{words} {getattr(model.info, name) or 'unknown'}, the others' {getattr(first, name) or 'unknown'}"
                for name, words in _SAME.items()
                if getattr(model.info, name) != getattr(first, name)
            ]
            if differing:
                raise ModelError(
                    f"Not a replica of the same model: {'; '.join(differing)}.",
                    hint="Evaluate it as another model, or serve the same one there.",
                )
            replica.problem = ""
        return _ReplicaWorker(self, replica, self._worker_of(model))


class _ReplicaWorker:
    """A worker whose replica may stop answering."""

    def __init__(self, replicas: Replicas, replica: _Replica, worker: Worker) -> None:
        self.opened = WorkerOpened(replica.address, worker.opened.facts)
        self._replicas, self._replica, self._worker = replicas, replica, worker

    def make(
        self, samples: Sequence[Planned], ended: threading.Event, report: Callable[[SampleGrew], object]
    ) -> Iterator[tuple[Planned, SampleAndRuns]]:
        for planned, (sample, runs) in self._worker.make(samples, ended, report):
            failed = [failure for failure in sample.failures if failure.reason == "MODEL_FAILED"]
            if failed and not ended.is_set() and not self._replicas.answers(self._replica):
                raise self._replicas.lost(self._replica, failed[0].detail)
            yield planned, (sample, runs)

    def cancel(self) -> None:
        self._worker.cancel()
