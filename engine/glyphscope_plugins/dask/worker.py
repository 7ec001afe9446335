"""The part of an evaluation that runs in a Dask worker: it opens the model once, and makes samples with it.

The functions here are the tasks that `dask_workers.py` sends. Models are closed when the evaluation ends, and when no
sample was asked for some time, as an evaluation whose process was killed cannot end its work here.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, Protocol

from distributed import get_worker

import glyphscope
from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.shorten import shorten
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.needs import Needs
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.results.manifest import Machine, this_machine
from glyphscope.evals.running.local_workers import LocalWorker, facts_of, open_judges
from glyphscope.evals.running.progress import SampleGrew
from glyphscope.evals.running.sample_runs import SampleAndRuns, run_sample, stopped_sample
from glyphscope.evals.running.worker_pool import OpenedModel
from glyphscope.evals.scoring.assertions import AssertionOptions
from glyphscope.models.files import FileHash
from glyphscope.models.interface import Model
from glyphscope.runs.emitter import versions
from glyphscope.store.folders import places
from glyphscope.store.named_models import model_file

IDLE_SECONDS = 600.0
"""Time without a sample after which a model is closed; the next sample opens it again."""
OTHERS_IDLE_SECONDS = 5.0
"""The same for the model of an earlier evaluation, once another one begins."""
HASH_SECONDS = 1800.0
"""Time to read a model's file for its hash."""


class SharedOpener(Protocol):
    """`NamedModels.open`."""

    def __call__(self, name: str, models: int = 1, *, file: str = "", sequences: int = 1) -> Model: ...


@dataclass(frozen=True)
class Job:
    """The samples of one model of an evaluation, as they are sent to each worker, once. `models` of them compute on its
    machine at the same time. `files` are those of the model and the judges where the evaluation was begun, by name;
    `sha256` are their hashes, as far as they are known.
    """

    id: str
    model: str
    models: int
    files: Mapping[str, Path]
    sha256: Mapping[str, str]
    opener: SharedOpener
    suites: tuple[LoadedSuite, ...]
    arms: tuple[Arm, ...]
    needs: Needs
    allow_python: bool
    savings: float
    sequences: int = 1


class SampleKey(NamedTuple):
    """A planned sample without its suite, which the job has."""

    arm: Arm
    suite: str
    scenario: str
    trial: int
    seed: int


class Description(NamedTuple):
    """A process: the versions that can change a sample, a digest of Glyphscope's source, and its machine."""

    versions: dict[str, str]
    source: str
    machine: Machine


def describe() -> Description:
    """The process in which this is called."""
    found = {name: version for name, version in versions().items() if name != "python"}
    return Description(found, _source_digest(), this_machine())


