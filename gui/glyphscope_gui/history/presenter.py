"""The history panel: a run is opened, comes into the list when it is kept, and can become a scenario of a suite."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from glyphscope.evals.suites.from_runs import scenario_of_run
from glyphscope.evals.suites.own import add_scenario
from glyphscope.evals.suites.suite import Scenario
from glyphscope.events import AnyEvent, CallReady
from glyphscope_gui.context import AppContext
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.history.suite_dialog import SuiteDialog
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class HistoryPresenter(QObject):
    """Connects the dock with the recorder and the runs. Saving and exporting are the window's."""

    def __init__(self, context: AppContext, dock: HistoryDock) -> None:
        super().__init__(context.window)
        self._context = context
        self._background = Background(self)
        dock.runOpened.connect(self._open)
        dock.suiteRequested.connect(self._ask_for_suite)
        dock.notified.connect(context.status.set_note)
        context.recorder.runSaved.connect(dock.refresh)
        context.recorder.described.connect(dock.refresh)
        dock.described.connect(context.recorder.described)

    def _open(self, run: str) -> None:
        self._context.recorder.open(run, self._context.runs.show_record)

    def _ask_for_suite(self, run: str) -> None:
        dialog = SuiteDialog(self._context.services.places.suites, self._context.window)
        dialog.chosen.connect(
            lambda path: self._context.recorder.open(run, lambda events: self._add(path, events))
        )
        dialog.open()

    def _add(self, path: Path, events: tuple[AnyEvent, ...]) -> None:
        tool = next((event.tool for event in events if isinstance(event, CallReady)), "run")

        def add() -> Scenario:
            return add_scenario(path, scenario_of_run(events, tool))

        self._background.start("suite", add, lambda made: self._added(path, made), self._context.show_error)

    def _added(self, path: Path, scenario: Scenario) -> None:
        words = tr("Added to the suite {suite} as {scenario}.", suite=path.stem, scenario=scenario.id)
        self._context.status.set_note(words)
        self._context.offer(words, tr("Open Evaluate"), lambda: self._context.navigator.show(PageId.EVALUATE))
