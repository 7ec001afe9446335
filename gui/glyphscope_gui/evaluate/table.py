"""The heat map of a result: a cell's colour and number show its figure, the bar its confidence interval. Below it, the
runs behind a cell, a reason or an arm: Enter or a double click opens one in the playground, at the place where it went
wrong. Rows of runs are added in portions, as there may be many.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QItemSelection, QLineF, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope_gui.evaluate.result import CellSamples
from glyphscope_gui.evaluate.table_model import (
    COLLAPSED_ROLE,
    ROW_ROLE,
    SHOWN_ROLE,
    CellShown,
    EvalTableModel,
)
from glyphscope_gui.evaluate.words import WIDEST_ARM, WIDEST_REASON, verdict_words, why_words
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import smaller

MIN_WIDTH, MAX_WIDTH = 96, 190
"""The widths of a column, in pixels at the usual font size."""
MAX_TITLE = 240
"""The width up to which a column grows for its title, in pixels at the usual font size."""
SIDE = 9
"""Pixels between the edge of a cell and its text."""
INDENT = 14
"""Pixels by which each level of rows is indented."""
NAMES = (150, 300)
"""The smallest and largest width of the rows' names, in pixels."""
NARROW, NARROW_NAMES = 760, 200
"""The width below which the table is narrow, and the largest width of the rows' names in that case, in pixels."""
MAX_MEASURED = 400
"""Rows whose names are measured for that width, as measuring takes time."""
MIN_STRENGTH, MAX_STRENGTH = 0.05, 0.94
"""The share of the chart's colour in an empty and in a full cell."""


class EvalTable(FollowsSize, QtWidgets.QTableView):
    """`cellChosen` carries the row and column of the current cell, `openRequested` requests its runs, `armsChosen`
    carries two columns that are selected as a whole.
    """

    cellChosen = Signal(int, int)
    openRequested = Signal()
    armsChosen = Signal(int, int)

    def __init__(self, model: EvalTableModel, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        keys = tr(
            "Arrow keys move between cells. Enter goes to the runs of a cell. Space expands or "
            "collapses a suite or group. Select two whole columns to compare them."
        )
        named(self, "evalTable", tr("Result by scenario and configuration"), description=keys)
        self.setVerticalHeader(_Names(self))
        self.setModel(model)
        self.setItemDelegate(_CellDelegate(self))
        self.setShowGrid(False)
        self.setFrameShape(QtWidgets.QTableView.Shape.NoFrame)
        self.setCornerButtonEnabled(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QtWidgets.QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectionBehavior.SelectItems)
        self.setEditTriggers(QtWidgets.QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QtWidgets.QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QtWidgets.QAbstractItemView.ScrollMode.ScrollPerPixel)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSectionsClickable(True)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        head.setTextElideMode(Qt.TextElideMode.ElideNone)  # otherwise Qt shortens every line like the longest
        head.setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().sectionClicked.connect(self._name_clicked)
        self.doubleClicked.connect(lambda _index: self.openRequested.emit())
        model.modelReset.connect(self._fit)
        model.rowsInserted.connect(lambda *_: self._fit())
        model.layoutChanged.connect(self._fit)
        self._fit()

    def choose(self, row: int, column: int) -> None:
        """Make a cell current."""
        self.setCurrentIndex(self._model.index(row, column))

    def toggle(self, row: int) -> None:
        """Collapse or expand a row; the current cell stays current if it is still visible."""
        self._model.toggle(row)
        self.verticalHeader().viewport().update()

    # -- Qt ----------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Space and index.isValid():
            self.toggle(index.row())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.isValid():
            self.openRequested.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index == self.currentIndex():
            self.cellChosen.emit(index.row(), index.column())  # again, as another list of runs may be shown

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.verticalHeader().viewport().update()
        if current.isValid():
            self.cellChosen.emit(current.row(), current.column())

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        columns = sorted(index.column() for index in self.selectionModel().selectedColumns())
        if len(columns) == 2:
            self.armsChosen.emit(*columns)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "_model"):
            self._fit()

    def _name_clicked(self, row: int) -> None:
        if self._model.row(row).is_foldable:
            self.toggle(row)
        column = max(self.currentIndex().column(), 0)
        self.choose(row, column)

    def _fit(self) -> None:
        """Set the sizes of rows and columns: columns share the width, between their narrowest and widest."""
        metrics, model = QFontMetrics(self.font()), self._model
        names = self.verticalHeader()
        names.setDefaultSectionSize(metrics.height() + 16)
        names.setFixedWidth(names.sizeHint().width())
        head, scale = self.horizontalHeader(), metrics.height() / 15
        lines, columns = 1, model.columnCount()
        bar = self.verticalScrollBar().sizeHint().width()
        share = (self.width() - names.width() - bar) // max(columns, 1)
        for column in range(columns):
            words = str(model.headerData(column, Qt.Orientation.Horizontal) or "").split("\n")
            lines = max(lines, len(words))
            widest = max(metrics.horizontalAdvance(word) for word in words) + 3 * SIDE
            least = max(round(MIN_WIDTH * scale), min(widest, round(MAX_TITLE * scale)))
            head.resizeSection(column, max(least, min(share, round(MAX_WIDTH * scale))))
        head.setFixedHeight(lines * metrics.height() + 14)


