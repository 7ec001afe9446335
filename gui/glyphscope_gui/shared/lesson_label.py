"""Words of a lesson's parts: they wrap, are shown as they are written, and take no room while there are none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from glyphscope.visible import visible


class LessonLabel(QLabel):
    """`role` is the style sheet's. As high as its words need at its width, in any layout that asks."""

    def __init__(
        self, words: str = "", role: str = "", parent: QWidget | None = None, font: QFont | None = None
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        if font is not None:
            self.setFont(font)  # before it is polished: a style sheet keeps the font that it finds then
        self.set_words(words, role)

    def set_words(self, words: str, role: str = "") -> None:
        """Others; without any it is not there."""
        if role and role != self.property("role"):
            self.setProperty("role", role)
            if self.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
                self.style().unpolish(self)
                self.style().polish(self)
        self.say(visible(words, spaces=True))

    def say(self, words: str) -> None:
        """Words of the program's own, in which every character is meant."""
        self.setText(words)
        self.setVisible(bool(words))
