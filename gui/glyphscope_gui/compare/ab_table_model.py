"""The seeds of an A/B as a table: what each prompt came to, and where the calls part first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from glyphscope.evals.ab import Trial
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

SEED, FIRST, SECOND, PARTING = range(4)
_WAITS = "…"


class AbRow(NamedTuple):
    """A trial is None as long as it has not run."""

    seed: int
    first: Trial | None
    second: Trial | None
    difference: str = ""


class AbTableModel(TableModel[AbRow]):
    titles = (tr("Seed"), "A", "B", tr("First difference"))
    figures = frozenset({SEED})

    def show_rows(self, rows: Sequence[AbRow]) -> None:
        """Rows that are there stay, so that the chosen one stays chosen."""
        if len(rows) != len(self._rows):
            self._replace(list(rows))
            return
        for place, (old, new) in enumerate(zip(self._rows, rows)):
            if old != new:
                self._rows[place] = new  # type: ignore[index]
                self.dataChanged.emit(self.index(place, 0), self.index(place, PARTING))

    def row(self, place: int) -> AbRow:
        return self._rows[place]

    def words(self, row: AbRow, column: int) -> str:
        difference = row.difference or (tr("same call") if _same(row) else "")
        return (str(row.seed), trial_words(row.first), trial_words(row.second), difference)[column]

    def tip(self, row: AbRow, column: int) -> str:
        return self.words(row, column)


def trial_words(trial: Trial | None) -> str:
    """The trial with a sign in front: right, wrong, or not judged."""
    if trial is None:
        return _WAITS
    if trial.ok is None:
        return f"· {trial.why}"
    return f"✓ {trial.call}" if trial.ok else f"✕ {trial.why}"


def _same(row: AbRow) -> bool:
    return bool(row.first and row.second and row.first.call and row.second.call)
