"""The Edit menu: its actions press their keys in the part of the window with the focus; and the search in a text."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from PySide6 import QtWidgets
from PySide6.QtCore import QKeyCombination, QObject
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QTextCursor, QTextDocument

from glyphscope_gui.shared.actions import Actions
from glyphscope_gui.shared.labels import PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.plain_dialog import PlainDialog
from glyphscope_gui.shared.text_edits import LineEdit

TextPart: TypeAlias = QtWidgets.QTextEdit | QtWidgets.QPlainTextEdit


class Editing(QObject):
    """Connects the actions; they are enabled for the part with the focus when `menu`, the Edit menu, opens."""

    def __init__(self, actions: Actions, menu: QtWidgets.QMenu, window: QtWidgets.QMainWindow) -> None:
        super().__init__(window)
        self._actions, self._window = actions, window
        self._search: TextSearch | None = None
        for action in (actions.cut, actions.copy, actions.paste, actions.select_all):
            action.triggered.connect(partial(self._press, action))
        actions.find.triggered.connect(self.find)
        menu.aboutToShow.connect(self._show)

    def find(self) -> None:
        """Search in the text with the focus, or else in the largest one."""
        text = self._text()
        if text is None:
            return
        if self._search is not None:
            self._search.reject()
        self._search = TextSearch(text, self._window)
        self._search.finished.connect(self._closed)
        self._search.show()

    def _closed(self) -> None:
        self._search = None

    def _text(self) -> TextPart | None:
        focused = self._window.focusWidget()
        if isinstance(focused, TextPart):
            return focused
        shown = [part for part in self._window.findChildren(QtWidgets.QWidget) if part.isVisible()]
        texts = [part for part in shown if isinstance(part, TextPart)]
        return max(texts, key=lambda part: part.width() * part.height(), default=None)

    def _press(self, action: QAction) -> None:
        """Press the action's keys in the part with the focus, which knows what they mean there."""
        focused = self._window.focusWidget()
        if focused is not None:
            pressed: QKeyCombination = action.shortcut()[0]  # type: ignore[index] # the stubs lack it
            event = QKeyEvent(QKeyEvent.Type.KeyPress, pressed.key(), pressed.keyboardModifiers())
            QtWidgets.QApplication.sendEvent(focused, event)

    def _show(self) -> None:
        """Enable what the part with the focus can do."""
        actions, focused = self._actions, self._window.focusWidget()
        is_text = isinstance(focused, QtWidgets.QLineEdit | TextPart)
        writes = isinstance(focused, QtWidgets.QLineEdit | TextPart) and not focused.isReadOnly()
        for action, possible in (
            (actions.cut, writes),
            (actions.paste, writes),
            (actions.copy, is_text or isinstance(focused, QtWidgets.QAbstractItemView)),
            (actions.select_all, is_text or isinstance(focused, QtWidgets.QAbstractItemView)),
            (actions.find, self._text() is not None),
        ):
            action.setEnabled(possible)


class TextSearch(PlainDialog):
    """Finds what is typed in a text of the window, upper and lower case alike; it ends with the text."""

    def __init__(self, text: TextPart, parent: QtWidgets.QWidget) -> None:
        super().__init__("textSearch", tr("Find in {text}", text=text.accessibleName()), parent)
        self.setModal(False)
        self._text = text
        text.destroyed.connect(self.reject)
        self.field = named(LineEdit(self, clearButtonEnabled=True), "searchField", tr("Text to find"))
        self.field.setText(text.textCursor().selectedText().partition("\u2029")[0])
        self.field.selectAll()
        self.found = PlainLabel(self, role="hint")
        before = push_button(tr("Previous"), self, name="findPrevious", clicked=lambda: self.go(back=True))
        after = push_button(tr("Next"), self, name="findNext", role="primary", clicked=self.go)
        hbox((self.field, 1), self.found, before, after, parent=self, margins=12, spacing=8)
        before.setShortcut(QKeySequence("Shift+F3"))
        after.setShortcut(QKeySequence("F3"))
        after.setDefault(True)
        self.field.textEdited.connect(lambda _text: self._begin())

    def _begin(self) -> None:
        """Search what is typed from where the last search began."""
        cursor = self._text.textCursor()
        cursor.setPosition(cursor.selectionStart())
        self._text.setTextCursor(cursor)
        self.go()

    def go(self, *, back: bool = False) -> None:
        """Select the next place, or the previous one; after the last place comes the first."""
        words = self.field.text()
        way = QTextDocument.FindFlag.FindBackward if back else QTextDocument.FindFlag(0)
        found = bool(words) and self._text.find(words, way)
        if words and not found:
            cursor = self._text.textCursor()
            end = QTextCursor.MoveOperation.End if back else QTextCursor.MoveOperation.Start
            self._text.moveCursor(end)
            found = self._text.find(words, way)
            if not found:
                self._text.setTextCursor(cursor)
        self.found.setText("" if found or not words else tr("Not found"))
