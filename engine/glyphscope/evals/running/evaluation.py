"""An evaluation: makes the plan's missing samples, one after another or several at once.

Each model is opened once by each worker. Failures stay local: a run that fails is a failed sample, and a model
that cannot be opened, or fails repeatedly, costs only its own arms.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from glyphscope.base.errors import ModelError, RecordError
from glyphscope.evals.matrix.needs import needs_of, require_consent
from glyphscope.evals.matrix.notes import not_offered
from glyphscope.evals.matrix.plan import LoadedSuite, Matrix, Plan, Planned, SampleOrder
from glyphscope.evals.matrix.profiles import profile
from glyphscope.evals.results.folder import ResultFolder, SampleWriter, list_results, newest_of
from glyphscope.evals.results.manifest import IN_SEGMENTS, MAX_FILES, Manifest, WorkerFacts, this_machine
from glyphscope.evals.results.sample import SampleFailure, has_answer, was_ended
from glyphscope.evals.running import progress
from glyphscope.evals.running.local_workers import LocalWorkers, Opener
from glyphscope.evals.running.tool_servers import require_servers
from glyphscope.evals.running.worker_pool import (
    FinishedSample,
    OpenedModel,
    WorkerOpened,
    WorkerPool,
    Workers,
)
from glyphscope.evals.suites.reading import parse_suite
from glyphscope.evals.suites.suite import Suite
from glyphscope.models.opening import open_model
from glyphscope.processes.stopping import stopped_by
from glyphscope.runs.emitter import versions
from glyphscope.store.files import now

PATIENCE = 5
"""The number of consecutive failures of a worker's model (died, not reached) after which it makes no more samples."""


def evaluate(
    plan: Plan,
    out: Path,
    *,
    resume: Path | None = None,
    again: bool = False,
    opener: Opener = open_model,
    workers: Workers | None = None,
    control: progress.Control | None = None,
    allow_python: bool = False,
) -> Generator[progress.Progress, None, None]:
    """Make the samples and save each in the folder: a new one below `out`, or `resume`, which is continued.

    Of `resume`, samples are made again whose process was ended in the middle of them; with `again`, all without an
    answer (the model died or was not reached).
    `workers` are those of this process unless given, with models from `opener`.
    Closing the iterator stops the evaluation, as does `control.stop()`, from any thread. `allow_python` is the user's
    consent to run the suites' Python functions. Raises StorageError if nothing can be written, RecordError if `resume`
    belongs to another plan; the samples so far are in the folder. Raises GlyphscopeError, before anything is written,
    without that consent, for a judge that is not named or cannot be opened, and for an MCP server that does not start.
    """
    control = control or progress.Control()
    workers = workers or LocalWorkers(opener)
    needs = needs_of(plan)
    if not allow_python:
        require_consent(needs)
    servers = workers.servers
    require_servers(plan.matrix.servers, servers)
    with ExitStack() as stack:
        if servers is not None:
            stack.callback(servers.close)
            with stopped_by(control.stopped.is_set):
                plan = replace(plan, notes=(*plan.notes, *servers.notes(plan.suites)))
        judges = stack.enter_context(workers.begin(plan, needs, allow_python, control))
        folder = _folder(plan, out, resume)
        writer = stack.enter_context(folder.writing())
        if resume is not None:  # read again, now that no one else writes to it
            manifest = ResultFolder.open(resume).manifest
            folder.keep(msgspec.structs.replace(manifest, finished="", jobs=plan.matrix.jobs))
        if judges:
            folder.keep(msgspec.structs.replace(folder.manifest, judges=dict(judges)))
        made = _made(folder, plan.order, again=again)
        together = plan.matrix.sequences
        missing = {name: plan.order.missing(name, made, together) for name in plan.matrix.models}
        yield progress.Begun(folder.path, folder.manifest, done := sum(made))
        forecast = Forecast(each for each in chain.from_iterable(missing.values()) if not each.is_made)
        work = _Work(folder, writer, control, workers, forecast, [each.suite for each in plan.suites], done)
        for name, todo in missing.items():
            if todo and not control.stopped.is_set():
                yield from work.of_model(name, todo)
        complete = not control.stopped.is_set()
        if complete:
            folder.keep(msgspec.structs.replace(folder.manifest, finished=now()))
    yield progress.EvaluationEnded(folder.path, complete)


