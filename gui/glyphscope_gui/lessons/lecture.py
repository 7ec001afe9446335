"""Lecture mode: the window becomes a slide, large and alone, and one key goes through the lesson.

The page's letters are enlarged by a separate style sheet, so every view of a run on it scales with them:
scaling the whole window takes seconds, mostly for parts that are hidden then.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent

from glyphscope_gui.context import AppContext
from glyphscope_gui.lessons.notes import LessonNotes
from glyphscope_gui.lessons.page import LessonPage

LINES = 45
"""Lines of letters that a screen's height is divided into: 16 points at 720 pixels, 24 at 1080."""
SMALLEST, LARGEST = 12, 48
_ON = (Qt.Key.Key_Right, Qt.Key.Key_Space, Qt.Key.Key_PageDown)
_BACK = (Qt.Key.Key_Left, Qt.Key.Key_PageUp, Qt.Key.Key_Backspace)


class Lecture(QObject):
    """`changed` carries whether lecture mode is on. `turn` moves by so many slides."""

    changed = Signal(bool)

    def __init__(self, context: AppContext, view: LessonPage, turn: Callable[[int], None]) -> None:
        super().__init__(view)
        self._context, self._view, self._turn = context, view, turn
        self.is_on = False
        self._points = 0
        self.notes = LessonNotes(context.window, self.key)
        context.themes.changed.connect(self._restyle)

    def begin(self) -> None:
        """Show the lesson alone."""
        if self.is_on:
            return
        self.is_on = True
        self._view.set_lecture(True)
        self._view.reader.set_lecture(self.key)
        self._context.navigator.begin_presentation()
        self._set_points(round(self._view.screen().size().height() / LINES))
        self.notes.begin()
        self.changed.emit(True)

    def end(self) -> None:
        """Restore the page and the window as they were before."""
        if not self.is_on:
            return
        self.is_on = False
        self._points = 0
        self.notes.end()
        self._view.set_lecture(False)
        self._view.reader.set_lecture(None)
        self._context.navigator.end_presentation()
        self._context.themes.enlarge(self._view, 0)
        self.changed.emit(False)

    def toggle(self) -> None:
        if self.is_on:
            self.end()
        else:
            self.begin()

    def close(self) -> None:
        """End with the page, before the window's geometry is saved."""
        self.end()
        self.notes.deleteLater()

    def key(self, event: QKeyEvent) -> bool:
        """Handle a key of the lecture; False where it has no function."""
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shift, control = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
        if key == Qt.Key.Key_Escape:
            self.end()
        elif (key in _BACK and not modifiers) or (key == Qt.Key.Key_Space and modifiers == shift):
            self._turn(-1)
        elif key in _ON and modifiers == control:
            self._turn(1)
        elif key in _ON and not modifiers:
            if not self._view.reader.advance():
                self._turn(1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal) and not modifiers & control:
            self._scale(2)
        elif key == Qt.Key.Key_Minus:
            self._scale(-2)
        elif key == Qt.Key.Key_N and not modifiers:
            self._show_notes()
        else:
            return self._view.reader.press(key, modifiers)
        return True

    # -- inside ------------------------------------------------------------------------------------------------

    def _show_notes(self) -> None:
        notes = self.notes
        if notes.isVisible():
            notes.hide()
            return
        here = self._view.screen()
        others = [screen for screen in here.virtualSiblings() if screen is not here]
        notes.resize(notes.sizeHint())
        if others:
            notes.move(others[0].availableGeometry().topLeft())
        notes.show()

    def _scale(self, points: int) -> None:
        """Change the size of the letters by `points` and rebuild the slide."""
        self._set_points(self._points + points)
        self._turn(0)

    def _restyle(self, _theme: object) -> None:
        """Apply the colours of another theme."""
        if self.is_on:
            self._context.themes.enlarge(self._view, self._points)

    def _set_points(self, points: int) -> None:
        points = max(SMALLEST, min(LARGEST, points))
        if points != self._points:
            self._points = points
            self._context.themes.enlarge(self._view, points)