@cache
def _source_digest() -> str:
    digest = hashlib.sha256()
    for root in (Path(glyphscope.__file__).parent, Path(__file__).parents[1]):
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root.parent).as_posix()
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class _OpenJob:
    """A job whose model and judges are open. It makes the samples of one request at a time. `sha256` are the hashes of
    the models' files.
    """

    def __init__(self, job: Job) -> None:
        """Raises GlyphscopeError where a model cannot be opened, or its file is another one."""
        self.job = job
        self._scenarios = {
            (loaded.suite.name, scenario.id): (loaded, scenario)
            for loaded in job.suites
            for scenario in loaded.suite.scenarios
        }
        self._cancelled: threading.Event | None = None
        self._used = time.monotonic()
        self._timer: threading.Timer | None = None
        self.sha256: dict[str, str] = {}
        with ExitStack() as stack:
            self._model = self._opened(job.model, job.sequences)
            stack.callback(self._model.close)
            judges = open_judges(job.needs, self._opened, stack)
            stack.pop_all()  # they stay open
        self._assertions = AssertionOptions(job.allow_python, judges)
        make = partial(run_sample, savings=job.savings, assertions=self._assertions)
        self._worker = LocalWorker(self._model, make, judges.values())
        self._wait_for_use()

    @property
    def facts(self) -> OpenedModel:
        judges = {judge.name: judge.info for judge in self._assertions.judges.values()}
        return replace(facts_of(self._model, self.job.suites, self.job.arms), judges=judges)

    def make(self, keys: Sequence[SampleKey], report: Callable[[SampleGrew], object]) -> list[SampleAndRuns]:
        samples = [
            Planned(key.arm, *self._scenarios[key.suite, key.scenario], key.trial, key.seed) for key in keys
        ]
        self._cancelled = cancelled = threading.Event()
        try:
            made = {each.id: result for each, result in self._worker.make(samples, cancelled, report)}
            return [made.get(each.id, (stopped_sample(each), [])) for each in samples]
        finally:
            self._cancelled = None
            self._wait_for_use()

    def cancel(self) -> None:
        """Ends the samples that are being made. Called again and again: they may be between two generations."""
        if (cancelled := self._cancelled) is not None:
            cancelled.set()
            self._worker.cancel()

    def close_if_idle(self, seconds: float) -> None:
        if self._cancelled is None and time.monotonic() - self._used >= seconds:
            self.close()

    def close(self) -> None:
        """Frees the models; those that can be are opened again by the next sample."""
        if self._timer is not None:
            self._timer.cancel()
        self._model.close()
        for judge in self._assertions.judges.values():
            judge.close()

    def _wait_for_use(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._used = time.monotonic()
        self._timer = threading.Timer(IDLE_SECONDS, self.close_if_idle, (IDLE_SECONDS,))
        self._timer.daemon = True
        self._timer.start()

    def _opened(self, name: str, sequences: int = 1) -> Model:
        opener = partial(self.job.opener, name, self.job.models, sequences=sequences)
        path = self.job.files.get(name) or model_file(name)
        if path is None:
            return opener()
        file = _file_here(path)
        self.sha256[name] = found = FileHash(file).value(HASH_SECONDS)
        if self.job.sha256.get(name, found) != found:
            raise differing_file(str(file), found, self.job.sha256[name])
        return opener(file=str(file))


def differing_file(path: str, found: str, expected: str) -> ModelError:
    """The error for a model's file with another hash than elsewhere."""
    return ModelError(
        f"The file differs from that of other machines: its SHA-256 is {shorten(found, 13)}, not "
        f"{shorten(expected, 13)}.",
        where=path,
        hint="Copy the same file to each machine.",
    )


def _file_here(path: Path) -> Path:
    """The file of that path, or of that name among the downloaded models. Raises ModelError where there is none."""
    if path.is_file():
        return path
    folder = places().models
    found = next((each for each in sorted(folder.rglob(path.name)) if each.is_file()), None)
    if found is None:
        raise ModelError(
            "There is no such file, and none of its name among the downloaded models.",
            where=str(path),
            hint="Copy it there, or evaluate a file in a folder that all machines share.",
        )
    return found


_jobs: dict[tuple[str, str], _OpenJob] = {}
"""The open jobs by worker, as several may be in one process, and id."""


def open_job(job: Job) -> tuple[OpenedModel, Mapping[str, str]] | str:
    """Open the models of a job, for `make_sample`: the facts and the files' hashes; or the reason why that fails."""
    here = get_worker().address
    for (worker, _), other in list(_jobs.items()):
        if worker == here:
            other.close_if_idle(OTHERS_IDLE_SECONDS)
    try:
        _jobs[here, job.id] = opened = _OpenJob(job)
        return opened.facts, opened.sha256
    except GlyphscopeError as error:
        return str(error)


def make_samples(id: str, keys: Sequence[SampleKey]) -> list[SampleAndRuns]:
    """The samples of the open job of that id, which report their texts as events of the topic `id`."""
    worker = get_worker()

    def report(grew: SampleGrew) -> None:
        worker.log_event(id, [grew.id, grew.tokens, grew.text, grew.judge])

    return _jobs[worker.address, id].make(keys, report)


def cancel_sample(id: str, dask_worker: object = None) -> None:
    """End the samples of that job; called in the worker's event loop, beside its tasks."""
    address = getattr(dask_worker, "address", "")
    if (job := _jobs.get((address, id))) is not None:
        job.cancel()


def close_job(id: str) -> None:
    """Close the models of that job."""
    if (job := _jobs.pop((get_worker().address, id), None)) is not None:
        job.close()
