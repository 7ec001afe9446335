"""The page that runs suites of prompts under several arms: set-up, progress, and results."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope_gui.evaluate.progress import EvalProgressBar
from glyphscope_gui.evaluate.setup import Axis
from glyphscope_gui.evaluate.setup_view import EvalSetupView
from glyphscope_gui.evaluate.ticks import TicksModel
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.slices import Steps
from glyphscope_gui.theme.sizes import GAP

SETUP, RESULT = "setup", "result"


class EvalPage(FollowsSize, QWidget):
    """Arranges the parts; `presenter.py` connects them.

    Empty until all of `make` is done, when the page is first shown: the program's start does not wait for it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalPage", tr("Evaluate"))
        self._made = False

    def make(self, axes: Sequence[Axis], results: QAbstractItemModel) -> Steps:
        """Make everything on the page."""
        from glyphscope_gui.evaluate.result_view import EvalResultView  # with the library of charts

        yield
        self.suites_model, self.models_model = TicksModel(self), TicksModel(self)
        self.notice = NoticeBanner(self)
        self.progress = EvalProgressBar(self)
        self.views = Segmented(
            (
                (SETUP, tr("Set up"), tr("Choose suites and arms, and start")),
                (RESULT, tr("Result"), tr("The open result")),
            ),
            parent=self,
        )
        self.views.setAccessibleName(tr("Set up or result"))
        self.title = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.resume = push_button(
            tr("Resume"), self, name="evalResumeButton", tip=tr("Run the remaining samples")
        )
        self.resume.hide()
        self.open_button = push_button(
            tr("Open result…"), self, name="evalOpenButton", tip=tr("Open the folder of a result")
        )
        self.report_button = push_button(
            tr("Open report"),
            self,
            name="evalReportButton",
            tip=tr("Save the result as an HTML report and open it in a browser"),
        )
        self.export_button = push_button(
            tr("Export…"), self, name="evalExportButton", tip=tr("Export all samples as CSV or Parquet")
        )
        self.compare_button = push_button(
            tr("Compare with…"),
            self,
            name="evalCompareButton",
            tip=tr("Changes from an earlier result, regressions first"),
        )
        self.compare_menu = QMenu(self)
        self.compare_button.setMenu(self.compare_menu)
        yield
        self.stack = stack(parent=self)
        self.setup = EvalSetupView(self.suites_model, self.models_model, axes, results, self.stack)
        yield
        self.setup.lay_out()
        yield
        self.result = EvalResultView(self.stack)
        yield
        self.result.lay_out()
        yield
        words = tr(
            "No result is open.\n\nSet up an evaluation and press Evaluate, or open an earlier result."
        )
        self.nothing = PlainLabel(words, self.stack, role="muted", alignment=Qt.AlignmentFlag.AlignCenter)
        for part in (self.setup, self.result, self.nothing):
            self.stack.addWidget(part)
        self.views.chosen.connect(self.show_view)
        self._made = True
        self._lay_out()
        self.show_has_result("")
        self.setFocusProxy(self.views.button(SETUP))
        self.result.arrange(self.width())

    def show_view(self, name: str) -> None:
        """Show the set-up or the result: SETUP or RESULT."""
        self.views.set_value(name)
        shown = self.setup if name == SETUP else self.result if self._has_result else self.nothing
        self.stack.setCurrentWidget(shown)

    def show_has_result(self, title: str) -> None:
        """Show the title of the open result; "" where none is open."""
        self._has_result = bool(title)
        self.title.setText(title)
        for button in (self.report_button, self.export_button, self.compare_button):
            button.setEnabled(bool(title))
        self.show_view(self.views.value)

    def _fit(self) -> None:
        if self._made:
            self.result.arrange(self.width())

    def _lay_out(self) -> None:
        head = hbox(
            self.views,
            (self.title, 1),
            self.resume,
            self.open_button,
            self.compare_button,
            self.report_button,
            self.export_button,
            spacing=10,
        )
        vbox(head, self.notice, self.progress, (self.stack, 1), parent=self, margins=GAP, spacing=GAP)
