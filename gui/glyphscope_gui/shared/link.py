"""A button that looks like a link: for what is done beside the matter."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget


def link(words: str, tip: str, parent: QWidget | None = None) -> QPushButton:
    """`tip` says what it does, also to screen readers."""
    button = QPushButton(words, parent)
    button.setProperty("role", "link")
    button.setToolTip(tip)
    button.setAccessibleDescription(tip)
    return button
