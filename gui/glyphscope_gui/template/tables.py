"""The tables of the page: rows of words and model text that wrap, each with a tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.grammar_cells import SIDE, PillDelegate, WordsDelegate, paint_ground
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, PlainTable
from glyphscope_gui.shared.table_model import PILL_ROLE, Index, TableModel
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.fonts import smaller
from glyphscope_gui.theme.sizes import ROW

NOTE_ROLE = Qt.ItemDataRole.UserRole + 3
"""The words below a text."""
MOST_LINES = 8


class FormDelegate(QStyledItemDelegate):
    """Both wrap, over at most a few lines each."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_ground(painter, option)
        layouts = _laid_out(option, index)
        painter.save()
        painter.setClipRect(option.rect)
        y = option.rect.top() + max((option.rect.height() - _height(layouts)) / 2, 2)
        for layout, role in zip(layouts, ("text", "text-muted")):
            painter.setPen(theme().color(role))
            layout.draw(painter, QPointF(option.rect.left() + SIDE, y))
            y += _height([layout])
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(option.rect.width(), round(_height(_laid_out(option, index))) + ROW)


def _laid_out(option: QStyleOptionViewItem, index: Index) -> list[QTextLayout]:
    width = (option.rect.width() if option.rect.width() > 40 else 240) - 2 * SIDE
    text, note = str(index.data() or ""), str(index.data(NOTE_ROLE) or "")
    return [_layout(text, mono_font(-1), width), _layout(note, smaller(option.font), width)]


def _layout(text: str, font: QFont, width: float) -> QTextLayout:
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    y = 0.0
    for _ in range(MOST_LINES if text else 0):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(width, 20))
        line.setPosition(QPointF(0, y))
        y += line.height()
    layout.endLayout()
    return layout


def _height(layouts: list[QTextLayout]) -> float:
    return sum(layout.lineAt(line).height() for layout in layouts for line in range(layout.lineCount()))


class Cell(NamedTuple):
    """What is in a cell. `pill` is the theme's role of a pill with the words, `note` are quieter words below them."""

    words: str
    tip: str = ""
    pill: str = ""
    note: str = ""


Row = Sequence[Cell]


class RowsModel(TableModel[Row]):
    """`show` puts other rows in the table; a subclass says what the columns are."""

    def show(self, rows: Sequence[Row]) -> None:
        self.show_rows(rows)

    def words(self, row: Row, column: int) -> str:
        return "" if row[column].pill else row[column].words

    def spoken(self, row: Row, column: int) -> str:
        return f"{row[column].words} {row[column].note}".strip()

    def tip(self, row: Row, column: int) -> str:
        return row[column].tip or row[column].words

    def extra(self, row: Row, column: int, role: int) -> Any:
        cell = row[column]
        if role == PILL_ROLE:
            return (cell.words, cell.pill) if cell.pill else None
        return cell.note if role == NOTE_ROLE else None


class SlotsModel(RowsModel):
    titles = (tr("Slot"), tr("Text"), tr("Derived from"))
    tips = (
        tr("A part of the form of a turn"),
        tr("⏎ is a line feed; words in capitals are placeholders"),
        tr("The pairs of renderings that show the slot, and the corrections that apply"),
    )


class MarkersModel(RowsModel):
    titles = (tr("Marker"), tr("Kind"), tr("Token ids"))
    tips = (
        tr("A fixed text of the form"),
        tr("A special token, which text cannot produce, or text tokens"),
        tr("The token ids of the marker in this vocabulary"),
    )


class ThinkingModel(RowsModel):
    titles = (tr("Thinking"), tr("The prompt ends with"), tr("Reasoning"))
    tips = (
        tr("The switch for thinking in the template: on, off, or not given"),
        tr("The model continues from here"),
        tr("Whether the prompt opens or closes the reasoning, or leaves it to the model"),
    )


class HistoryModel(RowsModel):
    titles = (tr("Part of a conversation"), tr("The template"))
    tips = (
        tr("Contents of earlier turns"),
        tr("Dropped: not rendered, without an error. Rejected: the template raises an error"),
    )


class NotesModel(RowsModel):
    titles = (tr("Kind"), tr("Note"))
    tips = ("", "")


class ValuesModel(RowsModel):
    titles = (tr("Kind of value"), tr("Round trip"), tr("Example"))
    tips = (
        tr("Rendered as an argument and parsed again"),
        tr("Whether the parsed value is identical"),
        tr("The value and, if different, the parsed value"),
    )


class ReadersModel(RowsModel):
    titles = (tr("Parser"), tr("Accepts"), tr("Calls"), tr("Deviation"))
    tips = (
        tr("The form, strict or lenient, and the notations of other models"),
        tr("Whether the parser accepts the answer or finds a call in it"),
        tr("The calls found"),
        tr("The first character that deviates from the form of this parser"),
    )


class RowsTable(PlainTable):
    """`mono` are columns of model text, `pills` of pills; all others are words. `shares` are of the width, 0 for as
    wide as it needs.
    """

    def __init__(
        self,
        model: RowsModel,
        name: str,
        shares: Sequence[float],
        *,
        mono: frozenset[int] = frozenset(),
        pills: frozenset[int] = frozenset(),
        parent: QWidget | None = None,
    ) -> None:
        self.rows = model
        self._shares = shares
        super().__init__(model, stretch=len(shares) - 1, parent=parent)
        model.setParent(self)
        self.setAccessibleName(name)
        self.setWordWrap(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for column in range(len(shares)):
            kind = FormDelegate if column in mono else PillDelegate if column in pills else WordsDelegate
            self.setItemDelegateForColumn(column, kind(self))
        model.modelReset.connect(self._fit)

    def show_rows(self, rows: Sequence[Row]) -> None:
        self.rows.show(rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def fit_again(self) -> None:
        super().fit_again()
        self._fit()

    def _fit(self) -> None:
        """Columns by their shares, and rows as high as their words."""
        room = self.viewport().width()
        fixed = {column: self._needed(column) for column, share in enumerate(self._shares) if not share}
        left = max(room - sum(fixed.values()), 0)
        whole = sum(self._shares) or 1
        for column, share in enumerate(self._shares):
            self.setColumnWidth(column, fixed[column] if column in fixed else int(left * share / whole))
        self.resizeRowsToContents()

    def _needed(self, column: int) -> int:
        metrics, model = self.fontMetrics(), self.rows
        words = [str(model.headerData(column, Qt.Orientation.Horizontal) or "")]
        words += [
            str(model.data(model.index(row, column), Qt.ItemDataRole.AccessibleTextRole))
            for row in range(min(model.rowCount(), 60))
        ]
        return max(map(metrics.horizontalAdvance, words)) + CELL + 6


def on_one_line(text: str) -> str:
    """A text of a template with its line ends as signs."""
    return visible(text, lines=True).replace("\n", "⏎")
