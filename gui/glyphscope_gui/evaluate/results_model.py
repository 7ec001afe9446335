"""The results that are there, as a Qt list: when, which suites and how many samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from glyphscope.evals.results.folder import ResultRow
from glyphscope_gui.history.model import when
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index
from glyphscope_gui.theme import theme


class EvalResultsModel(QAbstractListModel):
    """Rows as they were listed, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Sequence[ResultRow] = ()

    def show(self, rows: Sequence[ResultRow]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.rows)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return result_words(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("\n".join(part for part in (str(row.path), row.problem) if part))
        if role == Qt.ItemDataRole.ForegroundRole and row.problem:
            return theme().color("impossible")
        return None


def result_words(row: ResultRow) -> str:
    """A result in a line."""
    manifest = row.manifest
    if manifest is None:
        return f"{row.path.name}: {row.problem}"
    suites = ", ".join(suite.name for suite in manifest.suites)
    state = "" if manifest.finished else tr(", not finished")
    arms = tr("%n arm(s)", "", len(manifest.arms))
    return tr(
        "{started}  {suites}  ·  {arms}, {samples}{state}",
        started=when(manifest.started),
        suites=suites,
        arms=arms,
        samples=tr("%n sample(s)", "", manifest.planned),
        state=state,
    )
