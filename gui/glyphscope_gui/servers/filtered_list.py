"""The base of the lists of a server: its tools, resources and prompts, with a filter."""

from __future__ import annotations

from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope_gui.shared.labels import PlainLabel, show_words
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import FilteredModel
from glyphscope_gui.shared.text_edits import LineEdit

FILTER_FROM = 13
"""Number of rows from which a filter is shown."""
Row = TypeVar("Row")


class FilteredList(FollowsSize, QWidget, Generic[Row]):
    """`chosen` carries the row whose details are shown, or None. A subclass makes `problem` and lays out the parts."""

    chosen = Signal(object)

    problem: QLabel

    def __init__(self, model: FilteredModel[Row], hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._key: object = None
        """The key of the chosen row."""
        self.filter_edit = LineEdit(self, placeholderText=hint, clearButtonEnabled=True)
        self.table = PlainTable(model, 0, self)
        self.table.fit_rows(11, least=3)
        self.empty = PlainLabel(self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.filter_edit.textChanged.connect(model.set_filter)
        self.table.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    @property
    def current(self) -> Row | None:
        """The row whose details are shown."""
        return self.model.row(self.table.currentIndex().row())

    def choose(self, key: str) -> None:
        row = self.model.row_of(key)
        if row >= 0:
            self.table.setCurrentIndex(self.model.index(row, 0))

    def show_words(self, empty: str, problem: str) -> None:
        """Set the text in place of an empty list, and the problems of the list."""
        self.empty.setText(empty)
        self.empty.setVisible(self.model.total == 0)
        self.table.setVisible(self.model.total > 0)
        show_words(self.problem, problem)
        self.filter_edit.setVisible(self.model.total >= FILTER_FROM or bool(self.filter_edit.text()))

    def forget(self) -> None:
        """Clear the choice and the filter, for another server."""
        self._key = None
        self.filter_edit.clear()

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        row = self.model.row(current.row())
        if row is not None:
            self._key = self.model.key_of(row)
            self.chosen.emit(row)

    def _keep(self) -> None:
        """Select the same row in a new list; the first one if none was selected."""
        place = self.model.row_of(self._key) if self._key is not None else 0
        if self.model.row(place) is None:
            self.chosen.emit(None)
        else:
            self.table.setCurrentIndex(self.model.index(place, 0))
