"""A form whose lines the user adds and removes."""

from __future__ import annotations

from typing import Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QSizePolicy, QWidget

from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox

MIN_BOX = 80
"""The minimum width of a box in pixels: large text is cut off before the form scrolls horizontally."""


class FormLine(QWidget):
    """`changed` is emitted after an edit, `removed` when the user removes the line."""

    changed = Signal()
    removed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.remove = push_button(tr("Remove"), self, role="link", clicked=self.removed)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def choice_box(self, words: str, choices: tuple[tuple[str, str, str], ...], chosen: str) -> QComboBox:
        """Make a combo box; `choices` are the value, words and hint of each."""
        box = choice_box(self, words=words, choices=((value, shown, "") for value, shown, _hint in choices))
        box.setMinimumWidth(MIN_BOX)
        box.setCurrentIndex(box.findData(chosen))
        return box


Line = TypeVar("Line", bound=FormLine)


class LinesForm(QWidget, Generic[Line]):
    """`changed` is emitted when the user changes, adds or removes a line; `add` is the button below the lines,
    `spacing` the pixels between them.
    """

    changed = Signal()

    def __init__(self, add: QPushButton, spacing: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: list[Line] = []
        self.add = add
        self._column = vbox((add, 0, Qt.AlignmentFlag.AlignLeft), parent=self, spacing=spacing)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def _put(self, line: Line) -> Line:
        self._lines.append(line)
        self._column.insertWidget(self._column.indexOf(self.add), line)
        line.changed.connect(self.changed)
        line.removed.connect(lambda: self._remove(line))
        return line

    def _remove(self, line: Line) -> None:
        self._drop(line)
        self.add.setFocus()
        self.changed.emit()

    def _clear(self) -> None:
        for line in list(self._lines):
            self._drop(line)

    def _drop(self, line: Line) -> None:
        self._lines.remove(line)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()
