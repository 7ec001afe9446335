"""The workers of a Dask cluster: each sample is a task of one of them, which has its model open (`dask_worker.py`).

Samples go to a worker one after the other, so that the pool decides which prompts it gets; the next is sent when the
last one is back. Records and samples are written here.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar
from urllib.parse import urlsplit

from distributed import Client

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.figures import duration
from glyphscope.evals.matrix.needs import Needs
from glyphscope.evals.matrix.plan import Plan, Planned
from glyphscope.evals.running.progress import Control, SampleGrew
from glyphscope.evals.running.sample_runs import SampleAndRuns, stopped_sample, unanswered
from glyphscope.evals.running.worker_pool import WorkerCandidate, WorkerLost, WorkerOpened, WorkerPool
from glyphscope.events import ModelInfo
from glyphscope.models.files import FileHash
from glyphscope.models.opening import EMBEDDED
from glyphscope.store.named_models import model_file
from glyphscope_plugins.dask.worker import (
    Description,
    Job,
    SampleKey,
    SharedOpener,
    cancel_sample,
    close_job,
    describe,
    differing_file,
    make_samples,
    open_job,
)

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 5.0
"""Time for the scheduler to answer a look at its workers."""
SILENT_SECONDS = 30.0
"""Time without such an answer after which the scheduler counts as lost."""
WAIT_SECONDS = 60.0
"""Time to wait for a worker where there is none."""
STOP_SECONDS = 10.0
"""Time for a worker to end a sample that is stopped."""
POLL_SECONDS = 0.1
ENDED = "The worker ended, or cannot be reached."

T = TypeVar("T")


class DaskWorkers:
    """The workers of the scheduler at `address` (HOST:PORT), also those that join later."""

    servers = None  # they would run on the workers' machines

    def __init__(self, address: str, opener: SharedOpener) -> None:
        self._address, self._opener = address, opener

    @contextmanager
    def begin(
        self, plan: Plan, needs: Needs, allow_python: bool, control: Control
    ) -> Iterator[Mapping[str, ModelInfo]]:
        """Judges are opened by each worker. Raises GlyphscopeError where no scheduler answers."""
        self._plan, self._needs, self._allow_python = plan, needs, allow_python
        with _quiet():
            client = _connected(self._address, control)
            if client is None:  # it was stopped, and makes no sample
                yield {}
                return
            self._cluster = cluster = _Cluster(self._address, client)
            try:
                yield {}
            finally:
                cluster.close()

    @contextmanager
    def pool(self, model: str, todo: Sequence[Planned], control: Control) -> Iterator[WorkerPool]:
        names = dict.fromkeys((model, *self._needs.judges.values()))
        files = {name: file for name in names if (file := _file_here(name)) is not None}
        job = Job(
            id=f"glyphscope-{uuid.uuid4().hex}",
            model=model,
            models=1,
            files={name: file for name, file in files.items() if name != EMBEDDED},
            sha256={},
            opener=self._opener,
            suites=self._plan.suites,
            arms=tuple(arm for arm in self._plan.arms if arm.model == model),
            needs=self._needs,
            allow_python=self._allow_python,
            savings=self._plan.matrix.savings,
            sequences=self._plan.matrix.sequences,
        )
        samples = _Samples(self._cluster, job, {name: FileHash(file) for name, file in files.items()})
        pool = WorkerPool([], todo, control, samples.joining, self._plan.matrix.sequences)
        with samples.receiving(), pool:
            yield pool


def _file_here(model: str) -> Path | None:
    """The model's file, if this machine has it."""
    try:
        file = model_file(model)
    except ModelError:
        return None
    return file if file is not None and file.is_file() and os.access(file, os.R_OK) else None


def _connected(address: str, control: Control) -> Client | None:
    """A connection to that scheduler; None if the evaluation is stopped before. Raises GlyphscopeError without one."""
    host, _, port = address.rpartition(":")

    def connect() -> Client:  # a client that cannot connect leaves its thread behind
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="glyphscope")

    client = _asked(connect)
    while not futures.wait((client,), POLL_SECONDS).done:
        if control.stopped.is_set():
            client.add_done_callback(_close_late)
            return None
    if (error := client.exception()) is not None:
        raise GlyphscopeError(
            f"No Dask scheduler answers: {getattr(error, 'strerror', None) or error}.",
            where=_where(address),
            hint="Start one with `dask scheduler`, or correct the address.",
        )
    return client.result()


def _close_late(client: Future[Client]) -> None:
    if client.exception() is None:
        client.result().close(timeout=ANSWER_SECONDS)


def _where(address: str) -> str:
    return f"dask://{address}"


