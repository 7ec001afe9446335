"""One error in the parts a person needs: what, where, what to do; the details only on request."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_text import copy_text


class ErrorDialog(PlainDialog):
    """Opened with `open()`."""

    def __init__(
        self, title: str, message: str, where: str, hint: str, details: str, *, parent: QWidget | None = None
    ) -> None:
        super().__init__("errorDialog", visible(title), parent)
        self.setMinimumWidth(420)
        text = "\n".join(part for part in (message, where, hint, details) if part)
        layout = vbox(parent=self, margins=(24, 20, 24, 18), spacing=10)
        for words, role in ((title, "heading"), (message, ""), (where, "mono"), (hint, "muted")):
            if words:
                layout.addWidget(words_label(words, role, self, selectable=True))
        self.details = QPlainTextEdit(visible(details, lines=True), self, readOnly=True)
        named(self.details, words=tr("Details"), role="mono")
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setMinimumHeight(160)
        self.details.hide()
        layout.addWidget(self.details, 1)
        layout.addSpacing(6)
        buttons = [push_button(tr("Copy"), clicked=lambda: copy_text(text))]
        if details:
            buttons.append(push_button(tr("Details")))
            buttons[1].setCheckable(True)
            buttons[1].toggled.connect(self._show_details)
        box = self.button_box(Standard.Close, *((button, Role.ActionRole) for button in buttons))
        box.button(Standard.Close).setDefault(True)
        layout.addWidget(box)
        self.setAccessibleName(visible(f"{title}: {message}", lines=True))

    def _show_details(self, shown: bool) -> None:
        self.details.setVisible(shown)
        self.adjustSize()