class _Names(QtWidgets.QHeaderView):
    """The header with the rows' names: suites bold, their rows indented, a sign for collapsed and expanded."""

    def __init__(self, parent: QtWidgets.QTableView) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self._best_width(), 0)

    @property
    def _table(self) -> QtWidgets.QTableView:
        table = self.parentWidget()
        assert isinstance(table, QtWidgets.QTableView)
        return table

    def _best_width(self) -> int:
        model, metrics = self.model(), self.fontMetrics()
        widest = 0
        for section in range(min(model.rowCount() if model is not None else 0, MAX_MEASURED)):
            row = model.headerData(section, Qt.Orientation.Vertical, ROW_ROLE)
            widest = max(widest, metrics.horizontalAdvance(row.name) + row.depth * INDENT)
        most = NAMES[1] if self._table.width() > NARROW else NARROW_NAMES
        return min(max(widest + 3 * SIDE + INDENT, NAMES[0]), most)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        if not rect.isValid():
            return
        model, orientation = self.model(), Qt.Orientation.Vertical
        row = model.headerData(section, orientation, ROW_ROLE)
        painter.save()
        current = self._table.currentIndex().row() == section
        painter.fillRect(rect, theme().color("selection" if current else "panel"))
        font = QFont(self.font())
        if row.kind != "scenario":
            font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        left = rect.left() + SIDE + row.depth * INDENT
        if row.is_foldable:
            collapsed = model.headerData(section, orientation, COLLAPSED_ROLE)
            painter.setPen(theme().color("text-muted"))
            painter.drawText(
                QRect(left, rect.top(), INDENT, rect.height()),
                Qt.AlignmentFlag.AlignVCenter,
                "▸" if collapsed else "▾",
            )
        left += INDENT if row.is_foldable or row.kind == "scenario" else 0
        painter.setPen(theme().color("text-muted" if row.control else "text"))
        box = QRect(left, rect.top(), rect.right() - left - SIDE, rect.height())
        name = tr("{name} (control)", name=row.name) if row.control and row.kind != "group" else row.name
        words = painter.fontMetrics().elidedText(visible(name), Qt.TextElideMode.ElideMiddle, box.width())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
        painter.restore()


