"""A field for the text that replaces a token, with the tokens that the model splits it into."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from glyphscope.visible import unseen
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import LineEdit

ASK_MS = 150
"""Milliseconds without a key press before the tokens of a text are requested."""
LONGEST = 20_000
"""Characters: a longer text would not be the answer of any call."""


class _Edit(LineEdit):
    """An edit that emits `left` when Escape was pressed in it."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class BranchField(QWidget):
    """A field for a typed text, hidden until it is opened. `typed` carries the text; `tokensRequested` a text
    to tokenize.
    """

    typed = Signal(str)
    tokensRequested = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branchField")
        self.edit = named(_Edit(self), "branchTextEdit", tr("Replacement text for the token"), role="mono")
        self.edit.setAccessibleDescription(
            tr("Enter lets the model continue from this text. Escape closes the field.")
        )
        self.edit.setPlaceholderText(tr("Replacement text"))
        self.edit.setMaxLength(LONGEST)
        tip = tr("Let the model continue from the typed text (Enter)")
        self.go_button = push_button(tr("Continue"), self, name="branchTypeButton", tip=tip, clicked=self._go)
        self.pieces = words_label(role="hint", parent=self, name="branchPieces")
        self._later = QTimer(self, singleShot=True, interval=ASK_MS)
        self._later.timeout.connect(lambda: self.tokensRequested.emit(self.edit.text()))
        self.edit.textChanged.connect(self._changed)
        self.edit.returnPressed.connect(self._go)
        self.edit.left.connect(self.closed)
        row = hbox((self.edit, 1), self.go_button, spacing=6)
        vbox(row, self.pieces, parent=self, spacing=4)
        self.hide()

    def open(self) -> None:
        """Show the field, empty."""
        self.edit.setText("")
        self._changed("")
        self.show()
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_field(self) -> None:
        self._later.stop()
        self.hide()

    def show_pieces(self, text: str, words: str) -> None:
        """Show the tokens of `text`, unless the field has another one by now."""
        if text == self.edit.text():
            hidden = unseen(text)
            lines = [words, tr("Invisible characters: {characters}", characters=hidden) if hidden else ""]
            self.pieces.setText("\n".join(line for line in lines if line))
            self.pieces.setToolTip(plain_tip(self.pieces.text()))

    def _changed(self, text: str) -> None:
        self.go_button.setEnabled(bool(text))
        self.pieces.setText(tr("The model splits the text into tokens.") if not text else "…")
        if text:
            self._later.start()
        else:
            self._later.stop()

    def _go(self) -> None:
        if self.edit.text():
            self.typed.emit(self.edit.text())
