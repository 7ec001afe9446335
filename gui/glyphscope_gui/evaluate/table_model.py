"""The matrix of a result as a Qt table: suites, groups and scenarios down, arms across, a figure in each cell."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from glyphscope.base.figures import percent
from glyphscope_gui.evaluate.result import CellFigure, EvalResult, RunRow
from glyphscope_gui.evaluate.words import (
    BY_NAME,
    MEASURES,
    MeasureName,
    MeasureSpec,
    arm_labels,
    arm_tip,
    quantity,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index

SHOWN_ROLE = Qt.ItemDataRole.UserRole + 1
"""A CellShown."""
ROW_ROLE = Qt.ItemDataRole.UserRole + 2
"""The RunRow of a row's header."""
COLLAPSED_ROLE = Qt.ItemDataRole.UserRole + 3
"""For a row's header: whether the row's children are hidden."""
MANY = 60
"""Number of scenarios above which groups are initially collapsed."""
_Key: TypeAlias = tuple[str, str, str, str, bool]
"""The identity of a row (`_key`): its kind, suite, group and scenario, and whether it is a group of controls."""


class CellShown(NamedTuple):
    """The content of a cell. `strength` is its colour's, 0 to 1, None for an empty cell; `low`, `at` and `high` are
    positions on the bar, 0 to 1.
    """

    words: str
    note: str
    strength: float | None = None
    low: float = 0.0
    at: float = 0.0
    high: float = 0.0


