"""Below the answer of a run: the field for the next message of its conversation."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.labels import link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.text_edits import SubmitEdit

_LINES = 3


class ReplyBar(QWidget):
    """Hidden until a run has an answer. `sendRequested` carries the text."""

    sendRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = named(SubmitEdit(_LINES, self), "replyEdit", tr("Reply"))
        self.edit.setAccessibleDescription(tr("Your next message. Control and Enter sends it."))
        self.edit.setPlaceholderText(tr("Reply… Ctrl+Enter sends"))
        tip = tr("Run with the messages of this run, its answer and this message (Ctrl+Enter)")
        self.send_button = push_button(tr("Send"), self, name="replySend", tip=tip, clicked=self._send)
        tip = tr(
            "Copy the messages and the answer of this run into the prompt, to edit them or to add a tool result"
        )
        self.edit_button = link(tr("Edit messages"), tip, self, name="replyMessages")
        hbox((self.edit, 1), self.send_button, self.edit_button, parent=self, margins=(8, 4, 8, 6), spacing=8)
        self.edit.textChanged.connect(self._show_whether)
        self.edit.submitted.connect(self._send)
        self._can_send = True
        self._show_whether()
        self.hide()

    def set_can_send(self, can_send: bool) -> None:
        """Set whether a run may start now."""
        self._can_send = can_send
        self._show_whether()

    def _show_whether(self) -> None:
        self.send_button.setEnabled(self._can_send and bool(self.edit.toPlainText().strip()))

    def _send(self) -> None:
        if self.send_button.isEnabled():
            self.sendRequested.emit(self.edit.toPlainText().strip())
