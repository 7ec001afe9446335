"""The runs behind a cell or a reason: Enter or a double click opens one in the playground, where it went wrong."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope_gui.evaluate.runs_model import (
    ARM,
    REASON,
    SCENARIO,
    TEXT,
    TOKENS,
    TRIAL,
    VERDICT,
    EvalRunsModel,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable

LEAST_TEXT = 150
_NO_CONSTRAINT = tr("no constraint")
GIVES_WAY = ((), (TOKENS,), (TOKENS, ARM), (TOKENS, ARM, TRIAL))
"""What is left out where there is less and less room."""
SAME = (SCENARIO, ARM)
"""What is left out where all runs have the same: the heading says it."""


class EvalRuns(PlainTable):
    """`opened` carries the Sample whose run is wanted."""

    opened = Signal(object)

    def __init__(self, model: EvalRunsModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=TEXT, parent=parent)
        self._runs = model
        self.setObjectName("evalRuns")
        self.setAccessibleName(tr("Runs"))
        self.setAccessibleDescription(
            tr("Enter opens a run in the playground, at the token where it failed.")
        )
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        for column, widest in (
            (SCENARIO, "missing_workspace_id"), (ARM, f"GLYPH · {_NO_CONSTRAINT}"), (TRIAL, "10"),
            (VERDICT, tr("– no answer")), (REASON, "WRONG_ARGUMENTS /max_results"), (TOKENS, "1,024"),
        ):  # fmt: skip
            self.fit_column(column, widest)
        self._widths = {column: self.columnWidth(column) for column in range(TEXT)}
        self.horizontalHeader().setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        self.doubleClicked.connect(self._open)
        model.modelReset.connect(self._fit)

    def choose(self, row: int) -> None:
        self.setCurrentIndex(self._runs.index(row, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._open(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        same = {column for column in SAME if self._runs.all_same(column)}
        room = self.viewport().width() - LEAST_TEXT
        need = sum(width for column, width in self._widths.items() if column not in same)
        hidden = next(
            (h for h in GIVES_WAY if need - sum(self._widths[c] for c in h if c not in same) <= room),
            GIVES_WAY[-1],
        )
        for column in range(TEXT):
            self.setColumnHidden(column, column in hidden or column in same)

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(self._runs.sample(index.row()))
