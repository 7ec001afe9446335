"""An evaluation: makes the plan's missing samples, one after another or several at once.

Each model is opened once for each of the `jobs`. Failures stay local: a run that fails is a failed sample, and a model
that cannot be opened, or fails repeatedly, costs only its own arms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError, ModelError, RecordError
from glyphscope.evals.matrix.needs import Needs, needs_of, require_consent
from glyphscope.evals.matrix.plan import LoadedSuite, Matrix, Plan, Planned
from glyphscope.evals.matrix.profiles import profile
from glyphscope.evals.results.folder import ResultFolder, SampleWriter
from glyphscope.evals.results.manifest import Manifest, this_machine
from glyphscope.evals.results.tables import suite_tables
from glyphscope.evals.running.forecast import Forecast
from glyphscope.evals.running.progress import (
    Begun,
    Control,
    Ended,
    ModelMissing,
    ModelOpened,
    Progress,
    SampleBegun,
    SampleDone,
    SampleGrew,
)
from glyphscope.evals.running.run_sample import run_sample
from glyphscope.evals.running.worker_pool import WorkerPool
from glyphscope.evals.scoring.assertions import AssertionOptions
from glyphscope.evals.scoring.model_judge import ModelJudge
from glyphscope.evals.suites.reading import parse_suite, suite_registry
from glyphscope.models.interface import Model
from glyphscope.models.opening import open_model
from glyphscope.runs.emitter import versions
from glyphscope.sessions.files import now

Opener: TypeAlias = Callable[[str], Model]

PATIENCE = 5
"""The number of consecutive failures of a model (died, not reached) after which its other samples are left out."""


def evaluate(
    plan: Plan,
    out: Path,
    *,
    resume: Path | None = None,
    again: bool = False,
    opener: Opener = open_model,
    control: Control | None = None,
    allow_python: bool = False,
) -> Generator[Progress, None, None]:
    """Make the samples and save each in the folder: a new one below `out`, or `resume`, which is continued.

    With `again`, samples without an answer (the model died or was not reached) are made again.
    Closing the iterator stops the evaluation, as does `control.stop()`, from any thread. `allow_python` is the user's
    consent to run the suites' Python functions. Raises StorageError if nothing can be written, RecordError if `resume`
    belongs to another plan; the samples so far are in the folder. Raises GlyphscopeError, before anything is written,
    without that consent, and for a judge that is not named or cannot be opened.
    """
    control = control or Control()
    needs = needs_of(plan)
    if not allow_python:
        require_consent(needs)
    with ExitStack() as stack:
        judges = _judges(needs, opener, stack)
        folder = _folder(plan, out, resume)
        writer = stack.enter_context(folder.writing())
        if resume is not None:  # read again, now that no one else writes to it
            manifest = ResultFolder.open(resume).manifest
            folder.keep(msgspec.structs.replace(manifest, finished="", jobs=plan.matrix.jobs))
        opened = {judge.name: judge.info for judge in judges.values()}
        if opened:
            folder.keep(msgspec.structs.replace(folder.manifest, judges=opened))
        present = {sample.id for sample in folder.samples() if sample.answered or not again}
        missing = [planned for planned in plan.samples() if planned.id not in present]
        yield Begun(folder.path, folder.manifest, len(present))
        assertions = AssertionOptions(allow_python, judges)
        work = _Work(plan, folder, writer, control, opener, assertions, Forecast(missing), done=len(present))
        for name in plan.matrix.models:
            todo = [planned for planned in missing if planned.arm.model == name]
            if todo and not control.stopped.is_set():
                yield from work.of_model(name, todo, min(plan.matrix.jobs, len(todo)))
        complete = not control.stopped.is_set()
        if complete:
            folder.keep(msgspec.structs.replace(folder.manifest, finished=now()))
    yield Ended(folder.path, complete)


def _judges(needs: Needs, opener: Opener, stack: ExitStack) -> dict[str, ModelJudge]:
    """The judge of each suite that has rubrics; a shared one is opened once. Raises ModelError."""
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


def _folder(plan: Plan, out: Path, resume: Path | None) -> ResultFolder:
    matrix = plan.matrix
    if resume is not None:
        folder = ResultFolder.open(resume)
        if folder.manifest.digest != plan.digest:
            raise RecordError(
                "This result was made from another matrix, or its suites were changed since.",
                where=str(resume),
                hint="Start a new evaluation, or give the options and suites that this one was started with.",
            )
        return folder
    manifest = Manifest(
        digest=plan.digest,
        started=now(),
        suites=tuple(suite.used for suite in plan.suites),
        arms=plan.arms,
        **_common_settings(matrix),
        planned=plan.cost.samples,
        versions=versions(),
        machine=this_machine(),
    )
    return ResultFolder.create(out, manifest, {suite.suite.name: suite.data for suite in plan.suites})


def _common_settings(settings: Matrix | Manifest) -> dict[str, Any]:
    """The settings that a matrix and its manifest have in common."""
    return {name: getattr(settings, name) for name in ("trials", "seed", "jobs", "savings", "judge")}


@dataclass
class _Work:
    """The shared state of all models' samples: the folder, the number `done`, the forecast for the others."""

    plan: Plan
    folder: ResultFolder
    writer: SampleWriter
    control: Control
    opener: Opener
    assertions: AssertionOptions
    forecast: Forecast
    done: int

    def of_model(self, name: str, todo: list[Planned], jobs: int) -> Iterator[Progress]:
        """Make the samples of one model. Its jobs report to this thread, which alone writes the samples."""
        with ExitStack() as stack:
            models: list[Model] = []
            try:
                for _ in range(jobs):
                    models.append(self.opener(name))
                    stack.callback(models[-1].close)
            except GlyphscopeError as error:
                yield self._missing(name, str(error))
                return
            self._opened(name, models[0])
            yield ModelOpened(name)
            make = partial(run_sample, savings=self.folder.manifest.savings, assertions=self.assertions)
            pool = WorkerPool(models, todo, self.control, make, self.assertions.judges.values())
            stack.enter_context(pool)  # it ends before the models are closed
            yield from self._gathered(name, pool)

    def _gathered(self, name: str, pool: WorkerPool) -> Iterator[Progress]:
        fails, why = 0, ""
        for item in pool.items():
            if isinstance(item, SampleBegun | SampleGrew):
                yield item
                continue
            if item.stopped or (why and not item.sample.answered):
                continue  # a stopped one is dropped, and so is a failed one after the limit
            sample = self.writer.add(item.sample, item.runs)
            self.done += 1
            self.forecast.add(sample.id, item.seconds)
            yield SampleDone(sample, self.done, self.forecast.left / pool.jobs)
            fails = fails + 1 if any(f.reason == "MODEL_FAILED" for f in sample.failures) else 0
            if fails == PATIENCE:
                pool.stop()
                why = f"It failed {PATIENCE} times one after the other, last: {sample.failures[0].detail}"
        if why:
            yield self._missing(name, why)

    def _missing(self, name: str, why: str) -> ModelMissing:
        manifest = self.folder.manifest
        self.forecast.cancel_arms(arm.id for arm in manifest.arms if arm.model == name)
        self.folder.keep(msgspec.structs.replace(manifest, missing={**manifest.missing, name: why}))
        return ModelMissing(name, why)

    def _opened(self, name: str, model: Model) -> None:
        """Save the facts about an open model: its info, its arms' sampling, and its token counts of calls."""
        manifest = self.folder.manifest
        arms = [arm for arm in manifest.arms if arm.model == name]
        sampling = {arm.id: profile(arm.profile).of(model.info.name, manifest.seed) for arm in arms}
        missing = {other: why for other, why in manifest.missing.items() if other != name}
        self.folder.keep(
            msgspec.structs.replace(
                manifest,
                models={**manifest.models, name: model.info},
                profiles={**manifest.profiles, **sampling},
                missing=missing,
            )
        )
        tables = [
            suite_tables(suite, suite_registry(suite, None), _counter(model), model=model.info.name)
            for suite in (loaded.suite for loaded in self.plan.suites)
            if suite.checks or suite.sizes
        ]
        if tables:
            self.folder.keep_tables(tables)


def _counter(model: Model) -> Callable[[str], int] | None:
    """The model's function to count tokens; None if it cannot, like an endpoint without a tokenizer."""
    try:
        model.count_tokens("")
    except GlyphscopeError:
        return None
    return model.count_tokens


def saved_plan(folder: ResultFolder) -> Plan:
    """The plan of a result, with the same samples. Raises StorageError for a missing suite, SuiteError and RecordError
    for one that was changed.
    """
    manifest = folder.manifest
    suites = tuple(_suites(folder))
    matrix = Matrix(
        suites=tuple(suite.name for suite in manifest.suites),
        models=tuple(dict.fromkeys(arm.model for arm in manifest.arms)),
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
