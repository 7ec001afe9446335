"""The result that is shown against another one: which ones there are, and what changed."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext
from glyphscope_gui.evaluate.changes_view import ChangesDialog
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.evaluate.reading import Compared, EvalReading
from glyphscope_gui.evaluate.result_presenter import EvalResultPresenter
from glyphscope_gui.evaluate.results_model import EvalResultsModel, result_words
from glyphscope_gui.history.model import when
from glyphscope_gui.shared.language import tr

MOST = 20
"""Results that are offered: the newest."""


class ResultComparing(QObject):
    """Fills the menu of results that ask the same suites, and shows the changes."""

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
        reading.compared.connect(self._show)

    def fill(self) -> None:
        """The other results with a suite of the one that is shown."""
        menu, result = self._view.compare_menu, self._shown.result
        menu.clear()
        suites = set() if result is None else {suite.name for suite in result.manifest.suites}
        for row in self._results.rows:
            manifest = row.manifest
            if result is None or manifest is None or row.path == result.path:
                continue
            if suites & {suite.name for suite in manifest.suites} and len(menu.actions()) < MOST:
                action = menu.addAction(result_words(row))
                action.triggered.connect(lambda _on=False, path=row.path: self._reading.compare(path, result))
        if menu.isEmpty():
            menu.addAction(tr("No other result has these suites")).setEnabled(False)

    def _show(self, compared: Compared) -> None:
        result = compared.result
        after = when(result.manifest.started)
        dialog = ChangesDialog(compared.changes, compared.arms, compared.before, after, self._context.window)
        dialog.runRequested.connect(lambda sample: self._reading.open_run(result, sample))
        dialog.open()
