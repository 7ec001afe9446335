"""One model at several addresses: the samples of an evaluation are shared out among its replicas.

Each has its own workers, so one that is faster makes more samples, and prompts that begin alike stay with one of them.
A replica that stops answering is asked again later; one that serves another model is left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from glyphscope.errors import GlyphscopeError, ModelError
from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.running.progress import SampleGrew
from glyphscope.evals.running.run_sample import SampleAndRuns
from glyphscope.evals.running.worker_pool import Candidate, Worker, WorkerLost, WorkerOpened
from glyphscope.events import ModelInfo
from glyphscope.models.interface import Model

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
            _Replica(address, len(range(place, jobs, len(addresses))))
            for place, address in enumerate(addresses)
        ]
        self._first: ModelInfo | None = None
        self._seen = time.monotonic()
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def joining(self, idle: bool) -> list[Candidate]:
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
                candidates += [Candidate(replica.address, partial(self._open, replica))] * starting
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
