"""The base of the plain dialogs."""

from __future__ import annotations

from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton, QWidget

from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.text_edits import submits

Standard = QDialogButtonBox.StandardButton
Role = QDialogButtonBox.ButtonRole


class PlainDialog(QDialog):
    """Ends its work in the background and deletes itself when it is closed. `name` is for style sheets and tests."""

    def __init__(self, name: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.finished.connect(self._end)

    def button_box(self, standard: Standard, *buttons: tuple[QPushButton, Role]) -> QDialogButtonBox:
        """The buttons at the bottom: standard ones, and these with their roles. A primary button is the default."""
        box = QDialogButtonBox(self)
        for button, role in buttons:
            box.addButton(button, role)
            if button.property("role") == "primary":
                button.setDefault(True)
        box.setStandardButtons(standard)
        box.accepted.connect(self.accept)
        box.rejected.connect(self.reject)
        return box

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter presses the default button, also from a field in which Enter begins a new line."""
        buttons = self.findChildren(QPushButton) if submits(event) else []
        for button in buttons:
            if button.isDefault():
                button.click()
                return
        super().keyPressEvent(event)

    def _end(self) -> None:
        end_work(self)
        self.deleteLater()
