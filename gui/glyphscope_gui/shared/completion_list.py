"""A small list of texts to choose from beside the cursor.

It is a child of its parent, not a separate window: the keyboard focus stays in the edited text.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListWidget, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr

ROWS = 8


class CompletionList(QListWidget):
    """`taken` carries the number of the chosen row."""

    taken = Signal(int)

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._around = parent
        named(self, "completionList", name)
        self.setAccessibleDescription(tr("Up and Down to choose, Enter to insert, Esc to close"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.itemClicked.connect(lambda item: self._take(self.row(item)))
        self.hide()

    def offer(self, texts: Sequence[str], beside: QRect) -> None:
        """Show these texts below `beside`, in the parent's coordinates, or above it if there is no room."""
        self.clear()
        self.addItems(texts)
        self.setCurrentRow(0)
        around = self._around
        height = self.sizeHintForRow(0) * min(self.count(), ROWS) + 6
        width = min(max(self.sizeHintForColumn(0) + 36, 140), around.width())
        room = around.height() - beside.bottom()
        top = beside.bottom() + 2 if room > height else max(beside.top() - height - 2, 0)
        self.setGeometry(max(min(beside.left(), around.width() - width), 0), top, width, height)
        self.show()
        self.raise_()

    def takes(self, event: QKeyEvent) -> bool:
        """Handle a key if the list is open. Return whether it was used; then the text must not get it."""
        if not self.isVisible():
            return False
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if key == Qt.Key.Key_Down else -1
            self.setCurrentRow((self.currentRow() + step) % self.count())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self._take(self.currentRow())
        elif key == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True

    def _take(self, row: int) -> None:
        self.hide()
        self.taken.emit(row)
