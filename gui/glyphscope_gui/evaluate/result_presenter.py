"""The presenter of a result: cells, failures and pairs, each with the runs behind them; and the list of results, with
the changes between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.evals.alignment import Alignment
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.changes import ArmChange, ChangeKind, ResultChanges, SampleChange
from glyphscope.evals.results.folder import ResultRow
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import p_words
from glyphscope_gui.context import AppContext
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.evaluate.reading import ComparedResults, EvalReading, aligned, compared
from glyphscope_gui.evaluate.result import CellSamples, ComparedPair, EvalResult, Pairs, RunRow
from glyphscope_gui.evaluate.words import (
    WIDEST_ARM,
    WIDEST_REASON,
    arm_labels,
    pair_labels,
    population_words,
    provenance,
    summary_words,
    why_words,
)
from glyphscope_gui.history.model import when
from glyphscope_gui.shared.labels import named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import ListModel, TableModel

GROWN_MS = 1000
"""While a result grows, failures and runs are updated once a second, so that they can be read meanwhile."""


class EvalResultPresenter(QObject):
    """Shows one result; its runs are opened by `reading`."""

    def __init__(self, page: EvalPage, reading: EvalReading, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._view = page.result
        self._reading = reading
        self._cell: tuple[RunRow, str] | None = None
        """The row and the arm of the chosen cell."""
        self._pair: ComparedPair | None = None
        self.result: EvalResult | None = None
        self.title = ""
        self._growing = QTimer(self, singleShot=True, interval=GROWN_MS)
        self._growing.timeout.connect(self._follow)
        view = self._view
        view.table.cellChosen.connect(self._cell_chosen)
        view.table.openRequested.connect(self._to_runs)
        view.table.armsChosen.connect(self._columns_chosen)
        view.failures.chosen.connect(self._show_runs)
        view.runs.openRequested.connect(self._run_opened)
        view.runs.selectionModel().currentRowChanged.connect(self._run_selected)
        view.judge.openRequested.connect(self._judge_opened)
        view.pair.armsChosen.connect(self._arms_chosen)
        view.pair.pairChosen.connect(self._pair_chosen)
        view.pair.openRequested.connect(self._run_opened)
        view.measure.currentIndexChanged.connect(self._measure_chosen)

    @property
    def path(self) -> Path | None:
        """The folder of the result; None while none is shown."""
        return self.result.path if self.result is not None else None

    def show(self, result: EvalResult, *, growing: bool = False) -> None:
        """Show another result; for a new version of the same result, the user's choices are kept."""
        same = self.result is not None and self.result.path == result.path
        self.result = result
        if not same:
            self._cell = None
        chosen = self._cell
        manifest = result.manifest
        suites = ", ".join(suite.name for suite in manifest.suites)
        self.title = f"{when(manifest.started)}  ·  {suites}"
        self._page.show_has_result(self.title)
        self._growing.stop()
        view = self._view
        view.model.show(result)
        view.pair.show_arms(result.arms, view.model.labels)
        view.charts.show_summary(result.summary, view.model.labels)
        self._show_summary()
        self._show_provenance()
        self._show_failures()
        self._show_runs("", ())
        self._arms_chosen(*view.pair.arms)
        if not growing and view.model.rowCount() and view.model.columnCount():
            view.table.choose(*(view.model.place_of(*chosen) if chosen is not None else (0, 0)))

    def grow(self, result: EvalResult) -> None:
        """Show a result with more samples, unless another result is shown."""
        if result.path != self.path:
            return
        self.result = result
        self._prepare()
        if not self._growing.isActive():
            self._growing.start()

    def _prepare(self) -> None:
        """Show the result's figures by the chosen measure, once they are computed."""
        result, measure = self.result, self._view.chosen_measure
        if result is None or result.is_prepared(measure):
            self._show_prepared(result)
        else:
            self._reading.start("prepare", partial(result.prepared, measure), self._show_prepared)

    def _show_prepared(self, result: EvalResult | None) -> None:
        if result is not self.result:
            return
        if result is not None and result is not self._view.model.result:
            self._view.model.grow(result)
        self._view.show_measure()

    # -- choices of the user -----------------------------------------------------------------------------------

    def _cell_chosen(self, row: int, column: int) -> None:
        model = self._view.model
        if self.result is None or row >= model.rowCount():
            return
        self._cell = (model.row(row), model.arm(column))
        self._show_cell()

    def _show_cell(self) -> None:
        if self.result is None or self._cell is None:
            return
        row, arm = self._cell
        samples = self.result.samples_of(row, arm, wrong_first=True)
        self._show_runs(f"{row.name}, {self._view.model.label(arm)}", samples)

    def _show_runs(self, words: str, samples: Sequence[Sample]) -> None:
        self._view.runs_model.show(samples, self._view.model.labels)
        self._view.show_runs_of(words, len(samples))
        self._view.judge.show_sample(samples.first_judged if isinstance(samples, CellSamples) else None)

    def _measure_chosen(self, _place: int) -> None:
        self._reading.measure = self._view.chosen_measure
        self._show_summary()
        self._prepare()

    def _to_runs(self) -> None:
        self._show_cell()
        self._view.runs.setFocus()
        if self._view.runs_model.rows and not self._view.runs.currentIndex().isValid():
            self._view.runs.choose(0)

    def _run_opened(self, sample: Sample) -> None:
        if self.result is not None:
            self._reading.open_run(self.result, sample)

    def _run_selected(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self._view.judge.show_sample(self._view.runs_model.row(current.row()))

    def _judge_opened(self, sample: Sample, number: int) -> None:
        if self.result is not None:
            self._reading.open_judge(self.result, sample, number)

    def _columns_chosen(self, first: int, second: int) -> None:
        view = self._view
        view.pair.choose_arms(view.model.arm(first), view.model.arm(second))
        view.tabs.setCurrentWidget(view.pair)

    def _arms_chosen(self, first: str, second: str) -> None:
        view = self._view
        self._pair = None
        label = view.model.label
        if self.result is None or not first or first == second:
            view.pairs_model.show((), label(first), label(second))
            view.pair.show_counted(tr("Choose two different configurations.") if first else "")
            return
        view.pairs_model.show((), label(first), label(second))
        view.pair.show_counted("")
        shown = partial(self._show_pairs, self.path, first, second)
        self._reading.start("pairs", partial(self.result.pairs, first, second), shown)

    def _show_pairs(self, path: Path | None, first: str, second: str, found: tuple[Pairs, int]) -> None:
        view, label = self._view, self._view.model.label
        if self.result is None or (path, first, second) != (self.path, *view.pair.arms):
            return
        pairs, count = found
        arms = {arm.id: arm for arm in self.result.manifest.arms}
        names = (label(first), label(second))
        if first in arms and second in arms:
            names = pair_labels(arms[first], arms[second])
        view.pairs_model.show(pairs, *names)
        view.pair.show_counted(
            tr(
                "%n pair(s) with the same scenario, trial and seed. In {parted:,}, only one is "
                "correct; in {differing:,} more, the calls differ.",
                "",
                count,
                parted=pairs.discordant,
                differing=len(pairs) - pairs.discordant,
            ),
            names,
        )

    def _pair_chosen(self, pair: ComparedPair) -> None:
        self._pair = pair
        if self.result is None:
            return
        without = next((sample for sample in pair if not sample.runs), None)
        if without is not None:
            why = without.failures[0].detail if without.failures else tr("no run was recorded")
            self._view.pair.show_words(
                tr("Nothing to compare: {arm}: {why}", arm=self._view.model.label(without.arm), why=why)
            )
        else:
            shown = partial(self._show_alignment, pair)
            self._reading.start("align", partial(aligned, self.result, pair), shown)

    def _show_alignment(self, pair: ComparedPair, alignment: Alignment) -> None:
        if pair == self._pair:
            self._view.pair.show_alignment(alignment)

    def _follow(self) -> None:
        """Update the parts of a growing result that are not updated with each sample."""
        self._show_failures()
        self._show_provenance()
        self._page.show_has_result(self.title)
        if self._view.runs.hasFocus() or self.result is None:
            return
        if self._cell is not None:
            self._show_cell()
        else:
            self._show_runs("", self.result.newest)
            self._view.runs_card.heading.hint.setText(tr("newest first"))

    def _show_failures(self) -> None:
        if self.result is not None:
            self._view.show_judge(self.result.is_judged)
            self._view.failures_model.show(self.result, self._view.model.labels)
            self._view.population.setText(population_words(self.result.scenarios, self.result.controls))

    def _show_provenance(self) -> None:
        if self.result is not None:
            self._view.provenance.setText(provenance(self.result.manifest, len(self.result)))

    def _show_summary(self) -> None:
        result = self.result
        if result is not None and result.summary is not None:
            self._view.show_summary(summary_words(result.summary, result.manifest, self._view.chosen_measure))
        else:
            self._view.show_summary(())


MAX_OFFERED = 20
"""Results that are offered for a comparison, the newest ones."""


class ResultComparing(QObject):
    """Fills the menu of results of the same suites, and shows the changes."""

    def __init__(
        self,
        context: AppContext,
        view: EvalPage,
        reading: EvalReading,
        shown: EvalResultPresenter,
        results: EvalResultsModel,
    ) -> None:
        super().__init__(view)
        self._context, self._view, self._reading = context, view, reading
        self._shown, self._results = shown, results
        view.compare_menu.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        """Fill the menu with the other results that share a suite with the shown one."""
        menu, result = self._view.compare_menu, self._shown.result
        menu.clear()
        suites = set() if result is None else {suite.name for suite in result.manifest.suites}
        for row in self._results.rows:
            manifest = row.manifest
            if result is None or manifest is None or row.path == result.path:
                continue
            if suites & {suite.name for suite in manifest.suites} and len(menu.actions()) < MAX_OFFERED:
                action = menu.addAction(result_words(row))
                action.triggered.connect(partial(self._compare, row.path, result))
        if menu.isEmpty():
            menu.addAction(tr("No other result has these suites")).setEnabled(False)

    def _compare(self, before: Path, result: EvalResult) -> None:
        self._reading.start("compare", partial(compared, before, result), self._show)

    def _show(self, found: ComparedResults) -> None:
        result = found.result
        after = when(result.manifest.started)
        dialog = ChangesDialog(found.changes, found.arms, found.before, after, self._context.window)
        dialog.runRequested.connect(lambda sample: self._reading.open_run(result, sample))
        dialog.open()


CHANGE, SCENARIO, ARM, BEFORE, AFTER = range(5)
WORDS: dict[ChangeKind, str] = {
    "regression": tr("✕ regression"),
    "fix": tr("✓ fixed"),
    "other": tr("failure reason changed"),
}


class ChangesModel(TableModel[SampleChange]):
    """A row for each change, regressions first."""

    speaks_titles = True
    titles = (tr("Change"), tr("Scenario"), tr("Configuration"), tr("Before"), tr("After"))

    def __init__(self, changes: ResultChanges, labels: dict[str, str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = changes.changes
        self._labels = labels

    def words(self, row: SampleChange, column: int) -> str:
        sample = row.after
        return (
            WORDS[row.kind],
            sample.scenario if sample.trial == 1 else f"{sample.scenario} · {sample.trial}",
            self._labels.get(sample.arm, sample.arm),
            _result_words(row.before),
            _result_words(row.after),
        )[column]

    def tip(self, row: SampleChange, column: int) -> str:
        if column not in (BEFORE, AFTER):
            return ""
        sample = row.before if column == BEFORE else row.after
        detail = sample.failures[0].detail if sample.failures else ""
        return "\n".join(part for part in (detail, sample.text[:800]) if part)

    def color(self, row: SampleChange, column: int) -> str:
        if column not in (CHANGE, BEFORE, AFTER):
            return ""
        good = {CHANGE: row.kind == "fix", BEFORE: row.before.ok, AFTER: row.after.ok}[column]
        return "holds" if good else "impossible"


def _result_words(sample: Sample) -> str:
    """The reason of the failure; a sample that could not be read has the error as its text."""
    return why_words(sample) or (tr("✓ correct") if sample.ok else sample.text)


class ChangesTable(PlainTable):
    """`openRequested` carries the sample after the change, whose run is requested."""

    openRequested = Signal(object)

    def __init__(self, model: ChangesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=AFTER, parent=parent)
        description = tr("Enter opens the later run.")
        named(self, "evalChanges", tr("Changes, regressions first"), description=description)
        for column, widest in (
            (CHANGE, WORDS["regression"]),
            (SCENARIO, "missing_workspace_id"),
            (ARM, WIDEST_ARM),
            (BEFORE, WIDEST_REASON),
        ):
            self.fit_column(column, widest)
        self.on_open(lambda index: self.openRequested.emit(model.rows[index.row()].after))


class ChangesDialog(PlainDialog):
    """`runRequested` carries a sample of the second result."""

    runRequested = Signal(object)

    def __init__(
        self, changes: ResultChanges, arms: list[Arm], before: str, after: str, parent: QWidget | None = None
    ) -> None:
        title = tr("Changes from {before} to {after}", before=before, after=after)
        super().__init__("changesDialog", title, parent)
        labels = arm_labels(arms)
        unchanged = () if changes.changes else (tr("Every scenario has the same verdict in both results."),)
        lines = [*(_arm_words(arm, labels) for arm in changes.arms), *changes.notes, *unchanged]
        self.summary = words_label("\n".join(lines), "", self, name="changesSummary")
        self.table = ChangesTable(ChangesModel(changes, labels, self), self)
        buttons = self.button_box(Standard.Close)
        rest = (self.table, 1) if changes.changes else STRETCH
        vbox(self.summary, rest, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.resize(900, 520 if changes.changes else 0)
        self.table.openRequested.connect(self._open)
        self.table.setVisible(bool(changes.changes))
        if changes.changes:
            self.table.selectRow(0)

    def _open(self, sample: object) -> None:
        self.runRequested.emit(sample)
        self.accept()


def _arm_words(arm: ArmChange, labels: dict[str, str]) -> str:
    """Such as `GLYPH · mask: 7 → 9 of 12 right, 1 regression, 3 fixed, p = 0.62`."""
    names = dict.fromkeys(labels.get(name, name) for name in (arm.before, arm.after))
    return tr(
        "{arm}: {before} → {after} of {pairs} correct, {regressions}, {fixes}, McNemar {p}",
        arm=" → ".join(names),
        before=arm.right_before,
        after=arm.right_after,
        pairs=arm.pairs,
        regressions=tr("%n regression(s)", "", arm.regressions),
        fixes=tr("{n} fixed", n=arm.fixes),
        p=p_words(arm.p),
    )


class EvalResultsModel(ListModel[ResultRow]):
    """The listed rows, the newest first."""

    def words(self, row: ResultRow, column: int) -> str:
        return result_words(row)

    def tip(self, row: ResultRow, column: int) -> str:
        return "\n".join(part for part in (str(row.path), row.problem) if part)

    def color(self, row: ResultRow, column: int) -> str:
        return "impossible" if row.problem else ""


def result_words(row: ResultRow) -> str:
    """A result in a line."""
    manifest = row.manifest
    if manifest is None:
        return f"{row.path.name}: {row.problem}"
    suites = ", ".join(suite.name for suite in manifest.suites)
    state = "" if manifest.finished else tr(", not finished")
    arms = tr("%n configuration(s)", "", len(manifest.arms))
    return tr(
        "{started}  {suites}  ·  {arms}, {samples}{state}",
        started=when(manifest.started),
        suites=suites,
        arms=arms,
        samples=tr("%n sample(s)", "", manifest.planned),
        state=state,
    )