class _Made(msgspec.Struct):
    """The part of a sample's line that says whether it is to be made again."""

    arm: str
    suite: str
    scenario: str
    trial: int
    failures: tuple[SampleFailure, ...] = ()


def _made(folder: ResultFolder, order: SampleOrder, *, again: bool) -> bytearray:
    """A byte for each planned sample, 1 for those in the folder that are not made again."""
    made = bytearray(len(order))
    for each in folder.lines(_Made):
        place = order.place(each.arm, each.suite, each.scenario, each.trial)
        if place is not None:
            made[place] = has_answer(each.failures) or not (again or was_ended(each.failures))
    return made


def _folder(plan: Plan, out: Path, resume: Path | None) -> ResultFolder:
    matrix = plan.matrix
    if resume is not None:
        folder = ResultFolder.open(resume)
        if folder.manifest.digest != plan.digest:
            require_same_sequences(plan, resume, folder.manifest)
            raise RecordError(
                "This result was made from another matrix, or its suites were changed since.",
                where=str(resume),
                hint="Start a new evaluation, or give the options and suites that this one was started with.",
            )
        return folder
    manifest = Manifest(
        glyphscope_eval=1 if plan.cost.samples <= MAX_FILES else IN_SEGMENTS,
        digest=plan.digest,
        started=now(),
        suites=tuple(suite.used for suite in plan.suites),
        arms=plan.arms,
        **_common_settings(matrix),
        planned=plan.cost.samples,
        versions=versions(),
        machine=this_machine(),
        sequences=UNSET if matrix.sequences == 1 else matrix.sequences,
        servers=matrix.servers or UNSET,
        keep_servers=matrix.keep_servers or UNSET,
        notes=(*plan.notes, *not_offered([each.suite for each in plan.suites])) or UNSET,
    )
    return ResultFolder.create(out, manifest, {suite.suite.name: suite.data for suite in plan.suites})


def require_same_sequences(plan: Plan, path: Path, manifest: Manifest) -> None:
    """Raises RecordError for a result of the same matrix with another number of sequences."""
    there, asked = manifest.sequence_count, plan.matrix.sequences
    same = replace(plan, matrix=msgspec.structs.replace(plan.matrix, sequences=there))
    if there != asked and same.digest == manifest.digest:
        raise RecordError(
            f"This result was made with the batch size {there}, not {asked}; its figures depend on that.",
            where=str(path),
            hint=f"Resume it with --sequences {there}, or start a new evaluation.",
        )


def newest_result(plan: Plan, out: Path) -> Path | None:
    """The newest result of the plan below `out`. Raises RecordError if there is only one with another number of
    sequences.
    """
    if (found := newest_of(out, plan.digest)) is None:
        for row in list_results(out):
            if row.manifest is not None:
                require_same_sequences(plan, row.path, row.manifest)
    return found


def _common_settings(settings: Matrix | Manifest) -> dict[str, Any]:
    """The settings that a matrix and its manifest have in common."""
    return {name: getattr(settings, name) for name in ("trials", "seed", "jobs", "savings", "judge")}