def _asked(ask: Callable[[], T]) -> Future[T]:
    """The answer, for which a thread waits that can be abandoned: with a time limit, Dask's client ends a transfer that
    takes longer.
    """
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=work, name="glyphscope-ask", daemon=True).start()
    return answer


class _Cluster:
    """The connection to a scheduler, and the addresses of its workers."""

    def __init__(self, address: str, client: Client) -> None:
        self.where, self.client = _where(address), client
        self.present: frozenset[str] = frozenset()
        self._answered = time.monotonic()

    def close(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self.client.close(timeout=ANSWER_SECONDS)

    def check(self) -> None:
        """Raises GlyphscopeError where the scheduler is lost."""
        if self.client.status != "running" or time.monotonic() - self._answered > SILENT_SECONDS:
            raise GlyphscopeError(
                "The connection to the Dask scheduler was lost.",
                where=self.where,
                hint="Finished samples are saved. Resume the evaluation when the scheduler runs again.",
            )

    def look(self) -> None:
        """Update the workers that are `present`. Raises GlyphscopeError where the scheduler is lost."""
        try:
            workers = self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER_SECONDS)
        except Exception:  # it is asked again until it counts as lost
            self.check()
            return
        self.present, self._answered = frozenset(workers), time.monotonic()
        self.check()

    def call(self, address: str, task: Callable[..., T], *arguments: object, wait: Callable[[], object]) -> T:
        """The result of a task of that worker. `wait` is called while it is not there; what it raises ends the task.

        Raises WorkerLost where the worker ends, _TaskFailed, and GlyphscopeError where the scheduler is lost.
        """
        self.check()
        future = self.client.submit(
            task, *arguments, workers=[address], allow_other_workers=False, pure=False
        )
        try:
            result: T = self._awaited(future.result, address, wait)
            return result
        except _TaskFailed:
            if future.status == "cancelled":  # tasks are where the connection breaks
                self._answered = float("-inf")
                self.check()
            raise
        finally:
            with suppress(Exception):
                future.cancel()

    def run(
        self, address: str, function: Callable[..., object], *arguments: object, wait: Callable[[], object]
    ) -> Any:
        """The value of a function in that worker, beside its tasks. Raises as `call` does."""
        run = partial(self.client.run, function, *arguments, workers=[address])
        return self._awaited(run, address, wait)[address]

    def _awaited(self, ask: Callable[[], Any], address: str, wait: Callable[[], object]) -> Any:
        answer = _asked(ask)
        while not futures.wait((answer,), POLL_SECONDS).done:
            self.require(address)
            wait()
        if (error := answer.exception()) is not None:
            raise _TaskFailed(f"{type(error).__name__}: {error}")
        return answer.result()

    def require(self, address: str) -> None:
        """Raises WorkerLost where that worker has ended, GlyphscopeError where the scheduler is lost."""
        self.check()
        if address not in self.present:
            raise WorkerLost(ENDED)


class _TaskFailed(Exception):
    """A task raised an exception, which this says."""


