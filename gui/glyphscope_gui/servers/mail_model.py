"""What the demo tools have done, as tables: mails in the outbox, files in the scratch folder."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from glyphscope.text.figures import byte_size
from glyphscope.tools.demo import Mail, ScratchFile
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import Row, TableModel


class _Listed(TableModel[Row]):
    """Rows that are replaced as a whole; a selection stays where its row stays."""

    def show(self, rows: Sequence[Row]) -> None:
        new = list(rows)
        if new == self._rows:
            return
        old = len(self._rows)
        if old and list(self._rows) == new[:old]:
            self.beginInsertRows(self.index(-1, -1), old, len(new) - 1)
            self._rows = new
            self.endInsertRows()
            return
        self.show_rows(new)

    def row(self, number: int) -> Row | None:
        return self._rows[number] if 0 <= number < len(self._rows) else None


class MailModel(_Listed[Mail]):
    titles = ("#", tr("To"), tr("Subject"), tr("Written"))
    figures = frozenset({0})

    def words(self, row: Mail, column: int) -> str:
        written = datetime.fromisoformat(row.at).astimezone().strftime("%H:%M:%S")
        return (str(row.number), ", ".join((row.to, *row.cc)), row.subject, written)[column]


class ScratchModel(_Listed[ScratchFile]):
    titles = (tr("File"), tr("Size"))
    figures = frozenset({1})

    def words(self, row: ScratchFile, column: int) -> str:
        return (row.path, byte_size(row.bytes))[column]