@dataclass
class _Work:
    """The shared state of all models' samples: the folder, the number `done`, the forecast for the others."""

    folder: ResultFolder
    writer: SampleWriter
    control: progress.Control
    workers: Workers
    forecast: Forecast
    suites: Sequence[Suite]
    done: int
    _open: set[str] = field(default_factory=set)
    _joined: set[str] = field(default_factory=set)

    def of_model(self, name: str, todo: Sequence[Planned]) -> Iterator[progress.Progress]:
        """Make the samples of one model. Its workers report to this thread, which alone writes the samples."""
        try:
            self._joined.clear()
            with self.workers.pool(name, todo, self.control) as pool:
                yield from self._gathered(name, pool)
        except ModelError as error:
            if not self.control.stopped.is_set():  # otherwise its loading was stopped
                yield self._missing(name, str(error))

    def _gathered(self, name: str, pool: WorkerPool) -> Iterator[progress.Progress]:
        fails: Counter[str] = Counter()  # one after the other, by worker
        for item in pool.items():
            if isinstance(item, WorkerOpened):
                yield from self._opened(name, item)
                continue
            if not isinstance(item, FinishedSample):
                if isinstance(item, progress.WorkerLeft):
                    self._joined.discard(item.address)
                yield item
                continue
            left_out = fails[item.worker] >= PATIENCE
            if item.stopped or (left_out and not item.worker and not item.sample.answered):
                continue  # a stopped one is made again by resuming; a failed one after the limit is not
            sample = self.writer.add(item.sample, item.runs)
            self.done += 1
            self.forecast.add(item.planned, item.seconds)
            yield progress.SampleDone(sample, self.done, self.forecast.left / pool.jobs)
            if left_out:
                continue
            failed = any(failure.reason == "MODEL_FAILED" for failure in sample.failures)
            fails[item.worker] = fails[item.worker] + 1 if failed else 0
            if fails[item.worker] == PATIENCE:
                last = sample.failures[0].detail
                pool.leave_out(item.worker, f"It failed {PATIENCE} times one after the other, last: {last}")

    def _missing(self, name: str, why: str) -> progress.ModelMissing:
        manifest = self.folder.manifest
        self.forecast.cancel_arms(arm.id for arm in manifest.arms if arm.model == name)
        self.folder.keep(msgspec.structs.replace(manifest, missing={**manifest.missing, name: why}))
        return progress.ModelMissing(name, why)

    def _opened(self, name: str, opened: WorkerOpened) -> Iterator[progress.Progress]:
        """Save the worker's machine, and the facts about the model that it opened: itself, its arms' sampling, and its
        token counts of calls.
        """
        manifest = self.folder.manifest
        is_first = name not in self._open
        if opened.address and opened.facts is not None:
            before = manifest.workers.get(opened.address, WorkerFacts())
            worker = WorkerFacts(
                machine=opened.machine or before.machine, models={**before.models, name: opened.facts.info}
            )
            manifest = msgspec.structs.replace(manifest, workers={**manifest.workers, opened.address: worker})
        if is_first and opened.facts is not None:
            self._open.add(name)
            manifest = self._with_facts(manifest, name, opened.facts)
        if manifest != self.folder.manifest:
            self.folder.keep(manifest)
        if is_first:
            yield progress.ModelOpened(name, () if opened.facts is None else opened.facts.problems)
        if opened.address and opened.address not in self._joined:
            self._joined.add(opened.address)
            yield progress.WorkerJoined(opened.address)

    def _with_facts(self, manifest: Manifest, name: str, facts: OpenedModel) -> Manifest:
        arms = [arm for arm in manifest.arms if arm.model == name]
        of_project = next((each.sampling for each in self.suites if each.sampling is not None), None)
        sampling = {arm.id: profile(arm.profile).of(facts.info, manifest.seed, of_project) for arm in arms}
        if facts.tables:
            self.folder.keep_tables(facts.tables)
        return msgspec.structs.replace(
            manifest,
            models={**manifest.models, name: facts.info},
            judges={**manifest.judges, **facts.judges},
            profiles={**manifest.profiles, **sampling},
            missing={other: why for other, why in manifest.missing.items() if other != name},
        )


def saved_plan(folder: ResultFolder) -> Plan:
    """The plan of a result, with the same samples. Raises StorageError for a missing suite, SuiteError and RecordError
    for one that was changed.
    """
    manifest = folder.manifest
    suites = tuple(_suites(folder))
    matrix = Matrix(
        suites=tuple(suite.name for suite in manifest.suites),
        models=tuple(dict.fromkeys(arm.model for arm in manifest.arms)),
        sequences=manifest.sequence_count,
        servers=manifest.servers or (),
        keep_servers=bool(manifest.keep_servers),
        **_common_settings(manifest),
    )
    return Plan(matrix, suites, manifest.arms, manifest.digest)


