"""Words of several lines in one of the style sheet's roles: problems, hints, explanations."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.visible import visible


class PlainLabel(QLabel):
    """Shows its text as it is written: no HTML, and a sign for each character that is not seen."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(visible(text, lines=True), parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        super().setText(visible(text, lines=True))


def words_label(
    words: str = "",
    role: str = "muted",
    parent: QWidget | None = None,
    *,
    name: str = "",
    selectable: bool = False,
) -> QLabel:
    """A plain label that wraps."""
    label = PlainLabel(words, parent)
    label.setWordWrap(True)
    label.setObjectName(name)
    if role:
        label.setProperty("role", role)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
