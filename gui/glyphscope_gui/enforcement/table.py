"""The enforcement table: for each constraint, whether each engine really enforces it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QSize, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope_gui.enforcement.model import CONSTRAINT, ENGINES, EnforcementModel, EnforcementRow, Engines
from glyphscope_gui.shared.cells import PILL, PillDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, MIN_CELL, PlainTable

MIN_CONSTRAINT = 0.3
"""The share of the width for the constraint's words."""


class EnforcementTable(PlainTable):
    """`constraintChosen` carries the tool and the JSON Pointer of the chosen row."""

    constraintChosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._model = EnforcementModel()
        super().__init__(self._model, stretch=CONSTRAINT, parent=parent)
        self._model.setParent(self)
        self.setObjectName("enforcementTable")
        self.setAccessibleName(tr("Enforcement of each constraint by each engine"))
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for column in range(1, 1 + len(ENGINES)):
            self.setItemDelegateForColumn(column, PillDelegate(self))
        self.fit_rows(11)
        self.clicked.connect(self._chosen)
        self.activated.connect(self._chosen)
        self._model.modelReset.connect(self._fit)
        self._model.dataChanged.connect(self._fit)

    def show_rows(
        self, rows: Sequence[EnforcementRow], engines: Engines = ENGINES, *, of_one_tool: bool = True
    ) -> None:
        """Show these rows, with the engines as columns."""
        self._model.show(rows, engines, of_one_tool=of_one_tool)

    def show_argument(self, tool: str, argument: str | None) -> None:
        """Scroll to an argument's constraints."""
        row = self._model.first_of(tool, argument)
        if row >= 0:
            self.selectRow(row)
            self.scrollTo(self._model.index(row, 0), self.ScrollHint.PositionAtTop)

    def sizeHint(self) -> QSize:
        return QSize(300, 160)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 70)

    def _chosen(self, index: QModelIndex) -> None:
        row = self._model.row(index.row())
        if row is not None:
            self.constraintChosen.emit(row.tool, row.pointer)

    def _fit(self, *_what: object) -> None:
        engines = self._model.engines
        width = self.viewport().width()
        left = round(width * (1 - MIN_CONSTRAINT))
        head = self.fontMetrics()
        needs, likes = [], []
        for column in range(1, 1 + len(engines)):
            words = self.widest(column) + PILL
            needs.append(words)
            likes.append(max(words, head.horizontalAdvance(engines[column - 1][1]) + CELL))
        for column, given in enumerate(_shared(left, needs, likes), 1):
            self.setColumnWidth(column, given)
        others = sum(self.columnWidth(column) for column in range(1, 1 + len(engines)))
        self.setColumnWidth(CONSTRAINT, max(width - others, MIN_CELL * head.averageCharWidth()))


def _shared(room: int, needs: Sequence[int], likes: Sequence[int]) -> list[int]:
    """The widths of columns in `room` pixels: the pills take precedence, longer headings share the rest."""
    spare = max(room - sum(needs), 0)
    scale = min(1.0, spare / max(sum(likes) - sum(needs), 1))
    return [need + round((like - need) * scale) for need, like in zip(needs, likes, strict=True)]
