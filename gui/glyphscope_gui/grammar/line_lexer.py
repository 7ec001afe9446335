"""Splits a grammar's text into words, a line at a time: for its colours, completion, and finding a rule while typing.

It is only a lexer: it never fails, reads no more than one line, and is correct if the text is. Positions count
characters of the given line or text from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextBlock, QTextCharFormat, QTextDocument

from glyphscope_gui.theme import theme

_GBNF = re.compile(
    r"(?P<comment>\#.*)"
    r'|(?P<literal>"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<class>\[(?:[^\]\\\n]|\\.)*\]?)"
    r"|(?P<token>!?<[^>\s]*>?)"
    r"|(?P<definition>[A-Za-z0-9_-]+(?=[ \t]*::=))"
    r"|(?P<name>[A-Za-z0-9_-]+)"
    r"|(?P<bounds>\{[^}\n]*\}?)"
    r"|(?P<mark>::=|[|*+?.()])"
)
"""`token` before `name`, `comment` before all: if two could begin, the first wins, as in llama.cpp."""
_LARK = re.compile(
    r"(?P<comment>(?:\#|//).*)"
    r'|(?P<literal>"(?:[^"\\\n]|\\.)*(?:"i?)?)'
    r"|(?P<class>/(?:[^/\\\n]|\\.)+(?:/[a-z]*)?)"
    r"|(?P<token>%[a-z]*|<[^<>\s]*>?|@[\w-]+)"
    r"|(?P<definition>\b[A-Za-z_][A-Za-z0-9_-]*(?=(?:::_)?[ \t]*(?:\[[^\]\n]*\])?[ \t]*:(?![:\"])))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)"
    r"|(?P<bounds>\{[ \d,]*\}|~[ ]*\d+(?:[ ]*\.\.[ ]*\d+)?)"
    r"|(?P<mark>::|->|[:|*+?.()\[\]{}~&,=!])"
)

_ALTERNATIVE = re.compile(r'"(?:[^"\\]|\\.)*"?|\[(?:[^\]\\]|\\.)*\]?|#.*|(?P<mark>\|)')
"""A `|`, or a word that may contain that character."""
KINDS = ("comment", "literal", "class", "token", "definition", "name", "bounds", "mark")
MAX_LINE = 50_000
"""Characters of a line for an editor; a key press in a line of 5 million took 1.7 s."""
BROKEN_LINE = 2000
"""Number of characters after which a line that is too long is broken."""


class Word(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class LineLexer(NamedTuple):
    """The words of a language. `sign` follows the name of a rule that is defined; `name` matches a rule's name."""

    word: re.Pattern[str]
    sign: str
    name: re.Pattern[str]

    def words(self, line: str) -> Iterator[Word]:
        """The words of a line, or of a text of several lines."""
        for match in self.word.finditer(line):
            yield Word(match.lastgroup or "mark", match.group(), match.start(), match.end())

    def name_at(self, line: str, index: int) -> Word | None:
        """The rule name that contains the place or ends there."""
        for word in self.words(line):
            if word.start > index:
                return None
            if word.end >= index and word.kind in ("name", "definition"):
                return word
        return None

    def definition_in(self, line: str) -> Word | None:
        """The first rule that is defined on the line."""
        if self.sign not in line:
            return None
        return next((word for word in self.words(line) if word.kind == "definition"), None)

    def find_definition(self, text: str, name: str) -> int | None:
        """The position at which the rule of that name is defined."""
        for match in re.finditer(rf"(?<![A-Za-z0-9_-]){re.escape(name)}(?![A-Za-z0-9_-])", text):
            line = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            place = match.start() - line
            found = self.name_at(text[line : end if end >= 0 else len(text)], place)
            if found is not None and found.start == place and found.kind == "definition":
                return match.start()
        return None

    def occurrences(self, text: str, name: str) -> list[int]:
        """Return the positions at which the rule is defined and used, except in literals, classes and comments."""
        if name not in text:
            return []
        named = (word for word in self.words(text) if word.kind in ("name", "definition"))
        return [word.start for word in named if word.text == name]

    def is_name(self, text: str) -> bool:
        """Whether the engine accepts the text as the name of a rule."""
        return self.name.fullmatch(text) is not None


LEXERS = {
    "GBNF": LineLexer(_GBNF, "::=", re.compile(r"[A-Za-z0-9-]+")),
    "Lark": LineLexer(_LARK, ":", re.compile(r"_?[a-z][_a-z0-9-]*|_?[A-Z][_A-Z0-9-]*")),
}
"""By the name of the language."""


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
        self._formats = {kind: QTextCharFormat() for kind in KINDS}
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
