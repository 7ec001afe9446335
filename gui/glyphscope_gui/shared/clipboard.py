"""Text for the clipboard."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication


def copy_text(text: str) -> None:
    """Put the text on the clipboard. Qt drops a lone surrogate without a trace: it becomes a question mark, as in a
    file.
    """
    QGuiApplication.clipboard().setText(text.encode("utf-8", "replace").decode())