def _suites(folder: ResultFolder) -> Iterator[LoadedSuite]:
    for used in folder.manifest.suites:
        data = folder.suite(used.name)
        if hashlib.sha256(data).hexdigest() != used.digest:
            raise RecordError(
                f'The suite "{used.name}" was changed since it was asked.',
                where=str(folder.path),
                hint="Start a new evaluation: samples of two suites cannot share a result.",
            )
        yield LoadedSuite(parse_suite(data, where=used.name), data)


# the forecast of the time for the remaining samples


LATEST = 100
"""The number of samples of a kind, the latest ones, from which its time is computed."""


class _Kind(NamedTuple):
    """Samples of one arm that take about as long; `reads`: their prompts differ from the previous sample's."""

    arm: str
    reads: bool


class Forecast:
    """The forecast for samples in the order in which they are made. Times are for one job, in seconds.

    The time of a sample depends on its arm (a text that is stopped at its first error is short), and on whether its
    prompt begins like the previous one: otherwise all of it must be read. Both are known in advance, so samples are
    grouped into kinds by them; within a kind, scenarios differ, which averages out. The very first sample includes a
    warm-up, so it counts only while nothing else is known of its kind.
    """

    def __init__(self, planned: Iterable[Planned]) -> None:
        self._left: Counter[_Kind] = Counter()
        self._reading: set[str] = set()
        """The ids of the samples whose prompts are read: few, as arms and trials have the same ones."""
        before: Hashable = None
        for each in planned:
            prompt = each.prompt_kind
            if prompt != before:
                self._reading.add(each.id)
            self._left[_Kind(each.arm.id, prompt != before)] += 1
            before = prompt
        self._took: dict[_Kind, deque[float]] = defaultdict(partial(deque, maxlen=LATEST))
        self._totals: dict[_Kind, tuple[float, int]] = {}
        """The total of these times, and their number."""
        self._warmed_up: _Kind | None = None

    def add(self, planned: Planned, seconds: float) -> None:
        """Record the time of a finished sample."""
        kind = _Kind(planned.arm.id, planned.id in self._reading)
        self._left[kind] -= 1
        if kind == self._warmed_up:
            self._warmed_up = None
            self._took[kind].clear()
        elif not self._took:
            self._warmed_up = kind
        self._took[kind].append(seconds)
        self._totals[kind] = _total(sorted(self._took[kind])), len(self._took[kind])

    def cancel_arms(self, arms: Iterable[str]) -> None:
        """Drop the remaining samples of these arms."""
        for arm in arms:
            for reads in (True, False):
                self._left[_Kind(arm, reads)] = 0

    @property
    def left(self) -> float:
        """The time for all remaining samples; 0 before the first one is finished."""
        usual, _ = self._mean(self._totals)
        return sum(number * self._seconds(kind, usual) for kind, number in self._left.items() if number)

    def _seconds(self, kind: _Kind, usual: float) -> float:
        """The mean of its kind, or of the most similar kinds if it has no samples yet, pulled towards the mean of all
        samples as if one more had taken that long: a single long text must not dominate two or three samples.
        """
        for kinds in (
            (kind,),
            (each for each in self._totals if each.reads == kind.reads),
            (each for each in self._totals if each.arm == kind.arm),
        ):
            mean, made = self._mean(kinds)
            if made:
                return (mean * made + usual) / (made + 1)
        return usual

    def _mean(self, kinds: Iterable[_Kind]) -> tuple[float, int]:
        """The mean of these kinds, and the number of samples; 0.0 without any."""
        seconds, made = 0.0, 0
        for each in kinds:
            total, number = self._totals.get(each, (0.0, 0))
            seconds, made = seconds + total, made + number
        return seconds / made if made else 0.0, made


def _total(took: list[float]) -> float:
    """The sum of sorted times. A text that ran to its limit among few others says little about the rest: it counts as
    at most a multiple of the median, which grows with their number.
    """
    if len(took) < 3:
        return sum(took)
    most = took[len(took) // 2] * (2 + len(took) / 4)
    return sum(min(each, most) for each in took)
