"""Reads results and their runs in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import read_file
from glyphscope.base.structs import ready
from glyphscope.evals.alignment import Alignment, align
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.needs import needs_of, rubrics_of
from glyphscope.evals.matrix.plan import Matrix, Plan, plan_of
from glyphscope.evals.results.changes import ResultChanges, changes_between
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import MANIFEST, SAMPLES, ResultFolder
from glyphscope.evals.results.report import REPORT, SUMMARY, publish
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import summarise
from glyphscope.evals.results.table import INDEXED_FROM, Samples, SampleTable
from glyphscope.evals.results.wrong_token import bad_token, bad_turn
from glyphscope.evals.running.evaluation import saved_plan
from glyphscope.events import AnyEvent, RunRequest
from glyphscope.runs import run_state
from glyphscope_gui.evaluate.evaluations import EvalJob
from glyphscope_gui.evaluate.result import ComparedPair, EvalResult, read_samples
from glyphscope_gui.evaluate.setup import Price, price, suite_choice
from glyphscope_gui.evaluate.setup_lists import ScenarioRow, scenario_rows
from glyphscope_gui.evaluate.words import MeasureName
from glyphscope_gui.history.model import when
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.named_files import NamedFiles

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class OpenedResult:
    """A completely read result. `note` warns of its state, such as unfinished; "" for a complete result."""

    result: EvalResult
    note: str = ""
    may_resume: bool = False


@dataclass(frozen=True)
class OpenedRun:
    """A sample's run, and where it went wrong."""

    sample: Sample
    events: tuple[AnyEvent, ...]
    bad: TokenPlace | None


@dataclass(frozen=True)
class ComparedResults:
    """`result`, and its changes since another result, which `before` names; `arms` are the arms of both."""

    before: str
    result: EvalResult
    changes: ResultChanges
    arms: list[Arm]


@dataclass(frozen=True)
class PricedPlan:
    """A plan and its price; without a price, why it cannot be evaluated. `rubrics`: whether a judge is needed."""

    matrix: Matrix
    project: RunRequest | None = None
    plan: Plan | None = None
    price: Price | None = None
    problem: str = ""
    rubrics: bool = False
    scenarios: Sequence[ScenarioRow] = ()


