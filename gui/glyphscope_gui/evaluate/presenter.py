"""Who hears what about evaluations: the page, what goes on, what is read, and the playground for a single run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from glyphscope.evals.align import Alignment
from glyphscope.evals.matrix.plan import Matrix
from glyphscope_gui.evaluate.evaluations import EvalPhase, EvalProgress, Evaluations
from glyphscope_gui.evaluate.page import RESULT, EvalPage
from glyphscope_gui.evaluate.reading import EvalReading, Opened, OpenedRun, Priced
from glyphscope_gui.evaluate.result_presenter import EvalResultWiring
from glyphscope_gui.evaluate.results_model import EvalResultsModel
from glyphscope_gui.evaluate.setup import (
    PRESETS,
    SuiteChoice,
    axes,
    price_words,
    seconds_a_sample,
)
from glyphscope_gui.evaluate.ticks_model import Tickable
from glyphscope_gui.evaluate.words import arm_labels
from glyphscope_gui.evaluate.worker import EvalJob
from glyphscope_gui.grammar.presenter import PLAYGROUND
from glyphscope_gui.model_picker.endpoint_dialog import EndpointDialog
from glyphscope_gui.runs.run_controller import Applied
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

EVALUATE = "evaluate"
"""The page's name."""
PRICE_MS = 150
"""After the last change of the set-up its price is asked for."""
MOST_LINES = 6
"""Of what is wrong with a suite, in the banner."""
FIRST_SUITE = "tool-calls"


