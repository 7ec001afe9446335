"""A text that is only read: as high as it is, and scrolled where it is higher than there is room for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.growing_edit import GrowingEdit
from glyphscope_gui.theme import mono_font


class ReadBox(GrowingEdit):
    """In the fixed-pitch font; the words can be selected and copied."""

    def __init__(self, max_lines: int, name: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(max_lines, parent)
        self.setReadOnly(True)
        self.setFont(mono_font(-0.5))
        self.setAccessibleName(name)
        self.setPlainText(text)

    def setPlainText(self, text: str) -> None:
        super().setPlainText(visible(text, lines=True))

    def _fit(self) -> None:
        super()._fit()
        more = self.document().documentLayout().documentSize().height() > self._max_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if more else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if self.verticalScrollBarPolicy() != policy:
            self.setVerticalScrollBarPolicy(policy)
