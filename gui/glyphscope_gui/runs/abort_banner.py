"""Shows why a lesson's run aborted, and which continuations were possible."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from glyphscope.events import Aborted
from glyphscope_gui.shared.labels import PlainLabel, WrappedLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import letters

_SIDE_BY_SIDE = 440
"""Pixels of width, at the usual text size, from which the button is beside the text."""


class StopMark(QWidget):
    """The sign of a stop: a square on a square, not an error."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(24, 24)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("impossible-line"))
        painter.drawRoundedRect(QRectF(0, 0, 24, 24), 5, 5)
        painter.setBrush(theme().color("on-impossible"))
        painter.drawRoundedRect(QRectF(7.5, 7.5, 9, 9), 1.5, 1.5)


class AbortBanner(QFrame):
    """Hidden until a run aborts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("abortBanner")
        self._aborted: Aborted | None = None
        self.title = named(WrappedLabel(self), role="verdict-impossible")
        self.message = WrappedLabel(self)
        for label in (self.title, self.message):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.decoded = PlainLabel(self, role="hint")
        self._lay_out()
        self.hide()

    def show_aborted(self, aborted: Aborted | None) -> None:
        """Show an abort; None hides the banner."""
        if aborted is self._aborted:
            return
        self._aborted = aborted
        if aborted is None:
            self.hide()
            return
        self.title.setText(
            tr(
                "Stopped at character {char}, token {token}: {code}",
                char=aborted.char,
                token=aborted.token,
                code=aborted.code,
            )
        )
        possible = (
            tr("Still possible: {continuations}.", continuations=aborted.viable) if aborted.viable else ""
        )
        message = f"{aborted.message.rstrip('.')}. {possible.replace('..', '.')}"
        self.message.setText(message.rstrip(" "))
        self.setAccessibleName(f"{self.title.text()}. {self.message.text()}")
        self.decoded.setText(tr("%n token(s) decoded", "", aborted.tokens_decoded))
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < _SIDE_BY_SIDE * letters(self)
        way = QHBoxLayout.Direction.TopToBottom if narrow else QHBoxLayout.Direction.LeftToRight
        if self._parts.direction() != way:
            self._parts.setDirection(way)
        self._fit()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # a part was shown or hidden, or its text changed
            self._fit()
        return done

    def _fit(self) -> None:
        """Fit the height to the text at this width: splitters ignore a layout's height for width."""
        layout = self.layout()
        assert layout is not None, "the constructor made it"
        height = max(layout.totalHeightForWidth(self.width()), layout.totalMinimumSize().height())
        if height > 0 and height != self.minimumHeight():
            self.setMinimumHeight(height)

    def _lay_out(self) -> None:
        words = vbox(self.title, self.message, spacing=2)
        self._parts = hbox((words, 1), (self.decoded, 0, Qt.AlignmentFlag.AlignRight), spacing=12)
        hbox(
            (StopMark(self), 0, Qt.AlignmentFlag.AlignVCenter),
            (self._parts, 1),
            parent=self,
            margins=(12, 10),
            spacing=12,
        )
