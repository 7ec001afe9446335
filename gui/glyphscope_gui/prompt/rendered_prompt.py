"""The prompt word for word, in which the chosen part and the part under the mouse are marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.code_edit import CodeEdit, to_utf16
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.long_texts import shown_part
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.theme import theme

Spans = Sequence[tuple[int, int]]
_MAX_SPANS = 100
"""Stretches that are marked; if a part has more, the first ones."""


class RenderedPrompt(CodeEdit):
    """Characters are code points of the prompt. `placeChosen` carries the character at the cursor after a click or a
    key, `placeHovered` the one under the mouse, or None.
    """

    placeChosen = Signal(object)
    placeHovered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._spans: Spans = ()
        self._hovered: Spans = ()
        self._reports_cursor = True
        self._text = ""
        super().__init__(parent)
        self.setObjectName("renderedPromptView")
        self.setAccessibleName(tr("The prompt as sent to the model"))
        self.setAccessibleDescription(tr("The part at the cursor is selected in the costs below."))
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.viewport().setMouseTracking(True)
        self.cursorPositionChanged.connect(self._cursor_moved)

    def show_prompt(self, text: str) -> None:
        """Show another prompt, without marks."""
        self._reports_cursor = False
        self._spans, self._hovered = (), ()
        self._text = visible(shown_part(text), lines=True, single=True)
        self.show_text(self._text)
        self._mark()
        self._reports_cursor = True

    def mark(self, spans: Spans) -> None:
        """Mark these characters, and scroll to the first of them."""
        self._spans = self._places(spans)
        self._mark()
        if spans and not self.hasFocus():
            cursor = self.textCursor()
            cursor.setPosition(self._spans[0][0])
            self._reports_cursor = False
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
            self._reports_cursor = True

    def hover(self, spans: Spans) -> None:
        """Mark these characters lightly, while the mouse is over them."""
        places = self._places(spans)
        if places != self._hovered:
            self._hovered = places
            self._mark()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if event.buttons() == Qt.MouseButton.NoButton:
            self.placeHovered.emit(self._character(self.cursorForPosition(event.position().toPoint())))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.placeHovered.emit(None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            return QWidget.event(self, event)  # the tip describes the part under the mouse
        return super().event(event)

    def _cursor_moved(self) -> None:
        if self._reports_cursor and self.hasFocus() and not self._showing:
            self.placeChosen.emit(self._character(self.textCursor()))

    def _bracket_selections(self) -> list[QTextEdit.ExtraSelection]:
        """Return no brackets, as the marks in this view are parts."""
        return []

    def _mark(self) -> None:
        super()._mark()
        colors = theme()
        marks = [
            self._span(span, colors.color("hover"), colors.color("border-strong")) for span in self._hovered
        ]
        marks += [self._span(span, colors.color("selection"), colors.color("accent")) for span in self._spans]
        if marks:
            self.setExtraSelections([*self.extraSelections(), *marks])

    def _span(self, span: tuple[int, int], ground: QColor, line: QColor) -> QTextEdit.ExtraSelection:
        """Mark by a background and an underline, as colour alone may not be seen."""
        under = QTextCharFormat.UnderlineStyle.SingleUnderline, line
        return marked(self.document(), *span, ground=ground, line=under)

    def _places(self, spans: Spans) -> Spans:
        """Return the document's positions of these characters, in one pass over the text."""
        text = self._text
        if text.isascii():
            return [(min(a, len(text)), min(b, len(text))) for a, b in spans[:_MAX_SPANS]]
        found, units, at = [], 0, 0
        for start, end in spans[:_MAX_SPANS]:  # in the order of the text
            units += to_utf16(text[at:start], start - at)
            width = to_utf16(text[start:end], end - start)
            found.append((units, units + width))
            units, at = units + width, end
        return found

    def _character(self, cursor: QTextCursor) -> int:
        text = self._text
        at = cursor.position()
        if text.isascii():
            return at
        return len(text.encode("utf-16-le", "surrogatepass")[: 2 * at].decode("utf-16-le", "ignore"))
