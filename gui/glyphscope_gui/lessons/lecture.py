"""Lecture mode: the window becomes a slide, large and alone, and one key goes through the lesson.

The letters of the page are made larger, with a style sheet of its own, so every view of a run on it scales with them:
to scale the whole window takes seconds, for what nobody sees then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent

from glyphscope_gui.lessons.notes import LessonNotes

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

LINES = 45
"""Lines of letters that a screen's height is divided into: 16 points at 720 pixels, 24 at 1080."""
SMALLEST, LARGEST = 12, 48
_ON = (Qt.Key.Key_Right, Qt.Key.Key_Space, Qt.Key.Key_PageDown)
_BACK = (Qt.Key.Key_Left, Qt.Key.Key_PageUp, Qt.Key.Key_Backspace)


class Lecture(QObject):
    """`changed` carries whether it goes on. `turn` goes to another slide, `advance` does what is next in this one."""

    changed = Signal(bool)

    def __init__(
        self,
        window: MainWindow,
        turn: Callable[[int], None],
        advance: Callable[[], bool],
        press: Callable[[int, Qt.KeyboardModifier], bool],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._turn, self._advance, self._press = turn, advance, press
        self.is_on = False
        self._points = 0
        self.is_sized = False
        self._hidden: list[object] = []
        self._was = Qt.WindowState.WindowNoState
        self._stop_keys: list[object] = []
        self.notes = LessonNotes(window, self.key)
        window.themes.changed.connect(self._restyle)

    def begin(self) -> None:
        """Everything but the lesson out of sight."""
        if self.is_on:
            return
        window = self._window
        self.is_on = True
        self._was = window.windowState()
        sides = [*window.left, window.right]
        parts = [window.menuWidget(), window.rail, window.statusBar(), *sides]
        self._hidden = [part for part in parts if part.isVisible()]
        for part in self._hidden:
            part.hide()
        self._stop_keys = window.actions_.stop.shortcuts()
        window.actions_.stop.setShortcuts([])  # Esc leaves the lecture
        window.lesson_page.set_lecture(True)
        window.lesson_page.reader.set_lecture(self.key)
        window.setWindowState(self._was | Qt.WindowState.WindowFullScreen)
        self._set_points(max(SMALLEST, min(LARGEST, round(window.screen().size().height() / LINES))))
        self.notes.begin()
        self.changed.emit(True)

    def end(self) -> None:
        """As it was before."""
        if not self.is_on:
            return
        window = self._window
        self.is_on = self.is_sized = False
        self.notes.end()
        window.lesson_page.set_lecture(False)
        window.lesson_page.reader.set_lecture(None)
        window.setWindowState(self._was)
        for part in self._hidden:
            part.show()
        self._hidden = []
        window.actions_.stop.setShortcuts(self._stop_keys)
        window.themes.enlarge(window.lesson_page, 0)
        self.changed.emit(False)

    def toggle(self) -> None:
        if self.is_on:
            self.end()
        else:
            self.begin()

    def close(self) -> None:
        """With the window, before it is written down how it stands."""
        self.end()
        self.notes.deleteLater()

    def key(self, event: QKeyEvent) -> bool:
        """What a key does in a lecture; False where it does nothing."""
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shift, control = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
        if key == Qt.Key.Key_Escape:
            self.end()
        elif (key in _BACK and not modifiers) or (key == Qt.Key.Key_Space and modifiers == shift):
            self._turn(-1)
        elif key in _ON and modifiers == control:
            self._turn(1)
        elif key in _ON and not modifiers:
            if not self._advance():
                self._turn(1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal) and not modifiers & control:
            self._scale(2)
        elif key == Qt.Key.Key_Minus:
            self._scale(-2)
        elif key == Qt.Key.Key_N and not modifiers:
            self._show_notes()
        else:
            return self._press(key, modifiers)
        return True

    # -- inside ------------------------------------------------------------------------------------------------

    def _show_notes(self) -> None:
        notes = self.notes
        if notes.isVisible():
            notes.hide()
            return
        here = self._window.screen()
        others = [screen for screen in self._window.screen().virtualSiblings() if screen is not here]
        notes.resize(notes.sizeHint())
        if others:
            notes.move(others[0].availableGeometry().topLeft())
        notes.show()

    def _scale(self, points: int) -> None:
        """Larger or smaller letters; the slide is made anew in them."""
        self._set_points(self._points + points)
        self._turn(0)

    def _restyle(self, _theme: object) -> None:
        """In the colours of another theme."""
        if self.is_on:
            self._window.themes.enlarge(self._window.lesson_page, self._points)

    def _set_points(self, points: int) -> None:
        points = max(SMALLEST, min(LARGEST, points))
        if points != self._points or not self.is_sized:
            self._points, self.is_sized = points, True
            self._window.themes.enlarge(self._window.lesson_page, points)
