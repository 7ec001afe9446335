"""The presenter's notes: a separate window, for the screen that the audience does not see."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.shared.labels import LessonLabel, PlainLabel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, ScrollArea, hbox, vbox


class LessonNotes(QWidget):
    """The current slide, the next one, the notes of the step, and the time since the lecture began."""

    def __init__(self, parent: QWidget, keys: Callable[[QKeyEvent], bool]) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("lessonNotes")
        self.setWindowTitle(tr("Presenter notes"))
        self.setAccessibleName(tr("Presenter notes"))
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
        """The lecture begins now."""
        self._began = time.monotonic()
        self._timer.start()
        self._tick()

    def end(self) -> None:
        self._timer.stop()
        self.hide()

    def show_step(self, place: str, title: str, notes: str, answers: str, following: str) -> None:
        """`answers` are those of the questions on the slide, which the room does not see yet."""
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
        """The same keys as in the lecture."""
        if not self._keys(event):
            super().keyPressEvent(event)

    def _tick(self) -> None:
        seconds = int(time.monotonic() - self._began)
        self.clock.setText(f"{seconds // 60}:{seconds % 60:02}")
