"""Grammars on disk: opened from any bytes, saved whole or not at all."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import read_file
from glyphscope.grammar.languages import GBNF, language_of
from glyphscope.store import atomic_write
from glyphscope_gui.grammar.highlighter import break_long_lines
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file, ask_where_to_save
from glyphscope_gui.shared.language import tr

MAX_BYTES = 20_000_000
"""The maximum size of an opened file, in bytes: larger ones are not grammars."""
_FILTER = tr("Grammars (*.gbnf *.lark);;All files (*)")
_OPENED = tr("Grammars, JSON Schemas, regular expressions (*.gbnf *.lark *.json *.regex);;All files (*)")
_SOURCES = {".json": "json-schema", ".regex": "regex"}
"""The languages of other files, by their endings."""


class GrammarFiles(QObject):
    """`opened` carries a path and the problem with its bytes (mostly ""), `failed` a StorageError, `sourceRead` the
    text of a JSON Schema or a regular expression and its language.
    """

    opened = Signal(str, str)
    failed = Signal(object)
    sourceRead = Signal(str, str)

    def __init__(self, document: GrammarDocument, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._window = window
        self._background = Background(self)

    def ask_to_open(self) -> None:
        start, name = self._document.work.path, "openGrammarDialog"
        ask_for_file(self._window, tr("Open a grammar"), self.open, _OPENED, start=start, name=name)

    def ask_where_to_save(self) -> None:
        suffix = self._document.language.suffix
        path = self._document.work.path or f"grammar{suffix}"
        ask_where_to_save(
            self._window,
            tr("Save the grammar"),
            self.save,
            _FILTER,
            start=path,
            suffix=suffix.removeprefix("."),
            name="saveGrammarDialog",
        )

    def open(self, path: Path) -> None:
        """Read a file in the background; if that fails, the open file stays."""
        self._background.start(
            "open", lambda: read_grammar(path), lambda read: self._opened(str(path), *read), self.failed.emit
        )

    def save(self, path: Path) -> None:
        """Write the shown text."""
        try:
            atomic_write(path, self._document.text.encode("utf-8", "surrogateescape"))
        except StorageError as error:
            self.failed.emit(error)
            return
        if not self._document.is_generated:
            self._document.saved_as(str(path))

    def _opened(self, path: str, text: str, warning: str) -> None:
        if source := _SOURCES.get(Path(path).suffix.lower()):
            self.sourceRead.emit(text, source)
            return
        self._document.open_text(text, path)
        self.opened.emit(path, warning)


def read_grammar(path: Path) -> tuple[str, str]:
    """Return a file's text, and a warning about its encoding. Raises StorageError."""
    data = read_file(path, MAX_BYTES, "a grammar", hint="Open a grammar.", pipes=True)
    try:
        text, warning = data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        warning = tr(
            "The file is not UTF-8: invalid bytes, the first at {place:,}, are shown as �.", place=error.start
        )
    read = text.replace("\r\n", "\n").replace("\r", "\n")
    is_gbnf = path.suffix.lower() not in _SOURCES and language_of(read, str(path)) is GBNF
    shown = break_long_lines(read) if is_gbnf else read
    if shown != read:
        warning += tr(" Very long lines were wrapped after |, which does not change the grammar.")
    return shown, warning.strip()