class _Samples:
    """The samples of one job, wherever they are made. `hashes` are those of the files on this machine, by model."""

    def __init__(self, cluster: _Cluster, job: Job, hashes: Mapping[str, FileHash]) -> None:
        self.cluster, self.job = cluster, job
        self._hashes = hashes
        self.reports: dict[str, Callable[[SampleGrew], object]] = {}
        self._here = describe()
        self._known: frozenset[str] = frozenset()
        self._seen = time.monotonic()
        self._opened: list[str] = []
        self._sha256: dict[str, str] = {}
        self._lock = threading.Lock()

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Receives the texts that grow. At the end the workers close their models."""
        client = self.cluster.client
        client.subscribe_topic(self.job.id, self._grew)
        try:
            yield
        finally:
            with suppress(Exception):  # without the scheduler, they close them after some time
                client.unsubscribe_topic(self.job.id)
                there = [address for address in self._opened if address in self.cluster.present]
                closing = [
                    client.submit(close_job, self.job.id, workers=[address], pure=False) for address in there
                ]
                deadline = time.monotonic() + ANSWER_SECONDS
                for future in closing:
                    future.result(timeout=max(0.1, deadline - time.monotonic()))

    def joining(self, idle: bool) -> list[WorkerCandidate]:
        """The workers that are new. Raises GlyphscopeError where there is none for `WAIT_SECONDS`."""
        self.cluster.look()
        new = self.cluster.present - self._known
        self._known |= new
        now = time.monotonic()
        if new or not idle:
            self._seen = now
        elif now - self._seen > WAIT_SECONDS:
            raise GlyphscopeError(
                f"The Dask scheduler has had no usable worker for {duration(WAIT_SECONDS)}.",
                where=self.cluster.where,
                hint=f"Start one: dask worker {self.cluster.where.removeprefix('dask://')} --nthreads 1.",
            )
        hosts = Counter(urlsplit(address).hostname for address in self.cluster.present)
        return [
            WorkerCandidate(address, partial(self._open, address, hosts[urlsplit(address).hostname]))
            for address in sorted(new)
        ]

    def _open(self, address: str, models: int, ended: threading.Event) -> _DaskWorker:
        def wait() -> None:
            if ended.is_set():
                raise WorkerLost("The evaluation was stopped.")

        try:
            # by a function of Python's own: a task that a worker cannot import ends its process
            name = f"{describe.__module__}:{describe.__name__}"
            self.cluster.run(address, resolve_name, name, wait=wait)
            description = self.cluster.call(address, describe, wait=wait)
            self._require_same(description)
            for name, file_hash in self._hashes.items():
                while not file_hash.value(POLL_SECONDS):
                    wait()
                self._sha256[name] = file_hash.value()
            self._opened.append(address)
            job = replace(self.job, models=models, sha256=dict(self._sha256))
            opened = self.cluster.call(address, open_job, job, wait=wait)
        except _TaskFailed as failed:
            raise _unusable(failed) from None
        if isinstance(opened, str):
            raise ModelError(opened)
        facts, sha256 = opened
        for name, found in sha256.items():
            with self._lock:  # of a file that this machine does not have, the first worker's counts
                expected = self._sha256.setdefault(name, found)
            if found != expected:
                raise differing_file(name, found, expected)
        return _DaskWorker(self, WorkerOpened(address, facts, description.machine))

    def _require_same(self, there: Description) -> None:
        """Raises GlyphscopeError for another version of Glyphscope, or of a package that can change a sample."""
        here = self._here
        differing = [
            f"{name} {there.versions.get(name, 'not installed')} (here {version})"
            for name, version in here.versions.items()
            if there.versions.get(name) != version
        ]
        if not differing and there.source != here.source:
            differing = ["a changed Glyphscope of the same version"]
        if differing:
            raise ModelError(
                f"Another version: {', '.join(differing)}.", hint="Install the same versions there."
            )

    def _grew(self, event: tuple[float, list[object]]) -> None:
        """In the client's event loop."""
        id, tokens, text, judge = event[1]
        report = self.reports.get(str(id))
        if report is not None:
            report(SampleGrew(str(id), int(str(tokens)), str(text), str(judge)))


def _unusable(error: Exception) -> ModelError:
    return ModelError(
        f"Its Glyphscope cannot be used: {error}.",
        hint="Install the same version there, with the same packages.",
    )


class _DaskWorker:
    """A process of the cluster whose model is open."""

    def __init__(self, samples: _Samples, opened: WorkerOpened) -> None:
        self.opened = opened
        self._samples = samples
        self._cancelled = 0.0

    def make(
        self, samples: Sequence[Planned], ended: threading.Event, report: Callable[[SampleGrew], object]
    ) -> Iterator[tuple[Planned, SampleAndRuns]]:
        keys = [
            SampleKey(each.arm, each.suite.suite.name, each.scenario.id, each.trial, each.seed)
            for each in samples
        ]
        stopping, job = _Stopping(ended), self._samples.job.id
        for each in samples:
            self._samples.reports[each.id] = report
        try:
            made = self._samples.cluster.call(
                self.opened.address, make_samples, job, keys, wait=stopping.wait
            )
        except _NotStopped:
            made = [(stopped_sample(each), []) for each in samples]
        except _TaskFailed as failed:
            why = f"{self.opened.address}: {failed}"
            made = [(unanswered(each, "MODEL_FAILED", why), []) for each in samples]
        finally:
            for each in samples:
                del self._samples.reports[each.id]
        yield from zip(samples, made)

    def cancel(self) -> None:
        """In a thread, as a worker that does not answer is not waited for."""
        if time.monotonic() - self._cancelled > 0.5:
            self._cancelled = time.monotonic()
            threading.Thread(target=self._cancel, name="glyphscope-cancel", daemon=True).start()

    def _cancel(self) -> None:
        with suppress(Exception):  # the worker or the scheduler may be lost
            self._samples.cluster.client.run(
                cancel_sample, self._samples.job.id, workers=[self.opened.address]
            )


class _NotStopped(Exception):
    """A worker that does not end a sample which was stopped."""


class _Stopping:
    """The time that a sample has once it is to end."""

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended
        self._until: float | None = None

    def wait(self) -> None:
        """Raises _NotStopped after that time."""
        if self._ended.is_set():
            self._until = self._until or time.monotonic() + STOP_SECONDS
            if time.monotonic() > self._until:
                raise _NotStopped


@contextmanager
def _quiet() -> Iterator[None]:
    """The messages of the connection itself are not shown: lost workers and schedulers are reported."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
