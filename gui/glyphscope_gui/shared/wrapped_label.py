"""Labels of several lines that are as high as their words need at their width, where no layout asks for that."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.text_label import PlainLabel


class WrappedLabel(PlainLabel):
    """In a splitter Qt asks no label how high it gets when it is made narrower."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setWordWrap(True)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def needed(self) -> int:
        """Pixels of height that the words take at the width that there is."""
        self.setMinimumHeight(0)  # Qt's answer is never less than the minimum
        return max(self.heightForWidth(max(self.width(), 60)), 0)

    def _fit(self) -> None:
        self.setMinimumHeight(self.needed() if self.text() else 0)


class FittedLabel(WrappedLabel):
    """Not higher either: a page with it is not as high as it likes to be, and scrolled."""

    def hasHeightForWidth(self) -> bool:
        return False

    def _fit(self) -> None:
        self.setFixedHeight(max(self.needed(), self.fontMetrics().height()))
