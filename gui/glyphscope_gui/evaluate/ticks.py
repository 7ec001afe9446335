"""A list of suites or models to tick, with a note on the right of each line. Files can be dropped on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.shared.cells import NoteDelegate
from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import NOTE_ROLE, ListModel


class Tickable(NamedTuple):
    """`value` is the chosen value; a row with a `problem` cannot be ticked, and shows it."""

    value: str
    words: str
    note: str = ""
    tip: str = ""
    problem: str = ""


class TicksModel(ListModel[Tickable]):
    checks = 0
    key = "value"

    @property
    def ticked(self) -> tuple[str, ...]:
        """Return the ticked values, in the list's order."""
        return tuple(row.value for row in self._rows if self.is_checked(row))

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(row.value for row in self._rows)

    def put(self, row: Tickable, *, ticked: bool = False, first: bool = False) -> None:
        """Add a row, or replace the one with the same value."""
        if ticked and not row.problem:
            self._checked.add(row.value)
        if row.value in self.values:
            self.refresh([row if one.value == row.value else one for one in self._rows])
        else:
            self.refresh([row, *self._rows] if first else [*self._rows, row])

    def take(self, value: str) -> None:
        """Remove a row."""
        self._checked.discard(value)
        self.refresh([row for row in self._rows if row.value != value])

    def tick(self, values: Iterable[str]) -> None:
        """Tick exactly these values, without a signal."""
        self._checked = set(values) & {row.value for row in self._rows if self.can_check(row)}
        self._changed()

    def words(self, row: Tickable, column: int) -> str:
        return row.words

    def spoken(self, row: Tickable, column: int) -> str:
        return ", ".join(part for part in (row.words, row.note, row.problem) if part)

    def tip(self, row: Tickable, column: int) -> str:
        return row.problem or row.tip

    def color(self, row: Tickable, column: int) -> str:
        return "impossible" if row.problem else ""

    def can_check(self, row: Tickable) -> bool:
        return not row.problem

    def extra(self, row: Tickable, column: int, role: int) -> Any:
        note = tr("cannot be used") if row.problem else row.note
        return (note, "text-muted") if role == NOTE_ROLE else None


MIN_ROWS, MAX_ROWS = 3, 6
"""The least number of visible rows, if there are that many, and the preferred one."""


class TickList(TakesFiles, PlainList):
    """`dropped` carries the paths of files with one of the `endings`, which are asked for at a drop; a `fitted` list is
    as high as its rows.
    """

    dropped = Signal(object)
    one_file = False

    def __init__(
        self,
        model: TicksModel,
        name: str,
        words: str,
        endings: Callable[[], tuple[str, ...]],
        parent: QWidget | None = None,
        *,
        fitted: bool = False,
    ) -> None:
        description = tr("Space selects or clears a row.")
        super().__init__(model, name, words, parent, description=description, uniformItemSizes=True)
        self._endings = endings
        self.setItemDelegate(NoteDelegate(self))
        self.setAcceptDrops(True)
        policy = QSizePolicy.Policy.Maximum if fitted else QSizePolicy.Policy.Expanding
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        model.rowsInserted.connect(self.updateGeometry)
        model.rowsRemoved.connect(self.updateGeometry)
        model.modelReset.connect(self.updateGeometry)

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() in self._endings()

    def sizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MAX_ROWS)
        return QSize(200, rows * max(self.sizeHintForRow(0), self.fontMetrics().height() + 8) + 8)

    def minimumSizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MIN_ROWS)
        return QSize(140, rows * (self.fontMetrics().height() + 8) + 2)

    def files_dropped(self, paths: list[Path]) -> None:
        self.dropped.emit(paths)
