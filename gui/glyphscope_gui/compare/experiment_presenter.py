"""The presenter of an experiment: it runs and stops it, shows its progress, saves its runs, and opens one of them."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QPushButton

from glyphscope_gui.compare.experiment import ExperimentRun, RunExperiment
from glyphscope_gui.compare.words import ANOTHER_RUN
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class ExperimentView(Protocol):
    """The view of an experiment."""

    run_button: QPushButton
    stop_button: QPushButton

    def show_running(self, *, running: bool, free: bool) -> None:
        """Enable what can be used while the experiment is running, and while the model is free."""

    def show_turn(self, words: str) -> None:
        """Show the current run, or why none can start."""


class ExperimentPresenter(QObject):
    """A sub-presenter of the compare page. A subclass begins the experiment, shows its results (`_show`), and names its
    runs.
    """

    def __init__(
        self, context: AppContext, page: ExperimentView, experiment: RunExperiment, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._context, self._view, self._runs = context, page, context.runs
        self.experiment = experiment
        experiment.setParent(self)
        page.run_button.clicked.connect(self.run)
        page.stop_button.clicked.connect(experiment.stop)
        experiment.changed.connect(self._changed)
        experiment.grew.connect(self._grew)
        experiment.runningChanged.connect(self._running_changed)
        experiment.ended.connect(context.recorder.keep)
        self._runs.phaseChanged.connect(lambda _phase: self._show_turn())
        project = context.project
        for signal in (project.optionsChanged, project.tools.changed, project.prompt.changed):
            signal.connect(lambda _change: self._show_turn())

    def run(self) -> None:
        """Begin the experiment, unless the model is in use."""
        if self._view.run_button.isEnabled():
            self._begin()

    def _begin(self) -> None:
        raise NotImplementedError

    def _show(self) -> None:
        """Show the results so far."""
        raise NotImplementedError

    def _run_words(self, key: Any, number: int, count: int) -> tuple[str, str]:
        """The current run, for the page and for the status line."""
        raise NotImplementedError

    def _earlier_words(self) -> str:
        """Marks results of an earlier request; empty if there are none."""
        raise NotImplementedError

    def _usual_words(self) -> str:
        """How the runs take place, for a model that is free."""
        raise NotImplementedError

    def _changed(self, _key: Any) -> None:
        self._show()
        self._show_turn()

    def _grew(self, _key: Any) -> None:
        self._show_turn()

    def _running_changed(self, running: bool) -> None:
        """At the end, reopen the playground's model if another one ran, as panels count tokens with the open model."""
        if not running:
            self._context.status.set_activity("")
            runs, model = self._runs, self._context.project.model
            if runs.model.name and runs.model.name != model:
                runs.open_model(model)
        self._show()
        self._show_turn()

    def _show_turn(self) -> None:
        experiment, stopping = self.experiment, self._runs.phase is Phase.STOPPING
        running, free = experiment.is_running, not self._runs.is_busy
        self._view.run_button.setEnabled(free and not running)
        self._view.stop_button.setEnabled(running and not stopping)
        self._view.show_running(running=running, free=free)
        if experiment.key is not None:
            words, activity = self._run_words(experiment.key, *experiment.turn)
            if stopping:
                words = activity = tr("Stopping…")
            self._view.show_turn(words)
            self._context.status.set_activity(activity)
        elif not free:
            self._view.show_turn(ANOTHER_RUN)
        else:
            self._show_idle()

    def _show_idle(self) -> None:
        self._view.show_turn(self._earlier_words() or self._usual_words())

    def _open(self, run: ExperimentRun | None, at: TokenPlace | None = None) -> None:
        """Show an ended run in the playground, from that token on."""
        if run is None or not (run.has_ended and run.events):
            return
        if self._runs.is_busy:
            self._view.show_turn(
                tr("A run is in progress: stop it or wait until it finishes to open another.")
            )
            return
        self._runs.show_record(tuple(run.events), at)
        self._context.navigator.show(PageId.PLAYGROUND)
