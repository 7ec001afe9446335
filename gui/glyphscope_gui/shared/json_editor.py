"""The raw JSON of a schema: coloured, with its errors underlined, and reformatted on request."""

from __future__ import annotations

import json
import re

from PySide6.QtGui import QAction, QContextMenuEvent, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.code_edit import CodeEdit
from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import theme

_PARTS = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>[A-Za-z]+)|(?P<mark>[{}\[\],:])"
)

PARTS = ("name", "string", "number", "word", "mark")


class JsonHighlighter(QSyntaxHighlighter):
    """JSON strings end on their line, so no state is carried from line to line."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats = {part: QTextCharFormat() for part in PARTS}

    def set_formats(self, formats: dict[str, QTextCharFormat]) -> None:
        """Set a format for each of PARTS, and colour the text again."""
        self._formats = formats
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        for match in _PARTS.finditer(text):
            start, end = match.span()
            self.setFormat(start, end - start, self._formats[match.lastgroup or "mark"])


class JsonEditor(CodeEdit):
    """A CodeEdit that knows JSON; `format_action` (Ctrl+Shift+F) indents it by two spaces."""

    def __init__(self, parent: QWidget | None = None, *, own_undo: bool = True) -> None:
        self._highlighter: JsonHighlighter | None = None
        super().__init__(parent, own_undo=own_undo)
        self._highlighter = JsonHighlighter(self.document())
        self.format_action = QAction(tr("Format the JSON"), self)
        self.format_action.setShortcut("Ctrl+Shift+F")
        self.format_action.triggered.connect(self.format_text)
        self.addAction(self.format_action)
        self._restyle()

    def format_text(self) -> None:
        """Indent the text; a text that is not JSON stays unchanged, as its errors are already shown."""
        try:
            document = json.loads(self.toPlainText())
        except (ValueError, RecursionError):
            return
        text = json.dumps(document, indent=2, ensure_ascii=False)
        if text != self.toPlainText():
            self.show_text(text)
            self.textEdited.emit(text)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        pop_up(self.createStandardContextMenu(event.pos()), event.globalPos(), None, self.format_action)

    def _restyle(self) -> None:
        super()._restyle()
        if self._highlighter is None:
            return
        formats = {}
        for part in PARTS:
            formats[part] = QTextCharFormat()
            formats[part].setForeground(theme().color(f"json-{part}"))
        self._highlighter.set_formats(formats)
