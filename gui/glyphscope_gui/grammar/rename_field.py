"""A field over a text, for the new name of the rule there."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.grammar.line_lexer import is_name
from glyphscope_gui.shared.labels import set_role
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_edits import LineEdit


class RenameField(LineEdit):
    """`renamed` carries the old name and the new one. Enter renames; Escape and leaving the field cancel."""

    renamed = Signal(str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("renameField")
        self.setAccessibleName(tr("New name of the rule"))
        self.setToolTip(tr("Letters, digits and hyphens. Enter renames everywhere, Escape cancels."))
        self.setProperty("role", "mono")
        self._editor = parent
        self._old = ""
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
            if is_name(self.text()):
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
        set_role(self, not is_name(text), key="refused")
