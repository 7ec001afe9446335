"""One error in the parts a person needs: what, where, what to do; the details only on request."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QPushButton, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.labels import PlainLabel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox


class ErrorDialog(QDialog):
    """Opened with `open()`; deleted when it is closed."""

    def __init__(
        self, title: str, message: str, where: str, hint: str, details: str, *, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("errorDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(visible(title))
        self.setMinimumWidth(420)
        self._text = "\n".join(part for part in (message, where, hint, details) if part)
        layout = vbox(parent=self, margins=(24, 20, 24, 18), spacing=10)
        for text, role in ((title, "heading"), (message, ""), (where, "mono"), (hint, "muted")):
            if text:
                layout.addWidget(self._label(text, role))
        self.details = QPlainTextEdit(visible(details, lines=True), self, readOnly=True)
        self.details.setAccessibleName(tr("Details"))
        self.details.setProperty("role", "mono")
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setMinimumHeight(160)
        self.details.hide()
        layout.addWidget(self.details, 1)
        layout.addSpacing(6)
        layout.addWidget(self._buttons(bool(details)))
        self.setAccessibleName(visible(f"{title}: {message}", lines=True))

    def _label(self, text: str, role: str) -> QLabel:
        label = PlainLabel(text, self, wordWrap=True, role=role)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def _buttons(self, has_details: bool) -> QDialogButtonBox:
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        box.rejected.connect(self.reject)
        close = box.button(QDialogButtonBox.StandardButton.Close)
        close.setDefault(True)
        copy = box.addButton(tr("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        if has_details:
            self._details_button = QPushButton(tr("Details"), self)
            self._details_button.setCheckable(True)
            self._details_button.toggled.connect(self._show_details)
            box.addButton(self._details_button, QDialogButtonBox.ButtonRole.ActionRole)
            QWidget.setTabOrder(copy, self._details_button)
            QWidget.setTabOrder(self._details_button, close)
        return box

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)

    def _show_details(self, shown: bool) -> None:
        self.details.setVisible(shown)
        self.adjustSize()
