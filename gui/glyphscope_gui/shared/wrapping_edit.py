"""A plain text edit that wraps its lines, also where a single word is as long as a whole text: a picture in base64.

To break a long word, Qt goes through all of it for each line of it: measured, 13 seconds for 300,000 characters. Where
it may break anywhere, those take a sixth of a second.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

LONGEST = 5_000
"""Characters of a word that is still broken as the others are."""
_AT_WORDS = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def bear(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """Before the text is put in."""
    if _has_long_word(text):
        edit.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)


def ease(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """After the text has taken the place of all that was in it."""
    if not _has_long_word(text):
        edit.setWordWrapMode(_AT_WORDS)


def _has_long_word(text: str) -> bool:
    return len(text) > LONGEST and any(len(word) > LONGEST for word in text.split())


class WrappingEdit(QPlainTextEdit):
    """Lines are broken at words, and from the first long word on anywhere, until the text is another."""

    def setPlainText(self, text: str) -> None:
        bear(self, text)
        super().setPlainText(text)
        ease(self, text)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Between what stands in the line there can grow a long word of short ones."""
        line = self.textCursor().block().text()
        bear(self, f"{line}{source.text()}")
        super().insertFromMimeData(source)
