"""What the demo tools have done, as tables: mails in the outbox, files in the scratch folder."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from PySide6.QtCore import Qt

from glyphscope.text.figures import byte_size
from glyphscope.tools.demo import Mail, ScratchFile
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data
from glyphscope_gui.shared.table_model import Index, TableModel


class _Listed(TableModel):
    """Rows that are replaced as a whole; a selection stays where its row stays."""

    def show(self, rows: Sequence[Any]) -> None:
        new = list(rows)
        if new == self._rows:
            return
        old = len(self._rows)
        if old and list(self._rows) == new[:old]:
            self.beginInsertRows(self.index(-1, -1), old, len(new) - 1)
            self._rows = new
            self.endInsertRows()
            return
        self.beginResetModel()
        self._rows = new
        self.endResetModel()

    def row(self, number: int) -> Any:
        return self._rows[number] if 0 <= number < len(self._rows) else None

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.words(self._rows[index.row()], index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        return None

    def words(self, row: Any, column: int) -> str:
        raise NotImplementedError


class MailModel(_Listed):
    titles = ("#", tr("To"), tr("Subject"), tr("Written"))
    figures = frozenset({0})

    def words(self, row: Mail, column: int) -> str:
        written = datetime.fromisoformat(row.at).astimezone().strftime("%H:%M:%S")
        return (str(row.number), ", ".join((row.to, *row.cc)), row.subject, written)[column]


class ScratchModel(_Listed):
    titles = (tr("File"), tr("Size"))
    figures = frozenset({1})

    def words(self, row: ScratchFile, column: int) -> str:
        return (row.path, byte_size(row.bytes))[column]
