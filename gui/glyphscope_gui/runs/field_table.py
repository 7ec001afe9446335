"""The field table: value so far, verdict, and the constraint in words."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QSize
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope_gui.runs.field_table_model import (
    CONSTRAINT,
    DECIDED,
    FIELD,
    TOKENS,
    VALUE,
    VERDICT,
    FieldTableModel,
)
from glyphscope_gui.shared.cells import PillDelegate
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, PlainTable
from glyphscope_gui.shared.verdict import VERDICTS

MIN_ROWS, MAX_ROWS = 4, 7
"""The minimum and maximum height of the table in rows, before it scrolls."""
NARROW = 80
"""Width of the table, in characters, below which the column of tokens is hidden."""
NARROWER = 64
"""Width, in characters, below which the deciding character is hidden too: the stream marks it."""
MAX_MEASURED = 40
"""Number of rows that are measured for the width of a column."""


class FieldTable(PlainTable):
    def __init__(self, model: FieldTableModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=VALUE, parent=parent)
        self._fields = model
        named(self, "fieldTable", tr("Fields of the call with their verdicts"))
        self.setItemDelegateForColumn(VERDICT, PillDelegate(self))
        self.fit_rows(11)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        verdicts = [f"{each.sign} {each.words} " for each in VERDICTS.values()]
        self.fit_column(VERDICT, max(verdicts, key=self.fontMetrics().horizontalAdvance))
        self.fit_column(DECIDED, tr("character {char}", char="0000"))
        self.fit_column(TOKENS, "0000")
        model.rowsInserted.connect(self._rows_changed)
        model.modelReset.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        return QSize(400, self.height_of(min(max(self.model().rowCount(), MIN_ROWS), MAX_ROWS)))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.height_of(1))

    def show_result(self) -> None:
        """Scroll to the first impossible field, or to the first field."""
        status = [row.status for row in self._fields.rows]
        self.scrollToTop()
        if "impossible" in status:
            self.scrollTo(self.model().index(status.index("impossible"), FIELD))

    def _rows_changed(self, _parent: QModelIndex, first: int, last: int) -> None:
        """Scroll to the newest field."""
        self._fit()
        self.scrollToBottom()
        self.updateGeometry()

    def _fit(self) -> None:
        """Fit the names, up to two fifths; value and constraint share the rest, each with at least the width
        of its title.
        """
        width = self.viewport().width()
        for column, least in ((TOKENS, NARROW), (DECIDED, NARROWER)):
            self.setColumnHidden(column, width < least * self.fontMetrics().averageCharWidth())
        room = width - sum(self.columnWidth(column) for column in (VERDICT, DECIDED, TOKENS))  # hidden: 0
        titles = self.least_width(VALUE) + self.least_width(CONSTRAINT)
        name = max(min(self._needed(FIELD), round(room * 0.4), room - titles), 1)
        title = self.title_width(CONSTRAINT)
        constraint = max(min(self._needed(CONSTRAINT), (room - name) // 2), title)
        self.setColumnWidth(FIELD, name)
        self.setColumnWidth(CONSTRAINT, constraint)
        rest = room - self.columnWidth(FIELD) - self.columnWidth(CONSTRAINT)
        self.setColumnWidth(VALUE, max(rest, 40))

    def _needed(self, column: int) -> int:
        """The width in pixels that the title and the first rows need."""
        return max(self.widest(column, MAX_MEASURED) + CELL, self.title_width(column))
