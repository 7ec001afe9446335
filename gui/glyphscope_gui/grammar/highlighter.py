"""Colours for GBNF. In a long text only the visible part is coloured, so that pasting megabytes stays quick."""

from __future__ import annotations

from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextBlock, QTextCharFormat, QTextDocument

from glyphscope_gui.grammar.line_lexer import KINDS, MAX_LINE, words
from glyphscope_gui.theme import theme

LONG_LINES, LONG_TEXT = 3000, 200_000
"""Number of lines or characters from which only the visible part is coloured."""
_DONE = 1


class GrammarHighlighter(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats = {kind: QTextCharFormat() for kind in KINDS}
        self._first, self._last = 0, 200

    def restyle(self) -> None:
        """Apply the colours of the theme; called again when it changes."""
        roles = {
            "comment": "text-faint",
            "literal": "json-string",
            "class": "json-number",
            "token": "json-word",
            "definition": "accent",
            "name": "text",
            "bounds": "text-muted",
            "mark": "text-muted",
        }
        for kind, role in roles.items():
            self._formats[kind].setForeground(theme().color(role))
        self._formats["definition"].setFontWeight(QFont.Weight.DemiBold)
        self._formats["comment"].setFontItalic(True)
        self.rehighlight()

    def show_lines(self, first: int, last: int) -> None:
        """Set the visible lines."""
        self._first, self._last = first, last
        document = self.document()
        if document is None or not _is_long(document):
            return
        block = document.findBlockByNumber(first)
        while block.isValid() and block.blockNumber() <= last:
            if block.userState() != _DONE:
                self.rehighlightBlock(block)
            block = block.next()

    def highlightBlock(self, text: str) -> None:
        block: QTextBlock = self.currentBlock()
        if not self._first <= block.blockNumber() <= self._last and _is_long(self.document()):
            return
        self.setCurrentBlockState(_DONE)
        for word in words(text[:MAX_LINE]):
            self.setFormat(word.start, word.end - word.start, self._formats[word.kind])


def _is_long(document: QTextDocument) -> bool:
    return document.blockCount() > LONG_LINES or document.characterCount() > LONG_TEXT
