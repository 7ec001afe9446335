"""Suites that are made and edited in the window: opens the editor, and ticks what was saved."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from glyphscope.evals.suites.suite import VERSION, Suite
from glyphscope_gui.context import AppContext
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.evaluate.reading import EvalReading
from glyphscope_gui.evaluate.scenarios import ScenarioRow
from glyphscope_gui.evaluate.suite_editor import SuiteEditor, editable
from glyphscope_gui.shared.language import tr


class SuiteEditing(QObject):
    """Connects the lists of suites and scenarios with the editor."""

    def __init__(self, context: AppContext, view: EvalPage, reading: EvalReading, parent: QObject) -> None:
        super().__init__(parent)
        self._context, self._view, self._reading = context, view, reading
        view.setup.new_suite.clicked.connect(self.make)
        view.setup.edit_suite.clicked.connect(self.edit_current)
        view.setup.scenarios.opened.connect(self.edit)

    @property
    def folder(self) -> Path:
        return self._context.services.places.suites

    def make(self) -> None:
        """A new suite, with the tools that are open."""
        registry = self._context.project.tools.registry.to_document()
        suite = Suite(glyphscope_suite=VERSION, name="my-suite", about="", registry=registry)
        self._show(suite, None)

    def edit_current(self) -> None:
        """The suite of the scenario that is selected, or the first one that is ticked."""
        row = self._view.setup.scenarios.current()
        if row is not None:
            self.edit(row)
        else:
            self._view.notice.show_words(tr("Select a suite to edit."))

    def edit(self, row: ScenarioRow) -> None:
        """The suite of a scenario, which is chosen in it; of a bundled suite a copy."""
        self._reading.load_suite(
            row.source, lambda suite: self._show(*editable(suite, row.source), row.scenario.id)
        )

    def _show(self, suite: Suite, path: Path | None, chosen: str = "") -> None:
        editor = SuiteEditor(suite, path, self.folder, chosen, self._context.window)
        editor.saved.connect(lambda saved: self._reading.read_suite(str(saved)))
        editor.open()
