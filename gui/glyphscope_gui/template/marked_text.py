"""A read-only text with marked stretches: the differences, and the chosen slot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from glyphscope.base.visible import visible
from glyphscope_gui.shared.code_edit import to_utf16
from glyphscope_gui.shared.text_edits import WrappingEdit, marked
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, use_font

Spans = Sequence[tuple[int, int]]
_MAX_MARKS = 200
_MAX_LENGTH = 60_000
"""Characters that are shown: a prompt with many tools is longer than users read here."""


class MarkedText(FollowsLooks, WrappingEdit):
    """`differs` has a background and an underline, `chosen` another background and a dashed underline."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""
        self._differs: Spans = ()
        self._chosen: Spans = ()
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        use_font(self, mono_font, -0.5)
        self.setStyleSheet("QPlainTextEdit:!focus { border-color: transparent; }")

    def show_text(self, text: str, differs: Spans = (), chosen: Spans = ()) -> None:
        """Show another text, scrolled to the first marked stretch."""
        text = text[:_MAX_LENGTH]
        if text != self.text:
            self.text = text
            self.setPlainText(visible(text, lines=True, single=True))
        self._differs, self._chosen = differs, chosen
        self._restyle()
        first = min((start for start, _ in (*chosen, *differs)), default=0)
        cursor = self.textCursor()
        cursor.setPosition(to_utf16(self.text, min(first, len(self.text))))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def _restyle(self) -> None:
        """Mark the stretches, in the current colours."""
        line = QTextCharFormat.UnderlineStyle
        marks = [self._stretch(span, "open", line.SingleUnderline) for span in self._differs[:_MAX_MARKS]]
        marks += [self._stretch(span, "forced", line.DashUnderline) for span in self._chosen[:_MAX_MARKS]]
        self.setExtraSelections([mark for mark in marks if mark is not None])

    def _stretch(
        self, span: tuple[int, int], role: str, line: QTextCharFormat.UnderlineStyle
    ) -> QTextEdit.ExtraSelection | None:
        start, end = (min(place, len(self.text)) for place in span)
        if start >= end:
            return None
        places = (to_utf16(self.text, start), to_utf16(self.text, end))
        colors = theme()
        return marked(
            self.document(),
            *places,
            ground=colors.color(f"{role}-soft"),
            line=(line, colors.color(f"{role}-line")),
        )


_MAX_MARKS = 20
"""Occurrences of markers that are marked in a text."""


def places_of(text: str, markers: tuple[str, ...]) -> list[tuple[int, int]]:
    """The places of markers, longer ones first, without overlaps. Single punctuation characters are not markers."""
    found: list[tuple[int, int]] = []
    for marker in sorted({each.strip() for each in markers if len(each.strip()) > 1}, key=len, reverse=True):
        at = text.find(marker)
        while at >= 0 and len(found) < _MAX_MARKS:
            end = at + len(marker)
            if all(end <= start or at >= stop for start, stop in found):
                found.append((at, end))
            at = text.find(marker, end)
    return sorted(found)
