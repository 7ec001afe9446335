"""Lecture mode of the playground: the window shows only the prompt, the verdict and the transcript, in large text."""

from __future__ import annotations

from PySide6.QtGui import QAction, QKeySequence, QShortcut

from glyphscope_gui.context import AppContext
from glyphscope_gui.lecture import Lecture
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class LiveLecture(Lecture):
    """`action` begins and ends it. In it, the right arrow decodes a step, + and − change the text size, and Esc stops a
    run or ends the lecture.
    """

    def __init__(self, context: AppContext, view: RunPage) -> None:
        super().__init__(context, view)
        self._page = view
        self.action = named(QAction(tr("Le&cture mode"), self), "liveLectureAction")
        self.action.setShortcut(QKeySequence("F11"))
        self.action.setStatusTip(tr("Only the run, in large text"))
        self.action.triggered.connect(self.toggle)
        self._keys = [
            QShortcut(QKeySequence(keys), view, do)
            for keys, do in (
                ("Esc", self._escape),
                ("Right", context.actions.step.trigger),
                ("+", lambda: self.set_points(self.points + 2)),
                ("-", lambda: self.set_points(self.points - 2)),
            )
        ]
        self._enable_keys()
        context.navigator.shown.connect(self._page_shown)

    def arrange(self) -> None:
        self._enable_keys()
        self._page.set_lecture(self.is_on)

    def arranged(self) -> None:
        if self.is_on:
            self._page.stream.setFocus()
        else:
            self._page.stream.write_again()

    def _escape(self) -> None:
        if self._context.runs.is_busy:
            self._context.runs.stop()
        else:
            self.end()

    def _enable_keys(self) -> None:
        for key in self._keys:
            key.setEnabled(self.is_on)

    def _page_shown(self, page: PageId) -> None:
        self.action.setVisible(page is PageId.PLAYGROUND)
        if page is not PageId.PLAYGROUND:
            self.end()
