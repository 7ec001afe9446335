"""Parts of a page beside or below each other, with a border that can be moved."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from glyphscope_gui.theme.sizes import GAP


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