class EvalTableModel(QAbstractTableModel):
    """Shows one EvalResult by one measure. Rows of a collapsed suite or group are omitted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.result: EvalResult | None = None
        self.measure: MeasureSpec = MEASURES[0]
        self._arms: list[str] = []
        self.labels: dict[str, str] = {}
        self._tips: dict[str, str] = {}
        self._collapsed: set[_Key] = set()
        self._rows: list[RunRow] = []

    # -- what is shown -----------------------------------------------------------------------------------------

    def show(self, result: EvalResult | None) -> None:
        """Show another result, or none; a new version of the same result keeps its collapsed rows."""
        again = result is not None and self.result is not None and result.path == self.result.path
        self.beginResetModel()
        self.result = result
        arms = result.manifest.arms if result is not None else ()
        self._arms = result.arms if result is not None else []
        self.labels = arm_labels(arms)
        self._tips = {arm.id: arm_tip(arm) for arm in arms}
        if not again:
            self._collapsed.clear()
        if result is not None and not again and sum(row.kind == "scenario" for row in result.rows()) > MANY:
            self._collapsed = {_key(row) for row in result.rows() if row.kind == "group"}
            if not self._collapsed:
                self._collapsed = {_key(row) for row in result.rows() if row.kind == "suite"}
        self._arrange()
        self.endResetModel()

    def grow(self, result: EvalResult) -> None:
        """Show the same result with more samples."""
        shown, self.result = self.result, result
        if shown is None or len(shown.rows()) != len(result.rows()):
            self.layoutAboutToBeChanged.emit()
            before = [_key(self._rows[index.row()]) for index in self.persistentIndexList()]
            self._arrange()
            places = {_key(row): place for place, row in enumerate(self._rows)}
            old = self.persistentIndexList()
            moved = [self.index(places.get(key, -1), index.column()) for key, index in zip(before, old)]
            self.changePersistentIndexList(old, moved)
            self.layoutChanged.emit()
        self._changed()

    def set_measure(self, name: MeasureName) -> None:
        self.measure = BY_NAME[name]
        self._changed()

    def row(self, index: int) -> RunRow:
        return self._rows[index]

    def place_of(self, row: RunRow, arm: str) -> tuple[int, int]:
        """Return the row and column of a cell; those of the first cell if it is not visible."""
        if row not in self._rows or arm not in self._arms:
            return 0, 0
        return self._rows.index(row), self._arms.index(arm)

    def arm(self, column: int) -> str:
        return self._arms[column]

    def label(self, arm: str) -> str:
        return self.labels.get(arm, arm)

    def is_collapsed(self, row: RunRow) -> bool:
        return _key(row) in self._collapsed

    def toggle(self, index: int) -> bool:
        """Collapse or expand a suite or a group. Returns whether the row is one."""
        row = self._rows[index]
        if not row.is_foldable:
            return False
        collapsing = _key(row) not in self._collapsed
        below = 0
        if collapsing:
            for other in self._rows[index + 1 :]:
                if other.depth <= row.depth:
                    break
                below += 1
            if below:
                self.beginRemoveRows(NO_INDEX, index + 1, index + below)
            self._collapsed.add(_key(row))
            self._arrange()
            if below:
                self.endRemoveRows()
        else:
            self._collapsed.discard(_key(row))
            shown = self._visible()
            below = len(shown) - len(self._rows)
            if below:
                self.beginInsertRows(NO_INDEX, index + 1, index + below)
            self._rows = shown
            if below:
                self.endInsertRows()
        self.headerDataChanged.emit(Qt.Orientation.Vertical, index, index)
        return True

    # -- Qt ----------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._arms)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            row = self._rows[section]
            if role == Qt.ItemDataRole.DisplayRole:
                return row.name
            if role == ROW_ROLE:
                return row
            if role == COLLAPSED_ROLE:
                return self.is_collapsed(row)
            if role == Qt.ItemDataRole.ToolTipRole:
                return plain_tip(_row_tip(row))
            return None
        arm = self._arms[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.label(arm).replace(" · ", "\n")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._tips.get(arm, arm))
        return None

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.result is None:
            return None
        if role in (SHOWN_ROLE, Qt.ItemDataRole.DisplayRole):
            shown = self._shown(index.row(), index.column())
            return shown if role == SHOWN_ROLE else shown.words
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            row, arm = self._rows[index.row()], self._arms[index.column()]
            words = figure_words(self.result.figure(row, arm, self.measure.name), self.measure)
            sentence = f"{row.name}, {self.label(arm)}: {words}"
            return plain_tip(sentence) if role == Qt.ItemDataRole.ToolTipRole else sentence
        return None

    def _changed(self) -> None:
        """Announce that the figures of all cells changed."""
        if self._rows and self._arms:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(self._arms) - 1))

    def _arrange(self) -> None:
        self._rows = self._visible()

    def _visible(self) -> list[RunRow]:
        shown: list[RunRow] = []
        hidden_below: int | None = None
        for row in self.result.rows() if self.result is not None else ():
            if hidden_below is not None and row.depth > hidden_below:
                continue
            hidden_below = row.depth if _key(row) in self._collapsed else None
            shown.append(row)
        return shown

    def _shown(self, index: int, column: int) -> CellShown:
        assert self.result is not None
        figure = self.result.figure(self._rows[index], self._arms[column], self.measure.name)
        if figure.value is None:
            return CellShown("–", tr("not measured") if figure.n else "")
        note = f"n {figure.of:,}"
        if self.measure.is_share:
            return CellShown(
                percent(figure.value, 0), note, figure.value, figure.low, figure.value, figure.high
            )
        top = self.result.greatest(self.measure.name)
        at = [max(min(value / top, 1.0), 0.0) for value in (figure.low, figure.value, figure.high)]
        return CellShown(quantity(figure.value, self.measure.unit), note, at[1], *at)


def figure_words(figure: CellFigure, measure: MeasureSpec) -> str:
    """A cell's figure in a sentence."""
    if figure.value is None:
        return tr("not measured") if figure.n else tr("no samples")
    left_out = tr("; {count:,} not measured", count=figure.n - figure.of) if figure.n != figure.of else ""
    if measure.is_share:
        return tr(
            "{measure} {correct:,} of {all:,}, {share}, 95% interval {low} to {high}{left_out}",
            measure=measure.words,
            correct=figure.correct,
            all=figure.of,
            share=percent(figure.value, 0),
            low=percent(figure.low, 0),
            high=percent(figure.high, 0),
            left_out=left_out,
        )
    low, median, high = (quantity(v, measure.unit) for v in (figure.low, figure.value, figure.high))
    return tr(
        "{measure}: median {median}, from {low} to {high}, n {count:,}{left_out}",
        measure=measure.words,
        median=tr("{tokens} tokens", tokens=median) if measure.unit == "tokens" else median,
        low=low,
        high=high,
        count=figure.of,
        left_out=left_out,
    )


def _key(row: RunRow) -> _Key:
    """Return a row's identity, which stays the same while its result grows."""
    is_scenario, is_group = row.kind == "scenario", row.kind == "group"
    return (row.kind, row.suite, row.group, row.name if is_scenario else "", row.control and is_group)


def _row_tip(row: RunRow) -> str:
    if row.kind == "all":
        return tr("All scenarios of all suites; controls have separate rows")
    control = "\n" + tr("Controls: prompts that should not lead to a call.") if row.control else ""
    return (
        f"{row.name}{control}\n" + tr("Space expands or collapses the row.")
        if row.is_foldable
        else row.name + control
    )
