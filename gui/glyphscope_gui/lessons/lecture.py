"""Lecture mode of lessons: the window shows only a large slide, and one key advances through the lesson."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.context import AppContext
from glyphscope_gui.lecture import Lecture
from glyphscope_gui.lessons.page import LessonPage
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.shared.labels import LessonLabel, PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, ScrollArea, hbox, vbox

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


class LessonLecture(Lecture):
    """`changed` carries whether lecture mode is on. `turn` moves by that many slides."""

    changed = Signal(bool)

    def __init__(self, context: AppContext, view: LessonPage, turn: Callable[[int], None]) -> None:
        super().__init__(context, view)
        self._page, self._turn = view, turn
        self.notes = LessonNotes(context.window, self.key)

    def arrange(self) -> None:
        self._page.set_lecture(self.is_on)
        self._page.reader.set_lecture(self.key if self.is_on else None)

    def arranged(self) -> None:
        if self.is_on:
            self.notes.begin()
        else:
            self.notes.end()
        self.changed.emit(self.is_on)

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
            if not self._page.reader.advance():
                self._turn(1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal) and not modifiers & control:
            self._scale(2)
        elif key == Qt.Key.Key_Minus:
            self._scale(-2)
        elif key == Qt.Key.Key_N and not modifiers:
            self._show_notes()
        else:
            return self._page.reader.press(key, modifiers)
        return True

    def _show_notes(self) -> None:
        notes = self.notes
        if notes.isVisible():
            notes.hide()
            return
        here = self._page.screen()
        others = [screen for screen in here.virtualSiblings() if screen is not here]
        notes.resize(notes.sizeHint())
        if others:
            notes.move(others[0].availableGeometry().topLeft())
        notes.show()

    def _scale(self, points: int) -> None:
        """Change the text size by `points` and rebuild the slide."""
        self.set_points(self.points + points)
        self._turn(0)
