"""A choice of one among a few visible options."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.layouts import hbox


class _Segment(QPushButton):
    """As wide as its words when chosen, as they are then bolder."""

    def sizeHint(self) -> QSize:
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        words = self.text()
        more = QFontMetrics(bold).horizontalAdvance(words) - self.fontMetrics().horizontalAdvance(words)
        return super().sizeHint() + QSize(max(more, 0), 0)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class Segmented(QWidget):
    """`choices` are the value, words and tip of each; `chosen` carries another value that the user chose."""

    chosen = Signal(str)

    def __init__(
        self, choices: Sequence[tuple[str, str, str]], *, small: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self, exclusive=True)
        self._buttons: dict[str, QPushButton] = {}
        row = hbox(parent=self, spacing=0)
        for index, (value, words, tip) in enumerate(choices):
            button = _Segment(words, self)
            button.setCheckable(True)
            first, last = index == 0, index == len(choices) - 1
            segment = "only" if first and last else "first" if first else "last" if last else "middle"
            button.setProperty("segment", segment)
            if small:
                button.setProperty("small", True)  # `size` is a property of every widget
            named(button, description=tip, tip=tip)
            self._group.addButton(button, index)
            self._buttons[value] = button
            row.addWidget(button)
        self._values = list(self._buttons)
        self._buttons[self._values[0]].setChecked(True)
        self._shown = self._values[0]
        self._group.idClicked.connect(self._clicked)

    @property
    def value(self) -> str:
        return self._values[self._group.checkedId()]

    def place(self, value: str) -> int:
        """The index of a choice, from 0."""
        return self._values.index(value)

    def set_value(self, value: str) -> None:
        """Show a choice without a signal."""
        self._shown = value
        self._buttons[value].setChecked(True)

    def button(self, value: str) -> QPushButton:
        return self._buttons[value]

    def _clicked(self, index: int) -> None:
        if self._shown != (value := self._values[index]):  # a click on what is chosen chooses nothing
            self._shown = value
            self.chosen.emit(value)
