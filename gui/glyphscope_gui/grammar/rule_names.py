"""The names of rules in the editor: their completion, and the field that renames one."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from glyphscope.grammar.line_lexer import LEXERS, offered, prefix_of
from glyphscope_gui.shared.code_edit import CodeEdit
from glyphscope_gui.shared.completion_list import CompletionList
from glyphscope_gui.shared.labels import set_role
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_edits import LineEdit

FROM_CHARACTERS = 2
"""Number of typed characters from which completion opens automatically."""


class GrammarCompleter(QObject):
    """Offers the rule names that match the text at the cursor, if a name is possible there, in a small list: while the
    user types, and on Ctrl+Space.
    """

    def __init__(self, editor: CodeEdit) -> None:
        super().__init__(editor)
        self._editor = editor
        self._names: list[str] = []
        self.lexer = LEXERS["GBNF"]
        self.list = CompletionList(tr("Rule names"), editor)
        self.list.taken.connect(lambda row: self._insert(self.list.item(row).text()))
        editor.installEventFilter(self)

    def set_names(self, names: Iterable[str]) -> None:
        self._names = sorted(names)

    @property
    def is_open(self) -> bool:
        return self.list.isVisible()

    def close(self) -> None:
        self.list.hide()

    def takes(self, event: QKeyEvent) -> bool:
        """Pass a key to the open list. Return whether the list used it; then the text must not get it."""
        return self.list.takes(event)

    def typed(self, event: QKeyEvent) -> None:
        """Offer, narrow or close the list after a key."""
        letter = event.text()
        if letter and (letter.isalnum() or letter == "-"):
            if self.is_open or len(self._prefix()) >= FROM_CHARACTERS:
                self.offer(on_request=False)
        elif self.is_open:
            if event.key() == Qt.Key.Key_Backspace and self._prefix():
                self.offer(on_request=False)
            else:
                self.close()

    def offer(self, on_request: bool = True) -> None:
        """Show the names that contain the typed characters, names with that prefix first. A list of only the typed name
        is shown only on request.
        """
        if self._editor.isReadOnly() or not self.lexer.takes_name(self._before()):
            self.close()
            return
        names = offered(self._names, self._prefix())
        if not names or (names == [self._prefix()] and not on_request):
            self.close()
            return
        self.list.offer(names, self._editor.cursorRect().translated(self._editor.number_width(), 0))

    def eventFilter(self, _editor: QObject, event: QEvent) -> bool:
        """Escape closes the open list, before any shortcut with that key."""
        if event.type() == QEvent.Type.FocusOut:
            self.close()
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.ShortcutOverride:
            return False
        if self.is_open and event.key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return False

    def _before(self) -> str:
        cursor = self._editor.textCursor()
        return cursor.block().text()[: cursor.positionInBlock()]

    def _prefix(self) -> str:
        return prefix_of(self._before())

    def _insert(self, name: str) -> None:
        self.close()
        cursor = self._editor.textCursor()
        cursor.movePosition(
            QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(self._prefix())
        )
        cursor.insertText(name)
        self._editor.setTextCursor(cursor)


class RenameField(LineEdit):
    """A field over the text: `renamed` carries the old name of a rule and the new one. Enter renames; Escape and
    leaving the field cancel.
    """

    renamed = Signal(str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("renameField")
        self.setAccessibleName(tr("New name of the rule"))
        self.setToolTip(tr("Letters, digits and hyphens. Enter renames everywhere, Escape cancels."))
        self.setProperty("role", "mono")
        self._editor = parent
        self._old = ""
        self.lexer = LEXERS["GBNF"]
        self.textEdited.connect(self._mark_invalid)
        self.hide()

    def begin(self, name: str, place: QRect) -> None:
        self._old = name
        self.setText(name)
        self._mark_invalid(name)
        width = max(self.fontMetrics().horizontalAdvance("m") * (len(name) + 8), 140)
        box = QRect(place.left(), place.top() - 4, width, self.sizeHint().height())
        room = self._editor.rect()
        box.moveLeft(max(0, min(box.left(), room.width() - width)))
        box.moveTop(max(0, min(box.top(), room.height() - box.height())))
        self.setGeometry(box)
        self.show()
        self.selectAll()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.lexer.is_name(self.text(), self._old):
                self._end()
                self.renamed.emit(self._old, self.text())
        elif event.key() == Qt.Key.Key_Escape:
            self._end()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.hide()

    def _end(self) -> None:
        self.hide()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _mark_invalid(self, text: str) -> None:
        set_role(self, not self.lexer.is_name(text, self._old), key="refused")