class EvalWiring(QObject):
    """Made after `StrategyWiring`: a run that is opened is shown there before its token is chosen.

    What is on the page is made when it is first looked at, and `shown` with it.
    """

    shown: EvalResultWiring

    def __init__(self, window: MainWindow, page: EvalPage) -> None:
        super().__init__(window)
        self._window = window
        self._page = page
        self._parts = window.parts
        self._results = EvalResultsModel(self)
        self._model = ""
        self._priced: Priced | None = None
        self._run: OpenedRun | None = None
        self._begun = False
        self.evaluations = Evaluations(window.parts.open_model, self)
        self.reading = EvalReading(self)
        self._price_timer = QTimer(self, singleShot=True, interval=PRICE_MS)
        self._price_timer.timeout.connect(self._ask_price)
        window.pages.shown.connect(self._page_shown)
        window.runs.ended.connect(self._run_shown)

    def close(self) -> None:
        """An evaluation that goes on is stopped: it can be gone on with."""
        self._price_timer.stop()
        if self._begun:
            self.shown.close()
        self.evaluations.close()
        self.reading.close()

    @property
    def is_busy(self) -> bool:
        return self.evaluations.is_busy or self.reading.is_busy or self._price_timer.isActive()

    # -- connections -------------------------------------------------------------------------------------------

    def _make(self) -> None:
        """The page with all that is on it."""
        page = self._page
        page.make(axes(), self._results)
        self.shown = EvalResultWiring(page, self.reading, self)
        self._connect_setup()
        self._connect_evaluations()
        self._connect_reading()
        page.setup.show_matrix({**PRESETS[0].changes, "trials": 1, "seed": 1, "jobs": 1, "savings": 0.0})
        page.setFocus()

    def _connect_setup(self) -> None:
        page, setup = self._page, self._page.setup
        setup.changed.connect(self._setup_changed)
        setup.presetWanted.connect(self._choose_preset)
        setup.suiteFilesWanted.connect(self._ask_for_suites)
        setup.modelFilesWanted.connect(self._ask_for_models)
        setup.endpointWanted.connect(self._ask_for_endpoint)
        setup.suites.dropped.connect(self._add_suites)
        setup.models.dropped.connect(self._add_models)
        setup.resultChosen.connect(self._open_row)
        setup.go.clicked.connect(self.begin)
        page.openWanted.connect(self._ask_for_result)
        page.reportWanted.connect(self._open_report)
        page.goOnWanted.connect(self.go_on)
        self._window.picker.modelChosen.connect(lambda _name: self._show_open_model())

    def _connect_evaluations(self) -> None:
        evaluations, bar = self.evaluations, self._page.progress
        evaluations.phaseChanged.connect(self._show_phase)
        evaluations.progressed.connect(self._show_progress)
        evaluations.began.connect(self._began)
        evaluations.grew.connect(self.shown.grow)
        evaluations.ended.connect(self._ended)
        evaluations.failed.connect(self._failed)
        bar.pauseWanted.connect(self._pause)
        bar.stopWanted.connect(evaluations.stop)

    def _connect_reading(self) -> None:
        reading = self.reading
        reading.listed.connect(self._listed)
        reading.suitesFound.connect(self._suites_found)
        reading.suiteRead.connect(self._suite_read)
        reading.priced.connect(self._show_price)
        reading.opened.connect(self._opened)
        reading.refreshed.connect(self._refreshed)
        reading.runOpened.connect(self._open_run)
        reading.aligned.connect(self._aligned)
        reading.reportMade.connect(self._show_report)
        reading.failed.connect(self._failed)
        self.shown.runWanted.connect(reading.open_run)

    # -- setting up --------------------------------------------------------------------------------------------

    def _page_shown(self, name: str) -> None:
        """What is needed is read when the page is first looked at, and the list of results each time."""
        if name != EVALUATE:
            return
        first, self._begun = not self._begun, True
        if first:
            self._make()
            self.reading.find_suites()
        self._show_open_model()
        self.reading.list(self._parts.results)

    def _show_open_model(self) -> None:
        """The window's model is the first in the list; another one takes its place."""
        model, rows = self._window.wiring.model, self._page.models_model
        if model == self._model:
            return
        was_ticked = not self._model or self._model in rows.ticked
        rows.take(self._model)
        self._model = model
        rows.put(_model_row(model, tr("the open model")), ticked=was_ticked, first=True)
        self._setup_changed()

    def _suites_found(self, choices: list[SuiteChoice]) -> None:
        rows = self._page.suites_model
        for choice in choices:
            rows.put(_suite_row(choice), ticked=choice.source == FIRST_SUITE)
        self._setup_changed()

    def _suite_read(self, choice: SuiteChoice) -> None:
        self._page.suites_model.put(_suite_row(choice), ticked=True)
        if choice.problem:
            lines = choice.problem.split("\n")
            more = (
                tr("  … and {count} more: the hint on the suite tells them", count=len(lines) - MOST_LINES),
            )
            self._page.notice.tell(
                "\n".join([*lines[:MOST_LINES], *(more if len(lines) > MOST_LINES else ())])
            )
        self._setup_changed()

    def _ask_for_suites(self) -> None:
        dialog = QFileDialog(self._window, tr("Add suites"), "", tr("Suites (*.json);;All files (*)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda paths: self._add_suites([Path(path) for path in paths]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _add_suites(self, paths: list[Path]) -> None:
        for path in paths:
            self.reading.read_suite(str(path))

    def _ask_for_models(self) -> None:
        dialog = QFileDialog(self._window, tr("Add models"), "", tr("Models (*.gguf);;All files (*)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda paths: self._add_models([Path(path) for path in paths]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _ask_for_endpoint(self) -> None:
        dialog = EndpointDialog(parent=self._window)
        dialog.chosen.connect(self._add_endpoint)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _add_endpoint(self, address: str) -> None:
        self._page.models_model.put(_model_row(address, tr("an endpoint")), ticked=True)
        self._setup_changed()

    def _add_models(self, paths: list[Path]) -> None:
        for path in paths:
            self._page.models_model.put(_model_row(str(path), str(path.parent)), ticked=True)
        self._setup_changed()

    def _choose_preset(self, place: int) -> None:
        self._page.setup.show_matrix(PRESETS[place].changes)
        self._setup_changed()

    def _setup_changed(self) -> None:
        self._priced = None
        self._page.setup.go.setEnabled(False)
        self._price_timer.start()

    def _ask_price(self) -> None:
        matrix = self._page.setup.matrix()
        problem = _nothing_ticked(matrix)
        if problem:
            self._page.setup.show_cost("", problem)
        else:
            self.reading.price(matrix)

    def _show_price(self, priced: Priced) -> None:
        setup = self._page.setup
        if priced.matrix != setup.matrix():
            return  # changed since: its own price is on the way
        self._priced = priced
        if priced.price is None:
            setup.show_cost("", priced.problem)
            return
        seconds = seconds_a_sample(self._results.rows, priced.matrix.models)
        words = price_words(priced.price, seconds, priced.matrix.jobs)
        arms = priced.plan.arms if priced.plan is not None else ()
        setup.show_cost(words, arms=list(arm_labels(arms).values()), may_go=not self.evaluations.is_busy)

    # -- going on ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Evaluate what is set up."""
        if self._priced is not None and self._priced.plan is not None:
            self._start(EvalJob(self._priced.plan, self._parts.results))

    def go_on(self) -> None:
        """Make what is missing of the result that is shown."""
        result = self.shown.result
        if result is not None and not self.evaluations.is_busy:
            self.reading.plan_again(result, self._start)

    def _start(self, job: EvalJob) -> None:
        self._page.notice.hide()
        self.evaluations.begin(job, self._parts.settings.value.context)

    def _pause(self, pause: bool) -> None:
        if pause:
            self.evaluations.pause()
        else:
            self.evaluations.resume()

    def _began(self, result: object) -> None:
        self.shown.show(result, growing=True)
        self._page.go_on.hide()
        self._page.show_view(RESULT)

    def _show_phase(self, phase: EvalPhase) -> None:
        page = self._page
        page.progress.show_phase(phase)
        page.progress.show_progress(self.evaluations.progress)
        idle = phase is EvalPhase.IDLE
        page.setup.go.setEnabled(idle and self._priced is not None and self._priced.plan is not None)
        page.go_on.setEnabled(idle)

    def _show_progress(self, progress: EvalProgress) -> None:
        self._page.progress.show_progress(progress)
        if progress.missing:
            told = " ".join(
                tr("{name} is left out: {why}", name=model_name(name).name, why=why)
                for name, why in progress.missing.items()
            )
            if told != self._page.notice.label.text():
                self._page.notice.tell(told)

    def _ended(self, folder: Path | None) -> None:
        """Its figures are read from the folder: what is shown is what is kept."""
        if self._window.pages.current != EVALUATE:
            self._window.status.set_note(
                tr("The evaluation has ended: its result is on the page Evaluate (Ctrl+4)")
            )
        self.reading.list(self._parts.results)
        if folder is not None and (self.shown.result is None or self.shown.result.path == folder):
            self.reading.refresh(folder)
        self._setup_changed()

    # -- results -----------------------------------------------------------------------------------------------

    def open_result(self, path: Path) -> None:
        self._page.notice.hide()
        self._page.title.setText(tr("Reading {name}…", name=path.name))
        self.reading.open(path)

    def _opened(self, opened: Opened) -> None:
        self._show_opened(opened)
        self._page.show_view(RESULT)
        if self._window.pages.current == EVALUATE:
            self._page.result.table.setFocus()

    def _refreshed(self, opened: Opened) -> None:
        """In its place: who sets up the next evaluation meanwhile goes on with that."""
        if self.shown.result is not None and self.shown.result.path == opened.result.path:
            self._show_opened(opened)

    def _show_opened(self, opened: Opened) -> None:
        page, result = self._page, opened.result
        going = self.evaluations.result
        if self.evaluations.is_busy and going is not None and going.path == result.path:
            self.shown.show(going, growing=True)
        else:
            self.shown.show(result)
            page.go_on.setVisible(opened.may_go_on)
            if opened.note:
                page.notice.tell(opened.note)

    def _listed(self, rows: object) -> None:
        self._results.show(rows)
        self._price_timer.start()

    def _open_row(self, place: int) -> None:
        self.open_result(self._results.rows[place].path)

    def _ask_for_result(self) -> None:
        dialog = QFileDialog(self._window, tr("Open a result"), str(self._parts.results))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda path: self.open_result(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _open_report(self) -> None:
        if self.shown.result is not None:
            self.reading.make_report(self.shown.result.path)

    def _show_report(self, path: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self._page.notice.tell(tr("No program opens it here: the report is {path}", path=path))

    def _aligned(self, pair: object, made: Alignment) -> None:
        self.shown.show_alignment(pair, made)

    def _failed(self, error: BaseException) -> None:
        result = self.shown.result
        self._page.title.setText(self.shown.title if result is not None else "")
        self._window.tell_error(error)

    # -- one run -----------------------------------------------------------------------------------------------

    def _open_run(self, opened: OpenedRun) -> None:
        self._run = opened
        self._window.pages.show(PLAYGROUND)
        self._window.wiring.show_record(opened.events)

    def _run_shown(self, applied: Applied) -> None:
        """The token that went wrong, once the run stands there."""
        opened = self._run
        if opened is None or applied.kind != "replay" or applied.events[:1] != opened.events[:1]:
            return
        self._run = None
        page = self._window.page
        if opened.bad is not None:
            self._window.strategies.choice.choose(opened.bad.stage, pin=False)
            page.show_stream()
            page.tokens.choose(opened.bad.token)
        page.tokens.setFocus(Qt.FocusReason.OtherFocusReason)


def _model_row(model: str, note: str) -> Tickable:
    name = model_name(model)
    return Tickable(model, " ".join(part for part in name if part), note, model)


def _suite_row(choice: SuiteChoice) -> Tickable:
    note = tr("%n scenario(s)", "", choice.scenarios)
    return Tickable(choice.source, choice.title, note, choice.about, choice.problem)


def _nothing_ticked(matrix: Matrix) -> str:
    """What is missing for there to be an arm."""
    for values, words in (
        (matrix.suites, tr("Tick at least one suite.")),
        (matrix.models, tr("Tick at least one model.")),
        (matrix.notations, tr("Tick at least one notation.")),
        (matrix.constraints, tr("Tick at least one constraint.")),
        (matrix.strategies, tr("Tick at least one strategy.")),
        (matrix.shapes, tr("Tick at least one shape.")),
        (matrix.repairs, tr("Tick at least one kind of repair.")),
        (matrix.profiles, tr("Tick at least one way of sampling.")),
        (matrix.workarounds, tr("Tick at least one choice of workarounds.")),
    ):
        if not values:
            return words
    return ""
