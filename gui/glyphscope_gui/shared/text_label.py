"""Words of several lines in one of the style sheet's roles: problems, hints, explanations."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


def words_label(
    words: str = "",
    role: str = "muted",
    parent: QWidget | None = None,
    *,
    name: str = "",
    selectable: bool = False,
) -> QLabel:
    """It wraps, and shows what stands in it as it is written: whoever wrote it, it is no HTML."""
    label = QLabel(words, parent, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
    label.setObjectName(name)
    if role:
        label.setProperty("role", role)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
