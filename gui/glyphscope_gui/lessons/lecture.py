"""Lecture mode: the window shows only a large slide, and one key advances through the lesson.

A separate style sheet enlarges the page's text, with which every view of a run on it scales; scaling the whole window
takes seconds, mostly for hidden parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.context import AppContext
from glyphscope_gui.lessons.page import LessonPage
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.shared.labels import LessonLabel, PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, ScrollArea, hbox, vbox
from glyphscope_gui.theme.sizes import lecture_points, lecture_size

_FORWARD = (Qt.Key.Key_Right, Qt.Key.Key_Space, Qt.Key.Key_PageDown)
_BACK = (Qt.Key.Key_Left, Qt.Key.Key_PageUp, Qt.Key.Key_Backspace)


class LessonNotes(QWidget):
    """A separate window for the presenter's screen: the current slide, the next one, the notes of the step, and the
    time since the lecture began.
    """

    def __init__(self, parent: QWidget, keys: Callable[[QKeyEvent], bool]) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        named(self, "lessonNotes", tr("Presenter notes"))
        self.setWindowTitle(tr("Presenter notes"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._keys = keys
        self._began = time.monotonic()
        self.place = PlainLabel(self, role="muted")
        self.clock = PlainLabel("0:00", self, role="title", toolTip=tr("Time since the start of the lecture"))
        self.title = LessonLabel("", "heading", self)
        self.answers = LessonLabel("", "title", self)
        self.following = LessonLabel("", "muted", self)
        self._area = ScrollArea(parent=self)
        self._timer = QTimer(self, interval=1000)
        self._timer.timeout.connect(self._tick)
        head = hbox((self.place, 1), self.clock)
        parts = (head, self.title, (self._area, 1), self.answers, self.following)
        vbox(*parts, parent=self, margins=(20, 16), spacing=10)

    def sizeHint(self) -> QSize:
        return QSize(620, 460)

    def begin(self) -> None:
        """Start the clock of the lecture."""
        self._began = time.monotonic()
        self._timer.start()
        self._tick()

    def end(self) -> None:
        self._timer.stop()
        self.hide()

    def show_step(self, place: str, title: str, notes: str, answers: str, following: str) -> None:
        """`answers` are the slide's answers, which the audience does not see yet."""
        self.place.setText(place)
        self.title.set_words(title)
        body = QWidget()
        vbox(
            LessonProse(notes or tr("*No notes for this step.*"), body),
            STRETCH,
            parent=body,
            margins=(0, 0, 6, 0),
        )
        self._area.setWidget(body)
        self.answers.set_words(answers)
        self.following.set_words(
            tr("Next: {title}", title=following) if following else tr("This is the last step.")
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the same keys as the lecture."""
        if not self._keys(event):
            super().keyPressEvent(event)

    def _tick(self) -> None:
        seconds = int(time.monotonic() - self._began)
        self.clock.setText(f"{seconds // 60}:{seconds % 60:02}")


class Lecture(QObject):
    """`changed` carries whether lecture mode is on. `turn` moves by that many slides."""

    changed = Signal(bool)

    def __init__(self, context: AppContext, view: LessonPage, turn: Callable[[int], None]) -> None:
        super().__init__(view)
        self._context, self._view, self._turn = context, view, turn
        self.is_on = False
        self._points = 0
        self.notes = LessonNotes(context.window, self.key)
        context.themes.changed.connect(self._restyle)

    def begin(self) -> None:
        """Show only the lesson."""
        if self.is_on:
            return
        self.is_on = True
        self._view.set_lecture(True)
        self._view.reader.set_lecture(self.key)
        self._context.navigator.begin_presentation()
        self._set_points(lecture_points(self._view))
        self.notes.begin()
        self.changed.emit(True)

    def end(self) -> None:
        """Restore the previous state of the page and the window."""
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
        """End when the page closes, before the window's geometry is saved."""
        self.end()
        self.notes.deleteLater()

    def key(self, event: QKeyEvent) -> bool:
        """Handle a key of the lecture; False if it has no function."""
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shift, control = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
        if key == Qt.Key.Key_Escape:
            self.end()
        elif (key in _BACK and not modifiers) or (key == Qt.Key.Key_Space and modifiers == shift):
            self._turn(-1)
        elif key in _FORWARD and modifiers == control:
            self._turn(1)
        elif key in _FORWARD and not modifiers:
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
        """Change the text size by `points` and rebuild the slide."""
        self._set_points(self._points + points)
        self._turn(0)

    def _restyle(self, _theme: object) -> None:
        """Apply the colours of another theme."""
        if self.is_on:
            self._context.themes.enlarge(self._view, self._points)

    def _set_points(self, points: int) -> None:
        points = lecture_size(points)
        if points != self._points:
            self._points = points
            self._context.themes.enlarge(self._view, points)
