"""The rows of the settings dialog: words and a field, in sections; search finds both."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QWidget

from glyphscope.sessions import Settings
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import PlainLabel, named, words_label
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.theme.sizes import PAD, is_crowded

FIELD_WIDTH = 18
"""The width of a field in multiples of an M's, so that fields line up."""
_ANY_WIDTH = 16_777_215
"""Qt's own largest width."""


class SettingRow(QWidget):
    """Words and an explanation on the left, the field on the right, or below if there is no room.

    `follow` shows the settings in the field.
    """

    def __init__(
        self,
        words: str,
        field: QWidget,
        about: str = "",
        parent: QWidget | None = None,
        *,
        wide: bool = False,
    ) -> None:
        super().__init__(parent)
        self.field = field
        self.follow: Callable[[Settings], None] = lambda _settings: None
        self._text = f"{words} {about}".casefold()
        self._wide = wide
        title = PlainLabel(words, self, wordWrap=True)
        title.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(words)
        field.setAccessibleDescription(about)
        words_column = vbox(title, spacing=2)
        if about:
            words_column.addWidget(words_label(about, parent=self))
        words_column.addStretch(1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 7, 0, 7)
        self._row.setSpacing(18)
        self._row.addLayout(words_column, 1)
        self._row.addWidget(field)
        self.fit()

    def matches(self, word: str) -> bool:
        return word.casefold() in self._text

    def fit(self) -> None:
        """Fit the row after a change of the window's size or the text size."""
        below = self._wide or is_crowded(self)
        direction = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self._row.direction() != direction:
            self._row.setDirection(direction)
        self._row.setSpacing(6 if below else 18)
        top = Qt.AlignmentFlag.AlignTop
        self._row.setAlignment(self.field, Qt.AlignmentFlag(0) if below else top)
        if not self._wide:
            width = round(self.fontMetrics().horizontalAdvance("M") * FIELD_WIDTH)
            self.field.setMinimumWidth(0 if below else width)
            self.field.setMaximumWidth(_ANY_WIDTH if below else width)


class SettingSection(QWidget):
    """A card of rows. `name` is its entry in the list."""

    def __init__(self, title: str, rows: tuple[SettingRow, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.rows = rows
        self._lines: list[QFrame] = []
        body = QWidget(self)
        column = vbox(parent=body, spacing=0)
        for number, row in enumerate(rows):
            if number:
                line = named(QFrame(body), "cardLine")
                self._lines.append(line)
                column.addWidget(line)
            column.addWidget(row)
        hbox(Card(title, body, parent=self), parent=self, margins=(PAD, 0))

    def show_matching(self, word: str) -> bool:
        """Show only the rows that contain the word, or all if the title does. Return whether there are any."""
        all_ = word.casefold() in self.title.casefold()
        shown = [all_ or row.matches(word) for row in self.rows]
        for row, seen in zip(self.rows, shown, strict=True):
            row.setVisible(seen)
        for line, before, after in zip(self._lines, range(len(shown)), shown[1:], strict=False):
            line.setVisible(after and any(shown[: before + 1]))
        self.setVisible(any(shown))
        return any(shown)
