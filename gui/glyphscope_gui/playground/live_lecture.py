"""Lecture mode of the playground: the window shows only the prompt, the verdict and the transcript, in large text."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence, QShortcut

from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme.sizes import lecture_points, lecture_size


class LiveLecture(QObject):
    """`action` begins and ends it. In it, the right arrow decodes a step, + and − change the text size, and Esc stops a
    run or ends the lecture.
    """

    def __init__(self, context: AppContext, view: RunPage) -> None:
        super().__init__(view)
        self._context, self._view = context, view
        self.is_on = False
        self._points = 0
        self.action = named(QAction(tr("Le&cture mode"), self), "liveLectureAction")
        self.action.setShortcut(QKeySequence("F11"))
        self.action.setStatusTip(tr("Only the run, in large text"))
        self.action.triggered.connect(self.toggle)
        self._keys = [
            QShortcut(QKeySequence(keys), view, do)
            for keys, do in (
                ("Esc", self._escape),
                ("Right", context.actions.step.trigger),
                ("+", lambda: self._set_points(self._points + 2)),
                ("-", lambda: self._set_points(self._points - 2)),
            )
        ]
        self._enable_keys()
        context.navigator.shown.connect(self._page_shown)
        context.themes.changed.connect(self._restyle)

    def toggle(self) -> None:
        if self.is_on:
            self.end()
            return
        self.is_on = True
        self._enable_keys()
        self._context.navigator.begin_presentation()
        self._view.set_lecture(True)
        self._set_points(lecture_points(self._view))
        self._view.stream.setFocus()

    def end(self) -> None:
        """Restore the page and the window as they were before."""
        if not self.is_on:
            return
        self.is_on = False
        self._enable_keys()
        self._points = 0
        self._view.set_lecture(False)
        self._context.themes.enlarge(self._view, 0)
        self._view.stream.write_again()
        self._context.navigator.end_presentation()

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

    def _restyle(self, _theme: object) -> None:
        if self.is_on:
            self._context.themes.enlarge(self._view, self._points)

    def _set_points(self, points: int) -> None:
        points = lecture_size(points)
        if points != self._points:
            self._points = points
            self._context.themes.enlarge(self._view, points)
