"""The last line of the window: the model's process, and the run's figures."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD


class Dot(QWidget):
    """The sign of a state: a filled dot for good, a ring for in progress, a square for failed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = "none"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_state(self, state: str) -> None:
        self._state = state
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(9, 9)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0.5, 0.5, 8, 8)
        roles = {"ready": "holds-line", "failed": "impossible-line"}
        roles |= dict.fromkeys(("opening", "unloading", "busy"), "accent")
        colour = theme().color(roles.get(self._state, "text-faint"))
        if self._state in ("ready", "busy"):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawEllipse(box)
        elif self._state == "failed":
            painter.fillRect(box, colour)
        else:
            painter.setPen(colour)
            painter.drawEllipse(box)


class StatusLine(QFrame):
    """Shows the state in words (`statusMessage`), the run's figures, and on the right a note or an action's result."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusLine")
        self._state, self._words, self._activity = "none", "", ""
        self._note = ""
        self._is_of_run = self._shows_run = True
        self.dot = Dot(self)
        self.message = PlainLabel(self, objectName="statusMessage", accessibleName=tr("Status"))
        self.figures = named(ElidedLabel(self, Qt.TextElideMode.ElideRight), "", tr("Statistics of the run"))
        self.note = ElidedLabel(self, Qt.TextElideMode.ElideRight)
        self.note.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        for label in (self.message, self.figures, self.note):
            label.setProperty("role", "muted")
        parts = (self.dot, self.message, 14, (self.figures, 1), self.note)
        hbox(*parts, parent=self, margins=(PAD, 4, PAD, 5), spacing=7)

    def set_state(self, state: str, words: str) -> None:
        """Set the state of the model or run, shown while the page in front has no activity."""
        self._state, self._words = state, words
        self._show()

    def set_activity(self, words: str, *, of_run: bool = False) -> None:
        self._activity, self._is_of_run = words, of_run or not words
        self._show()

    def show_run(self, shown: bool) -> None:
        """Show the figures of the run where the page in front shows it too."""
        self._shows_run = shown
        self._show()

    def _show(self) -> None:
        self.figures.setVisible(self._shows_run and self._is_of_run)
        self.dot.set_state("busy" if self._activity else self._state)
        self.message.setText(self._activity or self._words)

    def set_figures(self, figures: Sequence[str]) -> None:
        self.figures.setText("     ".join(figures))

    def set_note(self, words: str) -> None:
        self._note = words
        self.note.setText(words)

    def show_result(self, words: str) -> None:
        self.note.setText(words)

    def end_result(self) -> None:
        """Show the note again instead of the last action's result."""
        self.note.setText(self._note)
