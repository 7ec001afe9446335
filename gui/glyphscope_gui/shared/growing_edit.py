"""A plain text edit that is as high as its text, up to a number of lines."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QSize, QSizeF, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.shared.wrapping_edit import WrappingEdit


class GrowingEdit(WrappingEdit):
    """Tab goes to the next field; wraps; between one line and `max_lines` high."""

    def __init__(self, max_lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._max_lines = max_lines
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def bar_when_full(self) -> None:
        """A scroll bar from the line on that has no room any more; Qt's own guess shows one beside a single line."""
        self.document().documentLayout().documentSizeChanged.connect(self._fit_bar)

    def _fit_bar(self, size: QSizeF) -> None:
        more = size.height() > self._max_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if more else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Files that are dropped are opened by the window, not inserted as their names."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._wanted_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._wanted_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _wanted_height(self) -> int:
        """A plain text document counts its size in lines; the frame and the margins come on top."""
        lines = self.document().documentLayout().documentSize().height()
        lines = min(max(lines, 1), self._max_lines)
        around = self.height() - self.viewport().height() if self.isVisible() else 2 * self.frameWidth()
        return round(lines * self.fontMetrics().lineSpacing() + 2 * self.document().documentMargin()) + around

    def _fit(self) -> None:
        height = self._wanted_height()
        if height != self.height():
            self.setFixedHeight(height)
