"""The cost of each part of the prompt: a tree with a bar behind each count, the most expensive first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.prompting.costs import ITSELF, KINDS, Cost
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TreeModel, TreeRows
from glyphscope_gui.theme import mono_font, theme

SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
"""The row's cost as a share of the highest at its level, 0 to 1."""
Key: TypeAlias = tuple[str, str, bool]
"""A row's identity, which stays the same while a prompt is edited."""


class CostRows(TreeRows):
    """The tree of costs with all data for its view, made in the background, as 2,000 tools have 14,000 rows."""

    def __init__(self, costs: Sequence[Cost] = ()) -> None:
        super().__init__()
        self.costs: list[Cost] = []
        self.dearest: list[int] = [max((cost.tokens for cost in costs), default=0)]
        self.by_key: dict[Key, int] = {}
        for cost in costs:
            self._take(cost, 0)
        leaves = sorted(
            (part.start, part.end, number)
            for number, row in enumerate(self.costs, 1)
            if not row.below
            for part in row.parts
        )
        self.starts = [start for start, _, _ in leaves]
        self.ends = [end for _, end, _ in leaves]
        self.of_part = [number for _, _, number in leaves]

    def _take(self, cost: Cost, above: int) -> None:
        number = self.add(above)
        self.costs.append(cost)
        self.dearest.append(max((below.tokens for below in cost.below), default=0))
        self.by_key.setdefault(_key(cost), number)
        for below in cost.below:
            self._take(below, number)


class PromptCostsModel(TreeModel):
    titles = (tr("Part"), tr("Tokens"))
    figures = frozenset({1})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._counted = True
        self._tree: CostRows = CostRows()

    def show_rows(self, rows: CostRows, *, counted: bool = True) -> None:
        """Show other costs; if tokens are not counted, the rows have no figures."""
        self.beginResetModel()
        self._counted, self._tree = counted, rows
        self.endResetModel()

    def cost(self, index: Index) -> Cost | None:
        return self._tree.costs[index.internalId() - 1] if index.isValid() else None

    def key(self, index: Index) -> Key | None:
        row = self.cost(index)
        return None if row is None else _key(row)

    def index_of(self, key: Key) -> QModelIndex:
        """Return the index of the row with that key; an invalid one if there is none."""
        return self.index_of_row(self._tree.by_key.get(key, 0))

    def index_at(self, character: int) -> QModelIndex:
        """The deepest row that includes a character of the prompt."""
        rows = self._tree
        at = bisect_right(rows.starts, character) - 1
        if at < 0 or character >= rows.ends[at]:
            return QModelIndex()
        return self.index_of_row(rows.of_part[at])

    def words(self) -> str:
        """The top rows in words."""
        tops = (self._tree.costs[number - 1] for number in self._tree.below[0])
        return ", ".join(f"{row.title} {row.tokens:,}" if self._counted else row.title for row in tops)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.cost(index)
        if row is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            if index.column():
                return f"{row.tokens:,}" if self._counted else ""
            return f"⚠ {row.title}" if row.controls else row.title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role == SHARE_ROLE:
            most = self._tree.dearest[self._tree.above[index.internalId()]]
            return row.tokens / most if most > 0 and self._counted else 0.0
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._row_words(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._row_words(row))
        return None

    def _row_words(self, row: Cost) -> str:
        kind = "" if not row.of else f", {KINDS.get(row.kind, row.kind)}"
        tokens = ": " + tr("%n token(s)", "", row.tokens) if self._counted else ""
        controls = ""
        if row.controls:
            controls = ". " + tr("%n text(s) that read like control tokens", "", row.controls)
        return f"{row.title}{kind}{tokens}{controls}"


def _key(row: Cost) -> Key:
    return row.kind, row.of, row.title == ITSELF


def spans_of(cost: Cost) -> Iterator[tuple[int, int]]:
    """The character ranges of a row, with adjacent ones joined."""
    start = end = -1
    for part in cost.parts:
        if part.start == end:
            end = part.end
            continue
        if start >= 0:
            yield start, end
        start, end = part.start, part.end
    if start >= 0:
        yield start, end


_BAR = 36
_WHOLE_ROW = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows


class _CostDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = 0
        if index.column():
            width = option.fontMetrics.horizontalAdvance("00,000") + _BAR + 14
        return QSize(width, round(option.fontMetrics.height() * 1.2) + 5)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not index.column():
            super().paint(painter, option, index)
            return
        colors = theme()
        painter.save()
        box = QRectF(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(box, colors.color("selection"))
        share = float(index.data(SHARE_ROLE) or 0.0)
        if share > 0:
            bar = QRectF(box.left() + 4, box.center().y() - 3, max(1.0, _BAR * share), 6)
            painter.fillRect(
                bar, colors.color("chart-soft" if index.parent().isValid() else "chart-main-soft")
            )
            if index.parent().isValid():
                painter.setPen(QPen(colors.color("border-strong"), 1))
                painter.drawRect(bar)
        painter.setFont(mono_font(-1))
        painter.setPen(colors.color("text"))
        words = box.adjusted(0, 0, -8, 0)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(words, right, str(index.data() or ""))
        painter.restore()


class PromptCosts(PlainTree):
    """`partChosen` and `partHovered` carry the Cost of a row, or None."""

    partChosen = Signal(object)
    partHovered = Signal(object)

    def __init__(self, model: PromptCostsModel, parent: QWidget | None = None) -> None:
        words = tr("Tokens of each part of the prompt")
        super().__init__(model, "promptCosts", words, parent, indent=11, stretch=0)
        self._costs = model
        self._open: set[Key] = set()
        self._last_key: Key | None = None
        self.setItemDelegate(_CostDelegate(self))
        self.setMouseTracking(True)
        self.header().setSectionsClickable(False)
        self.selectionModel().currentChanged.connect(self._current_changed)
        self.entered.connect(lambda index: self.partHovered.emit(model.cost(index)))
        self.expanded.connect(lambda index: self._remember(index, is_open=True))
        self.collapsed.connect(lambda index: self._remember(index, is_open=False))
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)

    def choose(self, index: QModelIndex) -> None:
        """Choose a row, expand its parents and scroll to it."""
        if index.isValid() and index != self.currentIndex().siblingAtColumn(0):
            self.selectionModel().setCurrentIndex(index, _WHOLE_ROW)
            self.scrollTo(index)

    def chosen(self) -> object:
        """The Cost of the chosen row, or None."""
        return self._costs.cost(self.currentIndex())

    def leaveEvent(self, event: object) -> None:
        super().leaveEvent(event)  # type: ignore[arg-type]
        self.partHovered.emit(None)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 4 * self.fontMetrics().height())

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        self.partChosen.emit(self._costs.cost(current))

    def _remember(self, index: QModelIndex, *, is_open: bool) -> None:
        key = self._costs.key(index)
        if key is not None:
            (self._open.add if is_open else self._open.discard)(key)

    def _keep(self) -> None:
        self._last_key = self._costs.key(self.currentIndex()) or self._last_key

    def _restore(self) -> None:
        """Restore the expanded rows and the selected one, if they still exist."""
        for key in list(self._open):
            index = self._costs.index_of(key)
            if index.isValid():
                self.setExpanded(index, True)
        if self._last_key is not None:
            index = self._costs.index_of(self._last_key)
            if index.isValid():
                self.selectionModel().setCurrentIndex(index, _WHOLE_ROW)
