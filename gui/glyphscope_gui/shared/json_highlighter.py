"""Colours for JSON text: names, strings, numbers, words and marks, a line at a time."""

from __future__ import annotations

import re

from PySide6.QtGui import QSyntaxHighlighter, QTextCharFormat, QTextDocument

_PARTS = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>[A-Za-z]+)|(?P<mark>[{}\[\],:])"
)

PARTS = ("name", "string", "number", "word", "mark")


class JsonHighlighter(QSyntaxHighlighter):
    """JSON strings end on their line, so no state goes from one line to the next."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats = {part: QTextCharFormat() for part in PARTS}

    def set_formats(self, formats: dict[str, QTextCharFormat]) -> None:
        """A format for each of PARTS; the text is coloured again."""
        self._formats = formats
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        for match in _PARTS.finditer(text):
            start, end = match.span()
            self.setFormat(start, end - start, self._formats[match.lastgroup or "mark"])
