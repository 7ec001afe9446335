"""Reads results and their runs in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import msgspec
from PySide6.QtCore import QObject, Signal

from glyphscope.errors import GlyphscopeError, RecordError
from glyphscope.evals.align import Alignment, align
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.needs import needs_of, rubrics_of
from glyphscope.evals.matrix.plan import Matrix, Plan, plan_of
from glyphscope.evals.results.bad_token import bad_token, bad_turn
from glyphscope.evals.results.changes import Changes, changes_between
from glyphscope.evals.results.export import Exported, export_samples
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import MANIFEST, SAMPLES, ResultFolder, ResultRow, list_results
from glyphscope.evals.results.report import REPORT, SUMMARY, publish
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import summarise
from glyphscope.evals.results.table import INDEXED_FROM, Samples, Table
from glyphscope.evals.running.evaluate import saved_plan
from glyphscope.evals.suites.suite import Suite
from glyphscope.events import AnyEvent
from glyphscope.inputs import read_file
from glyphscope.runs import run_state
from glyphscope.structs import ready
from glyphscope.text.figures import pluralize
from glyphscope_gui.evaluate.evaluations import EvalJob
from glyphscope_gui.evaluate.result import EvalResult, Pair, Pairs, pairs_that_differ, read_samples
from glyphscope_gui.evaluate.setup import Price, SuiteChoice, editable, price, suite_choice, suite_choices
from glyphscope_gui.evaluate.setup_lists import ScenarioRow, scenario_rows
from glyphscope_gui.evaluate.words import MeasureName
from glyphscope_gui.history.model import when
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.named_files import NamedFiles

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Opened:
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
class Compared:
    """`result`, and its changes since another result, which `before` names; `arms` are the arms of both."""

    before: str
    result: EvalResult
    changes: Changes
    arms: list[Arm]


@dataclass(frozen=True)
class Priced:
    """A plan and its price; without a price, why it cannot be evaluated. `rubrics`: whether a judge is needed."""

    matrix: Matrix
    plan: Plan | None = None
    price: Price | None = None
    problem: str = ""
    rubrics: bool = False
    scenarios: Sequence[ScenarioRow] = ()


class EvalReading(QObject):
    """A newer request of a kind discards the result of the older one. `failed` carries the error of any request,
    `suiteRead` a SuiteChoice and `runOpened` an OpenedRun, for every caller.
    """

    suiteRead = Signal(object)
    runOpened = Signal(object)
    failed = Signal(object)

    def __init__(self, files: NamedFiles, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._files = files
        self._background = Background(self)
        self.measure: MeasureName = "ok"
        """The measure that is shown of results."""

    def load_charts(self) -> None:
        """Import the modules of a result's view."""
        self._start(
            "charts", lambda: import_module("glyphscope_gui.evaluate.result_view"), lambda _module: None
        )

    def open(self, path: Path, then: Callable[[Opened], object]) -> None:
        """Read a result's samples and summarise them."""
        self._start("open", lambda: read_result(path, self.measure), then)

    def refresh(self, path: Path, then: Callable[[Opened], object]) -> None:
        """Reread the shown result; a result that the user opens meanwhile is opened anyway."""
        self._start("refresh", lambda: read_result(path, self.measure), then)

    def prepare(self, result: EvalResult, then: Callable[[EvalResult], object]) -> None:
        """Compute what is shown of a result by the measure."""
        self._start("prepare", lambda: result.prepared(self.measure), then)

    def list(self, parent: Path, then: Callable[[Sequence[ResultRow]], object]) -> None:
        self._start("list", lambda: list_results(parent), then)

    def find_suites(self, own: Path, then: Callable[[Sequence[SuiteChoice]], object]) -> None:
        """Read the bundled suites, and the user's in the folder `own`."""
        self._start("suites", lambda: suite_choices(own, self._files), then)

    def load_suite(self, source: str, then: Callable[[tuple[Suite, Path | None]], object]) -> None:
        """Read a suite to edit it; `then` gets it and its file, None if it cannot be written there."""
        self._start("load", self._allowed(lambda: editable(source)), then)

    def read_suite(self, path: str) -> None:
        self._start(f"suite {path}", lambda: suite_choice(path, self._files), self.suiteRead.emit)

    def price(self, matrix: Matrix, then: Callable[[Priced], object]) -> None:
        self._start("price", self._allowed(lambda: _priced(matrix)), then)

    def open_run(self, result: EvalResult, sample: Sample) -> None:
        """Open the sample's run, of the first turn that went wrong."""
        folder = ResultFolder(result.path, result.manifest)
        self._start("run", lambda: _run(folder, sample), self.runOpened.emit)

    def open_judge(self, result: EvalResult, sample: Sample, number: int) -> None:
        """Open the judge's run in the sample's verdict of that number, from 0."""
        folder = ResultFolder(result.path, result.manifest)
        self._start("run", lambda: _judge_run(folder, sample, number), self.runOpened.emit)

    def align(self, result: EvalResult, pair: Pair, then: Callable[[Alignment], object]) -> None:
        """Align both runs of a pair by field."""
        folder = ResultFolder(result.path, result.manifest)
        self._start("align", lambda: _aligned(folder, pair), then)

    def pairs(
        self, result: EvalResult, first: str, second: str, then: Callable[[tuple[Pairs, int]], object]
    ) -> None:
        """Find the pairs of two arms that differ, and the number of all."""
        self._start("pairs", lambda: pairs_that_differ(result, first, second), then)

    def make_report(self, path: Path, then: Callable[[Path], object]) -> None:
        """Pass the report's HTML file to `then`, written now if it does not exist."""
        self._start("report", lambda: _report(path), then)

    def compare(self, before: Path, result: EvalResult, then: Callable[[Compared], object]) -> None:
        """Find the changes from another result to this one."""
        self._start("compare", lambda: _compared(before, result), then)

    def export(self, result: EvalResult, out: Path, then: Callable[[Exported], object]) -> None:
        """Write all samples in the format of the file extension."""
        folder = ResultFolder(result.path, result.manifest)
        self._start("export", lambda: export_samples(folder, out), then)

    def plan_again(self, result: EvalResult, then: Callable[[EvalJob], object]) -> None:
        """Plan a result again, to make its missing samples."""
        folder = ResultFolder(result.path, result.manifest)
        self._start("plan", lambda: EvalJob(saved_plan(folder), result.path.parent, result.path), then)

    def _allowed(self, work: Callable[[], _Outcome]) -> Callable[[], _Outcome]:
        """Work that reads suites, also the files outside of their folders that the user allowed."""

        def work_with_files() -> _Outcome:
            with self._files.reading():
                return work()

        return work_with_files

    def _start(self, slot: str, work: Callable[[], _Outcome], done: Callable[[_Outcome], object]) -> None:
        self._background.start(slot, work, done, self.failed.emit)