class _CellDelegate(QtWidgets.QStyledItemDelegate):
    """Paints a cell: its number and note, and below them the interval as a bar, with a mark at the figure."""

    def paint(self, painter: QPainter, option: QtWidgets.QStyleOptionViewItem, index: Index) -> None:
        shown: CellShown = index.data(SHOWN_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(1, 1, -1, -1)
        fill = theme().color("panel") if shown.strength is None else ground(shown.strength)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(box, 4, 4)
        colour = theme().color("text-faint") if shown.strength is None else ink(fill)
        self._paint_words(painter, option, shown, colour)
        if shown.strength is not None:
            _paint_bar(painter, box, shown, colour)
        if option.state & (
            QtWidgets.QStyle.StateFlag.State_Selected | QtWidgets.QStyle.StateFlag.State_HasFocus
        ):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme().color("text"), 2))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.restore()

    def _paint_words(
        self, painter: QPainter, option: QtWidgets.QStyleOptionViewItem, shown: CellShown, colour: QColor
    ) -> None:
        small, bold = smaller(option.font, 1.5), QFont(option.font)
        bold.setWeight(QFont.Weight.DemiBold)
        inside = option.rect.adjusted(SIDE, 0, -SIDE, -6 if shown.strength is not None else 0)
        painter.setPen(colour)
        painter.setFont(bold)
        painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown.words)
        room = inside.width() - QFontMetrics(bold).horizontalAdvance(shown.words) - 8
        painter.setFont(small)
        if QFontMetrics(small).horizontalAdvance(shown.note) <= room:
            painter.drawText(inside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown.note)


def _paint_bar(painter: QPainter, box: QRectF, shown: CellShown, colour: QColor) -> None:
    left, width, y = box.left() + SIDE - 1, box.width() - 2 * SIDE + 2, box.bottom() - 6
    faint = QColor(colour)
    faint.setAlphaF(0.22)
    painter.setPen(QPen(faint, 1))
    painter.drawLine(QLineF(left, y, left + width, y))
    painter.setPen(Qt.PenStyle.NoPen)
    faint.setAlphaF(0.6)
    painter.setBrush(faint)
    painter.drawRoundedRect(
        QRectF(left + shown.low * width, y - 1.5, max((shown.high - shown.low) * width, 2), 3), 1.5, 1.5
    )
    painter.setBrush(colour)
    painter.drawRect(QRectF(left + shown.at * width - 1, y - 3.5, 2, 7))


def ground(strength: float) -> QColor:
    """The colour of a cell: a mixture of the panel's and the chart's colours, by a strength of 0 to 1."""
    panel, full = _rgb(theme().color("panel")), _rgb(theme().color("chart-main"))
    share = MIN_STRENGTH + strength * (MAX_STRENGTH - MIN_STRENGTH)
    mixed = (a + (b - a) * share for a, b in zip(panel, full))
    return QColor.fromRgbF(*mixed)


def ink(on: QColor) -> QColor:
    """Black or white: one of them has a contrast of 4.5:1 on any colour, unlike the theme's text colours."""
    return max((QColor("black"), QColor("white")), key=lambda colour: contrast(colour, on))