class EvalReading(QObject):
    """Starts the functions of this module. `failed` carries the error of any of them, `suiteRead` a SuiteChoice and
    `runOpened` an OpenedRun, for every caller.
    """

    suiteRead = Signal(object)
    runOpened = Signal(object)
    failed = Signal(object)

    def __init__(self, files: NamedFiles, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.files = files
        self._background = Background(self)
        self.measure: MeasureName = "ok"
        """The measure that is shown of results."""

    def start(self, kind: str, work: Callable[[], _Outcome], then: Callable[[_Outcome], object]) -> None:
        """Call `work` in the background, and `then` with what it returns. A newer one of a kind discards the older."""
        self._background.start(kind, work, then, self.failed.emit)

    def start_with_files(
        self, kind: str, work: Callable[[], _Outcome], then: Callable[[_Outcome], object]
    ) -> None:
        """The same for work that reads suites, also the files outside of their folders that the user allowed."""

        def work_with_files() -> _Outcome:
            with self.files.reading():
                return work()

        self.start(kind, work_with_files, then)

    def read_suite(self, path: str) -> None:
        self.start(f"suite {path}", lambda: suite_choice(path, self.files), self.suiteRead.emit)

    def open_run(self, result: EvalResult, sample: Sample) -> None:
        """Open the sample's run, of the first turn that went wrong."""
        self.start("run", lambda: _run(result.folder, sample), self.runOpened.emit)

    def open_judge(self, result: EvalResult, sample: Sample, number: int) -> None:
        """Open the judge's run in the sample's verdict of that number, from 0."""
        self.start("run", lambda: _judge_run(result.folder, sample, number), self.runOpened.emit)


def read_result(path: Path, measure: MeasureName = "ok") -> OpenedResult:
    """Read a result, to show it by a measure. Raises StorageError, and RecordError for one that is invalid, newer, or
    damaged.
    """
    path = path.parent if path.is_file() else path
    folder = ResultFolder.open(path)
    table = folder.table()
    summary = _saved_summary(folder, table) or summarise(folder.manifest, table)
    result = EvalResult(path, folder.manifest, table, summary).prepared(measure)
    ended = folder.ended_in_the_middle(table)
    unfinished = (ended > 0 or not folder.manifest.finished) and not folder.is_being_written
    return OpenedResult(result, _note(folder, result, ended), unfinished)


def _saved_summary(folder: ResultFolder, table: SampleTable) -> Summary | None:
    """The summary in the folder of a large result; None if it is missing, or older than the samples or the manifest."""
    path = folder.path / SUMMARY
    if len(table) < INDEXED_FROM:
        return None
    try:
        newest = max((folder.path / name).stat().st_mtime_ns for name in (SAMPLES, MANIFEST))
        if path.stat().st_mtime_ns < newest:
            return None
        summary = msgspec.json.decode(read_file(path), type=ready(Summary))
    except (OSError, ValueError, RecursionError, GlyphscopeError):
        return None
    return summary if summary.samples == len(table) and summary.digest == folder.manifest.digest else None


def _note(folder: ResultFolder, result: EvalResult, ended: int) -> str:
    """Describe missing samples, another process that writes to the result, torn lines, and samples that were `ended`
    before their answer.
    """
    manifest, words = result.manifest, []
    if folder.is_being_written:
        words.append(tr("Another evaluation is writing to this result. Open it again to see new samples."))
    elif not manifest.finished:
        words.append(
            tr(
                "Incomplete: {samples:,} of {planned:,} samples.",
                samples=len(result),
                planned=manifest.planned,
            )
        )
    if folder.is_torn and not words:
        words.append(tr("The last line of samples.jsonl is incomplete; Resume reruns that sample."))
    if ended:
        words.append(
            tr(
                "Without an answer, as the model's process was ended: {samples}. Resume runs them again.",
                samples=pluralize(ended, "sample"),
            )
        )
    words.extend(
        tr("{name} was skipped: {why}", name=name, why=why) for name, why in manifest.missing.items()
    )
    return " ".join(words)


def made_report(path: Path) -> Path:
    """The report's HTML file, written now if it does not exist."""
    report = path / REPORT
    if not report.is_file():
        publish(path)
    return report


def priced(matrix: Matrix, project: RunRequest | None = None) -> PricedPlan:
    """Whether an evaluation as set up can begin, with the prompt of that project, and its price."""
    try:
        plan = plan_of(matrix, project)
    except GlyphscopeError as error:
        return PricedPlan(matrix, project, problem=str(error))
    rubrics, rows = rubrics_of(plan) > 0, scenario_rows(plan)
    try:
        needs_of(plan)
    except GlyphscopeError as error:
        return PricedPlan(matrix, project, plan, problem=judge_words(error), rubrics=rubrics, scenarios=rows)
    return PricedPlan(matrix, project, plan, price(plan), rubrics=rubrics, scenarios=rows)


def judge_words(error: GlyphscopeError) -> str:
    """Why there is no judge, with the fix in the window."""
    return tr("{suite}: {why} Choose one under Judge.", suite=error.where, why=error.message)


def compared(before: Path, result: EvalResult) -> ComparedResults:
    """The changes from another result to this one."""
    first, second = ResultFolder.open(before), result.folder
    changes = changes_between(*((folder.manifest, _readable(folder)) for folder in (first, second)))
    arms = {arm.id: arm for arm in (*first.manifest.arms, *result.manifest.arms)}
    return ComparedResults(when(first.manifest.started), result, changes, list(arms.values()))


def _readable(folder: ResultFolder) -> Samples:
    """The samples for a view, which shows the error in place of the texts of those that cannot be read."""
    table = folder.table()
    return Samples(table, partial(read_samples, folder, table.cells))


def _events(folder: ResultFolder, sample: Sample, turn: int) -> tuple[AnyEvent, ...]:
    if not sample.runs:
        hint = sample.failures[0].detail if sample.failures else ""
        raise RecordError(tr("No run was recorded for this sample."), where=sample.id, hint=hint)
    return folder.record(sample.runs[turn - 1]).events


def _run(folder: ResultFolder, sample: Sample) -> OpenedRun:
    turn = bad_turn(sample)
    events = _events(folder, sample, turn)
    bad = bad_token(run_state(events), sample, turn)
    return OpenedRun(sample, events, None if bad is None else TokenPlace(bad.stage, bad.token))


def _judge_run(folder: ResultFolder, sample: Sample, number: int) -> OpenedRun:
    return OpenedRun(sample, folder.record(sample.judged[number].run).events, None)


def aligned(result: EvalResult, pair: ComparedPair) -> Alignment:
    """Both runs of a pair by field; of several turns, the first in which either went wrong."""
    turn = min((bad_turn(sample) for sample in pair if sample.failures), default=1)
    folder = result.folder
    return align([run_state(_events(folder, sample, max(1, min(turn, len(sample.runs))))) for sample in pair])


def planned_again(result: EvalResult) -> EvalJob:
    """The job that makes the missing samples of a result."""
    return EvalJob(saved_plan(result.folder), result.path.parent, result.path)
