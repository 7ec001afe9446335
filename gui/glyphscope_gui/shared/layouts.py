"""Layouts: a row that wraps, and a splitter with a handle that can be seen."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QSplitter, QWidget

from glyphscope_gui.theme.sizes import GAP


class Flow(QWidget):
    """Its height follows from its width."""

    def __init__(self, parent: QWidget | None = None, gap: int = 12, line_gap: int = 4) -> None:
        super().__init__(parent)
        self._items: list[QWidget] = []
        self._gap, self._line_gap = gap, line_gap
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def add(self, widget: QWidget) -> None:
        widget.setParent(self)
        self._items.append(widget)
        self._place(self.width())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(event.size().width())

    def _place(self, width: int) -> None:
        self.setMinimumWidth(max(item.sizeHint().width() for item in self._items))
        self.setFixedHeight(max(self._arrange(width), 1))

    def _arrange(self, width: int) -> int:
        """Put the items in their places; returns the height."""
        x = y = line = 0
        for item in self._items:
            size = item.sizeHint()
            if x and x + size.width() > width:
                x, y, line = 0, y + line + self._line_gap, 0
            item.setGeometry(x, y, size.width(), size.height())
            x += size.width() + self._gap
            line = max(line, size.height())
        return y + line


def splitter(way: Qt.Orientation, parts: tuple[QWidget, ...], shares: tuple[int, ...]) -> QSplitter:
    """`shares` are how much of more room each part gets; none can be folded away."""
    made = QSplitter(way)
    made.setObjectName("centreSplitter")
    made.setChildrenCollapsible(False)
    made.setHandleWidth(GAP)
    for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
        made.addWidget(part)
        made.setStretchFactor(place, share)
    return made
