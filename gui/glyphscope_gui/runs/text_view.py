"""The view of a document that has the texts of stages, as these see it: its formats, its margin, how it is edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtGui import QFontMetricsF, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextBrowser

from glyphscope_gui.theme import mono_font, theme

LINE_HEIGHT = 165
"""In percent of the font's line height: room for the lines below a field and the sign above its end."""


class Looks(NamedTuple):
    """The formats of a stage's text in one theme and text size."""

    metrics: QFontMetricsF
    block: QTextBlockFormat
    plain: QTextCharFormat
    forced: QTextCharFormat
    continuation: QTextCharFormat


def looks_of(larger: float) -> Looks:
    """The formats of text that is `larger` points larger than the interface's."""
    font = mono_font(larger)
    formats = []
    for role in ("text", "forced", "text-faint"):
        format_ = QTextCharFormat()
        format_.setFont(font)
        format_.setForeground(theme().color(role))
        formats.append(format_)
    formats[-1].setFontStrikeOut(True)
    block = QTextBlockFormat()
    block.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    return Looks(QFontMetricsF(font), block, *formats)


class TextView(QTextBrowser):
    """`margin` is the width in pixels of the margin on the left of all text."""

    LARGER: float = 0
    """Points by which the text is larger than the interface's."""
    looks: Looks
    margin = 0

    def edit(self, change: Callable[[QTextCursor], None]) -> None:
        """Edit in one block, at the document's end."""
        raise NotImplementedError

    def sight(self) -> tuple[int, int]:
        """The positions of the document in the visible lines."""
        raise NotImplementedError

    def mark_decided(self) -> None:
        """Mark the deciding characters of all texts."""
        raise NotImplementedError
