"""Words of several lines in one of the style sheet's roles: problems, hints, explanations."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.visible import visible


class PlainLabel(QLabel):
    """Shows its text as it is written: no HTML, and a sign for each character that is not seen.

    Every label of the window is one: what it shows may be of a file, a model or a server. `options` are Qt's.
    """

    def __init__(
        self, text: str | QWidget | None = "", parent: QWidget | None = None, **options: Any
    ) -> None:
        words, parent = (text, parent) if isinstance(text, str) else ("", text)
        super().__init__(visible(words, lines=True), parent, **options)
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