def read_result(path: Path, measure: MeasureName = "ok") -> Opened:
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
    return Opened(result, _note(folder, result, ended), unfinished)


def _saved_summary(folder: ResultFolder, table: Table) -> Summary | None:
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


def _report(path: Path) -> Path:
    report = path / REPORT
    if not report.is_file():
        publish(path)
    return report


def _priced(matrix: Matrix) -> Priced:
    try:
        plan = plan_of(matrix)
    except GlyphscopeError as error:
        return Priced(matrix, problem=str(error))
    rubrics, rows = rubrics_of(plan) > 0, scenario_rows(plan)
    try:
        needs_of(plan)
    except GlyphscopeError as error:
        return Priced(matrix, plan, problem=judge_words(error), rubrics=rubrics, scenarios=rows)
    return Priced(matrix, plan, price(plan), rubrics=rubrics, scenarios=rows)


def judge_words(error: GlyphscopeError) -> str:
    """Why there is no judge, with the fix in the window."""
    return tr("{suite}: {why} Choose one under Judge.", suite=error.where, why=error.message)


def _compared(before: Path, result: EvalResult) -> Compared:
    first, second = ResultFolder.open(before), ResultFolder(result.path, result.manifest)
    changes = changes_between(*((folder.manifest, _readable(folder)) for folder in (first, second)))
    arms = {arm.id: arm for arm in (*first.manifest.arms, *result.manifest.arms)}
    return Compared(when(first.manifest.started), result, changes, list(arms.values()))


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


def _aligned(folder: ResultFolder, pair: Pair) -> Alignment:
    """Align the runs; of several turns, the first in which either went wrong."""
    turn = min((bad_turn(sample) for sample in pair if sample.failures), default=1)
    return align([run_state(_events(folder, sample, max(1, min(turn, len(sample.runs))))) for sample in pair])
