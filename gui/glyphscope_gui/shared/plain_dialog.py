"""The base of the plain dialogs."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton, QWidget

from glyphscope_gui.shared.background import end_work

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

    def _end(self) -> None:
        end_work(self)
        self.deleteLater()