def contrast(one: QColor, other: QColor) -> float:
    """The contrast ratio as in WCAG, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()


def _luminance(colour: QColor) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


SCENARIO, ARM, TRIAL, VERDICT, REASON, TOKENS, TEXT = range(7)
PORTION = 200
"""Number of rows that a view gets at a time."""
MAX_LENGTH = 200
"""Characters of a text in a row: more than any screen shows in a line."""
TIP = 1200
"""The maximum number of characters of a text in a hint."""


class EvalRunsModel(TableModel[Sample]):
    """Reads the samples without copying them. Views request the next portion when they need it."""

    speaks_titles = True
    titles = (
        tr("Scenario"),
        tr("Configuration"),
        tr("Trial"),
        tr("Verdict"),
        tr("Reason"),
        tr("Tokens"),
        tr("Text"),
    )
    figures = frozenset({TRIAL, TOKENS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = 0
        self._same: frozenset[int] = frozenset()
        self._labels: dict[str, str] = {}

    def show(self, samples: Sequence[Sample], labels: dict[str, str]) -> None:
        self.beginResetModel()
        self._rows, self._labels = samples, labels
        self._shown = min(PORTION, len(samples))
        cells = samples.cells if isinstance(samples, CellSamples) else samples
        scenarios = {(cell.suite, cell.scenario) for cell in cells}
        arms = {cell.arm for cell in cells}
        self._same = frozenset(
            column for column, values in ((SCENARIO, scenarios), (ARM, arms)) if len(values) == 1
        )
        self.endResetModel()

    def all_same(self, column: int) -> bool:
        """Whether all runs have the same scenario, or the same arm."""
        return column in self._same

    # -- Qt ----------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else self._shown

    def canFetchMore(self, parent: Index = NO_INDEX) -> bool:
        return not parent.isValid() and self._shown < len(self._rows)

    def fetchMore(self, parent: Index = NO_INDEX) -> None:
        more = min(PORTION, len(self._rows) - self._shown)
        if more > 0 and not parent.isValid():
            self.beginInsertRows(NO_INDEX, self._shown, self._shown + more - 1)
            self._shown += more
            self.endInsertRows()

    # -- the cells ---------------------------------------------------------------------------------------------

    def words(self, row: Sample, column: int) -> str:
        return (
            row.scenario,
            self._labels.get(row.arm, row.arm),
            str(row.trial),
            verdict_words(row),
            why_words(row),
            f"{row.decoded:,}",
            " ".join(row.text[:MAX_LENGTH].split()),
        )[column]

    def tip(self, row: Sample, column: int) -> str:
        if column == TEXT:
            return shorten(row.text, TIP)
        if column == SCENARIO:
            return row.scenario
        if column == REASON:
            lines = (f"{REASON_WORDS[each.reason]}. {each.detail}".strip()[:TIP] for each in row.failures)
            return "\n".join(lines)
        return ""

    def color(self, row: Sample, column: int) -> str:
        if column == VERDICT:
            return "holds" if row.ok else "impossible" if row.answered else "text-muted"
        return "text" if column in (SCENARIO, TEXT) else "text-muted"


MIN_TEXT = 20
"""Characters of the text that stay visible if others can be hidden or shortened."""
GIVES_WAY = ((), (TOKENS,), (TOKENS, ARM), (TOKENS, ARM, TRIAL))
"""The sets of columns to hide, as the room shrinks."""
SAME = (SCENARIO, ARM)
"""Columns that are hidden if all runs have the same value, which the heading then shows."""


class EvalRuns(PlainTable):
    """`openRequested` carries the Sample whose run is requested."""

    openRequested = Signal(object)

    def __init__(self, model: EvalRunsModel, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(model, stretch=TEXT, parent=parent)
        self._runs = model
        keys = tr("Enter opens a run in the playground, at the token where it failed.")
        named(self, "evalRuns", tr("Runs"), description=keys)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        for column, widest in (
            (SCENARIO, "missing_workspace_id"), (ARM, WIDEST_ARM), (TRIAL, "10"),
            (VERDICT, tr("– no answer")), (REASON, WIDEST_REASON), (TOKENS, "1,024"),
        ):  # fmt: skip
            self.fit_column(column, widest)
        self.horizontalHeader().setSectionResizeMode(TEXT, QtWidgets.QHeaderView.ResizeMode.Stretch)
        self.on_open(lambda index: self.openRequested.emit(model.row(index.row())))
        model.modelReset.connect(self._divide)

    def choose(self, row: int) -> None:
        self.setCurrentIndex(self._runs.index(row, 0))

    def _fit(self) -> None:
        same = {column for column in SAME if self._runs.all_same(column)}
        room = self.viewport().width() - MIN_TEXT * self.fontMetrics().averageCharWidth()
        widths = {column: self.fitted_width(column) for column in range(TEXT)}
        need = sum(width for column, width in widths.items() if column not in same)
        hidden = next(
            (h for h in GIVES_WAY if need - sum(widths[c] for c in h if c not in same) <= room),
            GIVES_WAY[-1],
        )
        for column in range(TEXT):
            self.setColumnHidden(column, column in hidden or column in same)
        over = need - sum(widths[c] for c in hidden if c not in same) - room
        for column in (REASON, SCENARIO):  # the hint on a run has the whole words
            if not self.isColumnHidden(column):
                self.setColumnWidth(column, max(widths[column] - max(over, 0), 1))
                over -= widths[column] - self.columnWidth(column)
