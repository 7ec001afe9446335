"""An evaluation: the plan's samples that are not there yet, made one after the other or several at once.

Each model is opened once for each of the `jobs`. What goes wrong with one stays with it: a run that fails is a sample
that failed, a model that cannot be opened, or fails time after time, costs its own arms.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError, ModelError, RecordError
from glyphscope.evals.machine import this_machine
from glyphscope.evals.matrix.needs import Needs, needs_of, require_consent
from glyphscope.evals.matrix.plan import Plan, Planned
from glyphscope.evals.matrix.profiles import profile
from glyphscope.evals.results.folder import ResultFolder, SampleWriter
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample
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
from glyphscope.evals.scoring.assertions import Assertors
from glyphscope.evals.scoring.model_judge import ModelJudge
from glyphscope.evals.suites.reading import suite_registry
from glyphscope.events import AnyEvent
from glyphscope.models import Model, open_model
from glyphscope.runs.emitter import versions
from glyphscope.sessions.files import now

Opener: TypeAlias = Callable[[str], Model]

PATIENCE = 5
"""How often a model may fail one after the other (die, not be reached) before its other samples are left out."""


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
    """Makes the samples and puts each into the folder, a new one below `out`, or `resume`, which it goes on with.

    With `again`, samples of which nothing can be said of the model (it died, it was not reached) are made once more.
    Closing the iterator stops, as `control.stop()` does from any thread. `allow_python` is the user's consent to run
    the suites' Python functions. Raises StorageError where nothing can be written, RecordError where `resume` is
    another plan's; what was made until then is in the folder. Raises GlyphscopeError, before anything is written,
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
        if resume is not None:  # read again, now that nobody else writes to it
            manifest = ResultFolder.open(resume).manifest
            folder.keep(msgspec.structs.replace(manifest, finished="", jobs=plan.matrix.jobs))
        opened = {judge.name: judge.info for judge in judges.values()}
        if opened:
            folder.keep(msgspec.structs.replace(folder.manifest, judges=opened))
        there = {sample.id for sample in folder.samples() if sample.answered or not again}
        missing = [planned for planned in plan.samples() if planned.id not in there]
        yield Begun(folder.path, folder.manifest, len(there))
        assertors = Assertors(allow_python, judges)
        work = _Work(plan, folder, writer, control, opener, assertors, Forecast(missing), done=len(there))
        for name in plan.matrix.models:
            todo = [planned for planned in missing if planned.arm.model == name]
            if todo and not control.stopped.is_set():
                yield from work.of_model(name, todo, min(plan.matrix.jobs, len(todo)))
        complete = not control.stopped.is_set()
        if complete:
            folder.keep(msgspec.structs.replace(folder.manifest, finished=now()))
    yield Ended(folder.path, complete)


def _judges(needs: Needs, opener: Opener, stack: ExitStack) -> dict[str, ModelJudge]:
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
        trials=matrix.trials,
        seed=matrix.seed,
        jobs=matrix.jobs,
        savings=matrix.savings,
        judge=matrix.judge,
        planned=plan.cost.samples,
        versions=versions(),
        machine=this_machine(),
    )
    return ResultFolder.create(out, manifest, {suite.suite.name: suite.data for suite in plan.suites})


