"""Completion of rule names: a small list at the cursor, while one types and on Ctrl+Space."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QStringListModel, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QCompleter

from glyphscope_gui.models.grammar_words import definition_in, words

if TYPE_CHECKING:
    from glyphscope_gui.widgets.grammar_edit import GrammarEdit

FROM_CHARACTERS = 2
"""Typed characters of a name from which on it is completed unasked."""
ROWS = 8


class GrammarCompleter(QObject):
    def __init__(self, editor: GrammarEdit) -> None:
        super().__init__(editor)
        self._editor = editor
        self._model = QStringListModel(self)
        self._completer = QCompleter(self._model, self)
        self._completer.setWidget(editor)
        self._completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self._completer.setMaxVisibleItems(ROWS)
        self._completer.activated[str].connect(self._insert)
        self._completer.popup().setAccessibleName("Rule names")

    def set_names(self, names: Sequence[str]) -> None:
        new = sorted(names)
        if new != self._model.stringList():
            self._model.setStringList(new)

    @property
    def is_open(self) -> bool:
        return self._completer.popup().isVisible()

    def takes(self, event: QKeyEvent) -> bool:
        """Whether the open list wants the key: then the text must not have it."""
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab, Qt.Key.Key_Escape, Qt.Key.Key_Backtab)
        return self.is_open and event.key() in keys

    def typed(self, event: QKeyEvent) -> None:
        """After a key: offer, narrow or close the list."""
        letter = event.text()
        if letter and (letter.isalnum() or letter == "-"):
            if len(self._prefix()) >= FROM_CHARACTERS:
                self.offer(asked=False)
        elif self.is_open:
            if event.key() == Qt.Key.Key_Backspace and self._prefix():
                self.offer(asked=False)
            else:
                self._completer.popup().hide()

    def offer(self, asked: bool = True) -> None:
        """Show the names that the typed characters can become."""
        if self._editor.isReadOnly() or not self._is_place_for_name():
            return
        prefix = self._prefix()
        self._completer.setCompletionPrefix(prefix)
        count = self._completer.completionCount()
        only_itself = count == 1 and self._completer.currentCompletion() == prefix
        if count == 0 or (only_itself and not asked):
            self._completer.popup().hide()
            return
        popup = self._completer.popup()
        popup.setCurrentIndex(self._completer.completionModel().index(0, 0))
        box = self._editor.cursorRect().translated(self._editor.number_width(), 2)
        box.setWidth(max(popup.sizeHintForColumn(0) + 36, 160))
        self._completer.complete(box)

    def _before(self) -> str:
        cursor = self._editor.textCursor()
        return cursor.block().text()[: cursor.positionInBlock()]

    def _prefix(self) -> str:
        before = self._before()
        start = len(before)
        while start and (before[start - 1].isalnum() or before[start - 1] in "-_"):
            start -= 1
        return before[start:]

    def _is_place_for_name(self) -> bool:
        """Not inside literals, classes and comments, and not where a new rule gets its name."""
        before = self._before()
        last = next(iter(deque(words(before), maxlen=1)), None)
        if last is not None and last.end == len(before):
            if last.kind == "comment":
                return False
            if last.kind == "literal" and (len(last.text) == 1 or not last.text.endswith('"')):
                return False
            if last.kind == "class" and not last.text.endswith("]"):
                return False
        return definition_in(before) is not None or before[:1] in (" ", "\t", "|", "(")

    def _insert(self, name: str) -> None:
        cursor = self._editor.textCursor()
        cursor.movePosition(
            QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(self._prefix())
        )
        cursor.insertText(name)
        self._editor.setTextCursor(cursor)
