"""The presenter of the history: opens stored runs, and adds them to suites as scenarios, which a dialog chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QWidget

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites.from_runs import scenario_of_run
from glyphscope.evals.suites.own import add_scenario, own_suites, suite_path
from glyphscope.evals.suites.suite import Scenario
from glyphscope.events import AnyEvent, CallReady
from glyphscope_gui.context import AppContext, FilePlace, RunsPlace
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.text_edits import LineEdit

Events: TypeAlias = tuple[AnyEvent, ...]


class SuiteDialog(PlainDialog):
    """Asks for the suite to which a run is added: one of the user's, or a new one.

    `chosen` carries the suite's path, which need not exist yet.
    """

    chosen = Signal(object)

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__("suiteDialog", tr("Add the run to a suite"), parent)
        self.setMinimumWidth(460)
        self._folder = folder
        self.name_box = named(QComboBox(self, editable=True), "suiteNameBox", tr("Suite"))
        self.name_box.setLineEdit(LineEdit())
        self.name_box.addItems([path.stem for path in own_suites(folder)] or ["my-suite"])
        about = words_label(
            tr(
                "The run’s prompt, tools and settings become a scenario; its call is the expected call, unless you "
                "named another. A new name creates a new suite."
            ),
            parent=self,
        )
        self.problem = words_label(role="problem", parent=self)
        self.add_button = push_button(tr("Add"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.add_button, Role.AcceptRole))
        form = QFormLayout()
        form.addRow(tr("Suite"), self.name_box)
        vbox(about, form, self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.name_box.currentTextChanged.connect(lambda _text: self._check())
        self._check()

    def _check(self) -> None:
        try:
            suite_path(self._folder, self.name_box.currentText())
            problem = ""
        except SuiteError as error:
            problem = str(error)
        show_words(self.problem, problem)
        self.add_button.setEnabled(not problem)

    def accept(self) -> None:
        if self.add_button.isEnabled():
            self.chosen.emit(suite_path(self._folder, self.name_box.currentText()))
            super().accept()


class HistoryPresenter(QObject):
    """Connects the dock with the recorder and the runs. The window saves and exports runs."""

    def __init__(self, context: AppContext, dock: HistoryDock) -> None:
        super().__init__(context.window)
        self._context = context
        self._background = Background(self)
        dock.runOpened.connect(lambda run: context.recorder.open(run, context.runs.show_record))
        dock.suiteRequested.connect(self._ask_for_suite)
        dock.compareRequested.connect(self._compare)
        dock.notified.connect(context.status.show_result)
        context.recorder.runSaved.connect(dock.refresh)
        context.recorder.described.connect(dock.refresh)
        dock.described.connect(context.recorder.described)

    def _compare(self, ids: Sequence[str]) -> None:
        """Open these runs, one after the other, and show them side by side."""
        runs: list[tuple[AnyEvent, ...]] = []

        def opened(events: tuple[AnyEvent, ...]) -> None:
            runs.append(events)
            if len(runs) < len(ids):
                self._context.recorder.open(ids[len(runs)], opened)
            else:
                self._context.navigator.show(PageId.COMPARE, RunsPlace(tuple(runs)))

        self._context.recorder.open(ids[0], opened)

    def _ask_for_suite(self, run: str) -> None:
        read = partial(self._context.recorder.open, run)
        ask_for_suite(self._context, self._background, read)


def ask_for_suite(
    context: AppContext, background: Background, read: Callable[[Callable[[Events], None]], None]
) -> None:
    """Ask for a suite, and add the run to it whose events `read` passes on."""

    def add(path: Path, events: Events) -> None:
        tool = next((event.tool for event in events if isinstance(event, CallReady)), "run")

        def made() -> Scenario:
            with context.services.named_files.reading():
                return add_scenario(path, scenario_of_run(events, tool))

        background.start("suite", made, partial(_added, context, path), context.show_error)

    dialog = SuiteDialog(context.services.places.suites, context.window)
    dialog.chosen.connect(lambda path: read(partial(add, path)))
    dialog.open()


def _added(context: AppContext, path: Path, scenario: Scenario) -> None:
    words = tr("Added to the suite {suite} as {scenario}.", suite=path.stem, scenario=scenario.id)
    context.status.show_result(words)
    show = partial(context.navigator.show, PageId.EVALUATE, FilePlace(path))
    context.offer(words, tr("Evaluate this suite"), show)