@dataclass
class _Work:
    """What all models' samples share: the folder, how many are made, and the time for the others."""

    plan: Plan
    folder: ResultFolder
    writer: SampleWriter
    control: Control
    opener: Opener
    assertors: Assertors
    forecast: Forecast
    done: int

    def of_model(self, name: str, todo: list[Planned], jobs: int) -> Iterator[Progress]:
        """The samples of one model. Its jobs hand what they tell to this thread, which alone writes."""
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
            savings = self.folder.manifest.savings
            crew = _Crew(models, todo, self.control, savings, self.assertors)
            stack.callback(crew.stop)  # before the models are closed
            crew.start()
            yield from self._gathered(name, crew)

    def _gathered(self, name: str, crew: _Crew) -> Iterator[Progress]:
        fails, why = 0, ""
        for item in crew.items():
            if isinstance(item, SampleBegun | SampleGrew):
                yield item
                continue
            sample, runs, seconds = item
            if why and not sample.answered:  # it says nothing new; what other jobs answered meanwhile is kept
                continue
            sample = self.writer.add(sample, runs)
            self.done += 1
            self.forecast.add(sample.id, seconds)
            yield SampleDone(sample, self.done, self.forecast.left / crew.jobs)
            fails = fails + 1 if any(f.reason == "MODEL_FAILED" for f in sample.failures) else 0
            if fails == PATIENCE:
                crew.stop()
                why = f"It failed {PATIENCE} times one after the other, last: {sample.failures[0].detail}"
        if why:
            yield self._missing(name, why)

    def _missing(self, name: str, why: str) -> ModelMissing:
        manifest = self.folder.manifest
        self.forecast.give_up(arm.id for arm in manifest.arms if arm.model == name)
        self.folder.keep(msgspec.structs.replace(manifest, missing={**manifest.missing, name: why}))
        return ModelMissing(name, why)

    def _opened(self, name: str, model: Model) -> None:
        """What is known of the model goes into the folder: itself, how its arms draw tokens, its tokens of calls."""
        manifest = self.folder.manifest
        arms = [arm for arm in manifest.arms if arm.model == name]
        drawn = {arm.id: profile(arm.profile).of(model.info.name, manifest.seed) for arm in arms}
        missing = {other: why for other, why in manifest.missing.items() if other != name}
        self.folder.keep(
            msgspec.structs.replace(
                manifest,
                models={**manifest.models, name: model.info},
                profiles={**manifest.profiles, **drawn},
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
    """How the model counts tokens; None where it cannot, as an endpoint without a tokenizer to ask."""
    try:
        model.count_tokens("")
    except GlyphscopeError:
        return None
    return model.count_tokens


_Made: TypeAlias = tuple[Sample, list[list[AnyEvent]], float]
"""A sample, the events of its runs, and the seconds that it took."""


class _Crew:
    """Threads that make samples, each with a model of its own, until none are left or they are stopped."""

    def __init__(
        self,
        models: list[Model],
        todo: list[Planned],
        control: Control,
        savings: float,
        assertors: Assertors,
    ) -> None:
        self._models, self._savings, self._assertors = models, savings, assertors
        self._todo = iter(todo)
        self._control = control
        self._taking = threading.Lock()
        self._told: queue.SimpleQueue[SampleBegun | SampleGrew | _Made | BaseException | None] = (
            queue.SimpleQueue()
        )
        self._ended = threading.Event()
        self.jobs = len(models)
        self._threads = [
            threading.Thread(target=self._work, args=(model,), name=f"evaluation {number}")
            for number, model in enumerate(models, 1)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends what is being made, and waits for the threads."""
        self._ended.set()
        while any(thread.is_alive() for thread in self._threads):
            for model in self._models:
                model.cancel()  # again and again: it may be between two generations
            for judge in self._assertors.judges.values():
                judge.cancel()
            for thread in self._threads:
                thread.join(0.02)

    def items(self) -> Iterator[SampleBegun | SampleGrew | _Made]:
        """What the threads tell, until the last of them ends. Raises what one of them did not expect."""
        working = len(self._threads)
        while working:
            try:
                item = self._told.get(timeout=0.05)
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

    def _work(self, model: Model) -> None:
        try:
            while self._control.wait() and not self._ended.is_set():
                with self._taking:
                    planned = next(self._todo, None)
                if planned is None:
                    break
                suite, scenario = planned.suite.suite.name, planned.scenario.id
                self._told.put(SampleBegun(planned.id, planned.arm.id, suite, scenario, planned.trial))
                began = time.monotonic()
                made = run_sample(planned, model, self._ended, self._savings, self._told.put, self._assertors)
                if made is not None:
                    self._told.put((*made, time.monotonic() - began))
        except BaseException as error:  # a mistake of ours: it ends the evaluation, in its own thread
            self._told.put(error)
        finally:
            self._told.put(None)
