"""The colours of a grammar's text in the editor, and lines that are too long for it."""

from __future__ import annotations

import re

from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextBlock, QTextCharFormat, QTextDocument

from glyphscope.grammar.line_lexer import LEXERS
from glyphscope_gui.theme import theme

_ALTERNATIVE = re.compile(r'"(?:[^"\\]|\\.)*"?|\[(?:[^\]\\]|\\.)*\]?|#.*|(?P<mark>\|)')
"""A `|`, or a word that may contain that character."""
MAX_LINE = 50_000
"""Characters of a line for an editor; a key press in a line of 5 million took 1.7 s."""
BROKEN_LINE = 2000
"""Number of characters after which a line that is too long is broken."""


def break_long_lines(text: str) -> str:
    """The same grammar, with lines that no editor can show broken after a `|`, where llama.cpp allows a line break."""
    if len(text) <= MAX_LINE:
        return text
    return "\n".join(_broken(line) if len(line) > MAX_LINE else line for line in text.split("\n"))


def _broken(line: str) -> str:
    pieces, start = [], 0
    for match in _ALTERNATIVE.finditer(line):
        end = match.end()
        if match.lastgroup and end - start >= BROKEN_LINE:
            pieces.append(line[start:end])
            start = end
    return "\n ".join([*pieces, line[start:]])


LONG_LINES, LONG_TEXT = 3000, 200_000
"""Number of lines or characters from which only the visible part is coloured."""
_DONE = 1


class GrammarHighlighter(QSyntaxHighlighter):
    """Colours for a grammar. In a long text only the visible part is coloured: pasting megabytes stays quick."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats = {kind: QTextCharFormat() for kind in LEXERS["GBNF"].kinds}
        self._first, self._last = 0, 200
        self.lexer = LEXERS["GBNF"]

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
        for word in self.lexer.words(text[:MAX_LINE]):
            self.setFormat(word.start, word.end - word.start, self._formats[word.kind])


def _is_long(document: QTextDocument) -> bool:
    return document.blockCount() > LONG_LINES or document.characterCount() > LONG_TEXT
