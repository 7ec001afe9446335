"""Values that a server proposes for a field: in a list below it, while the user types and on Ctrl+Space."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor

from glyphscope.text.shorten import shorten
from glyphscope.visible import visible
from glyphscope_gui.calls.argument_field import TextArgument
from glyphscope_gui.shared.completion_list import CompletionList
from glyphscope_gui.shared.language import tr

TYPED_MS = 250
"""Delay after the last key press before the request to the server."""
MAX_LENGTH = 120
"""Characters of a value in the list; the whole value is inserted."""


class Suggestions(QObject):
    """`requested` carries whether the user pressed Ctrl+Space; `offer` shows the received values."""

    requested = Signal(bool)

    def __init__(self, field: TextArgument) -> None:
        super().__init__(field)
        self._field = field
        self._values: tuple[str, ...] = ()
        self.list: CompletionList | None = None
        self._later = QTimer(self, singleShot=True, interval=TYPED_MS)
        self._later.timeout.connect(lambda: self.requested.emit(False))
        field.installEventFilter(self)
        field.textChanged.connect(self._typed)

    def offer(self, values: Sequence[str]) -> None:
        """Show these values, if the field still has the focus."""
        text = self._field.toPlainText()
        self._values = tuple(values)
        if not self._field.hasFocus() or not values or self._values == (text,):
            self._close()
            return
        if self.list is None:
            self.list = CompletionList(tr("Values proposed by the server"), self._field.window())
            self.destroyed.connect(self.list.deleteLater)
            self.list.taken.connect(self._take)
        corner = self._field.mapTo(self._field.window(), QPoint(0, 0))
        shown = [shorten(visible(value, spaces=True), MAX_LENGTH) for value in values]
        self.list.offer(shown, QRect(corner, self._field.size()))

    def eventFilter(self, _field: QObject, event: QEvent) -> bool:
        """Pass keys to the open list, Esc before any shortcut."""
        kind = event.type()
        if kind in (QEvent.Type.FocusOut, QEvent.Type.Hide, QEvent.Type.Move, QEvent.Type.Resize):
            self._close()
        if not isinstance(event, QKeyEvent) or kind not in (
            QEvent.Type.KeyPress,
            QEvent.Type.ShortcutOverride,
        ):
            return False
        if kind == QEvent.Type.ShortcutOverride:
            if self._is_open and event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
            return False
        if self.list is not None and self.list.takes(event):
            return True
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self._later.stop()
            self.requested.emit(True)
            return True
        return False

    @property
    def _is_open(self) -> bool:
        return self.list is not None and self.list.isVisible()

    def _close(self) -> None:
        self._later.stop()
        if self.list is not None:
            self.list.hide()

    def _typed(self) -> None:
        if self._field.hasFocus():
            self._later.start()

    def _take(self, row: int) -> None:
        self._field.setPlainText(self._values[row])
        self._field.moveCursor(QTextCursor.MoveOperation.End)
        self._later.stop()
