"""Lecture mode of a page: the window shows nothing but the page, in large text."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from glyphscope_gui.context import AppContext
from glyphscope_gui.theme.sizes import lecture_points, lecture_size


class Lecture(QObject):
    """A separate style sheet enlarges the page's text, with which every view of a run on it scales; scaling the whole
    window takes seconds, mostly for hidden parts. A page's own lecture arranges the page in `arrange`.
    """

    def __init__(self, context: AppContext, view: QWidget) -> None:
        super().__init__(view)
        self._context, self._view = context, view
        self.is_on = False
        self.points = 0
        """The text size; 0 for the window's."""
        context.themes.changed.connect(self._restyle)

    def begin(self) -> None:
        """Show only the page."""
        if not self.is_on:
            self.is_on = True
            self.arrange()
            self._context.navigator.begin_presentation()
            self.set_points(lecture_points(self._view))
            self.arranged()

    def end(self) -> None:
        """Restore the page and the window as they were before."""
        if self.is_on:
            self.is_on = False
            self.arrange()
            self._context.navigator.end_presentation()
            self._enlarge(0)
            self.arranged()

    def toggle(self) -> None:
        if self.is_on:
            self.end()
        else:
            self.begin()

    def set_points(self, points: int) -> None:
        """Change the text size, within the bounds of a lecture."""
        if self.points != lecture_size(points):
            self._enlarge(lecture_size(points))

    def arrange(self) -> None:
        """Arrange the page for a lecture if it `is_on`, otherwise as usual; the text size is not set yet."""
        raise NotImplementedError

    def arranged(self) -> None:
        """The page has its text size."""
        raise NotImplementedError

    def _restyle(self, _theme: object) -> None:
        """Apply the colours of another theme."""
        if self.is_on:
            self._enlarge(self.points)

    def _enlarge(self, points: int) -> None:
        self.points = points
        self._context.themes.enlarge(self._view, points)
