"""The tables of the page: their columns, and rows of words and model text that wrap, each with a tip.

`rows.py` makes the rows of an inspection.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from PySide6.QtCore import QModelIndex, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QTextLayout
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.visible import visible
from glyphscope_gui.shared.cells import (
    PILL,
    SIDE,
    PillDelegate,
    WordsDelegate,
    cell_width,
    height_of,
    lay_out_text,
    paint_selection,
)
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import LateWidget
from glyphscope_gui.shared.plain_table import PlainTable, WholeRows
from glyphscope_gui.shared.table_model import PILL_ROLE, Index, TableModel
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.fonts import smaller
from glyphscope_gui.theme.sizes import ROW

NOTE_ROLE = Qt.ItemDataRole.UserRole + 3
"""The role of the words below a text."""
MAX_LINES = 8
"""Lines of a text in a cell."""
MAX_MEASURED = 60
"""Number of rows that are measured for the width of a column without a share."""
MIN_LETTERS = 12
"""Letters for which a column of texts, which wrap, has room."""


class TextColumn(NamedTuple):
    """A column's title and its tip. `share` is its share of the table's width, 0 for the width that it needs.

    `kind`: words of the program, a text of the template in the fixed-pitch font, or a pill.
    """

    title: str
    tip: str = ""
    share: float = 0
    kind: Literal["words", "text", "pill"] = "words"


SLOTS = (
    TextColumn(tr("Part"), tr("A part of the form of a turn")),
    TextColumn(tr("Text"), tr("⏎ is a line feed; words in capitals are placeholders"), 5, "text"),
    TextColumn(
        tr("Derived from"),
        tr("The test cases that show the part: pairs of renderings; and the corrections that apply"),
        3,
    ),
)
MARKERS = (
    TextColumn(tr("Marker"), tr("A fixed text of the form"), 3, "text"),
    TextColumn(tr("Kind"), tr("A special token, which text cannot produce, or text tokens"), 3),
    TextColumn(tr("Token ids"), tr("The token ids of the marker in this vocabulary"), 3, "text"),
)
THINKING = (
    TextColumn(tr("Thinking"), tr("The switch for thinking in the template: on, off, or not given")),
    TextColumn(tr("The prompt ends with"), tr("The model continues from here"), 2, "text"),
    TextColumn(
        tr("Reasoning"),
        tr("Whether the prompt opens or closes the reasoning, or leaves it to the model"),
        1,
    ),
)
NOTES = (TextColumn(tr("Kind"), kind="pill"), TextColumn(tr("Note"), share=1))
LINT = (
    TextColumn(tr("Level"), kind="pill"),
    TextColumn(
        tr("Error"), tr("Parts of the prompt that are lost, left open or rejected, and the consequence"), 3
    ),
    TextColumn(
        tr("Conversations"), tr("Shapes of conversations that show it; select a row to see the first"), 2
    ),
)
COMPARED = (
    TextColumn(tr("Conversation"), tr("A shape of conversations; select a row to see both renderings"), 1),
    TextColumn(tr("Result"), tr("Whether both templates write the same text"), 0, "pill"),
    TextColumn(tr("First difference"), tr("The line and column where the renderings begin to differ"), 1),
)
VARIABLES = (
    TextColumn(tr("Variable"), tr("A name that the template reads and that only a user sets")),
    TextColumn(tr("Value"), tr("A value that the template knows, or a sample of its type"), 2, "text"),
    TextColumn(tr("Change"), tr("The first difference in a prompt, and the conversation"), 4, "text"),
)
VALUES = (
    TextColumn(tr("Kind of value"), tr("Rendered as an argument and parsed again"), 1),
    TextColumn(tr("Round trip"), tr("Whether the parsed value is identical"), 0, "pill"),
    TextColumn(tr("Example"), tr("The value and, if different, the parsed value"), 1, "text"),
)
READERS = (
    TextColumn(tr("Parser"), tr("The form, strict or lenient, and the notations of other models"), 4, "text"),
    TextColumn(tr("Accepts"), tr("Whether the parser accepts the answer or finds a call in it"), 0, "pill"),
    TextColumn(tr("Calls"), tr("The calls found"), 3),
    TextColumn(tr("Deviation"), tr("The first character that deviates from the form of this parser"), 4),
)


class TextCell(NamedTuple):
    """The content of a cell. `pill` is the theme role of a pill with the words, `note` is smaller text below."""

    words: str
    tip: str = ""
    pill: str = ""
    note: str = ""


Row = Sequence[TextCell]
"""A cell for each column of its table."""


def on_one_line(text: str) -> str:
    """A text of a template with its line ends shown as signs."""
    return visible(text, lines=True).replace("\n", "⏎")


class RowsTable(PlainTable):
    """A table of these columns; fill it by `rows.show_rows`. `words` are its accessible name."""

    def __init__(
        self,
        columns: Sequence[TextColumn],
        words: str,
        name: str = "",
        parent: QWidget | None = None,
        rows: RowsModel | None = None,
    ) -> None:
        self.rows = RowsModel(columns) if rows is None else rows
        self._shares = [column.share for column in columns]
        super().__init__(self.rows, stretch=len(columns) - 1, parent=parent)
        self.rows.setParent(self)
        named(self, name, words)
        self.setWordWrap(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for index, column in enumerate(columns):
            self.setItemDelegateForColumn(index, _delegate(column, self))
        self.rows.modelReset.connect(self._fit)

    def _fit(self) -> None:
        """Set the columns' widths by their shares, and the rows' heights by their words."""
        room = self.viewport().width()
        for column, share in enumerate(self._shares):
            if not share:
                self.setColumnWidth(column, self._needed(column))
                room -= self.columnWidth(column)
        shares = {column: share for column, share in enumerate(self._shares) if share}
        least = MIN_LETTERS * self.fontMetrics().averageCharWidth() * len(shares)
        self.share(max(room, least), shares)  # where there is less room, the table scrolls
        self.resizeRowsToContents()
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        """The titles and a row, so that a page in large text scrolls rather than having none."""
        return QSize(super().minimumSizeHint().width(), self.height_of(1))

    def _needed(self, column: int) -> int:
        return max(self.widest(column, MAX_MEASURED) + PILL, self.title_width(column)) + 6


class LateTable(LateWidget[RowsTable]):
    """The place of a RowsTable that is made when it is first seen; its `rows` are filled before.

    `chosen` carries the index of a row that was clicked or selected, `opened` of one that was double-clicked, or on
    which Enter was pressed.
    """

    chosen = Signal(QModelIndex)
    opened = Signal(QModelIndex)

    def __init__(self, columns: Sequence[TextColumn], words: str, name: str = "", *, tip: str = "") -> None:
        super().__init__(partial(self._table, columns, words, name, tip), when_seen=True)
        self.rows = RowsModel(columns)

    def _around(self, made: RowsTable) -> QWidget:
        return WholeRows(made)

    def _table(self, columns: Sequence[TextColumn], words: str, name: str, tip: str) -> RowsTable:
        table = named(RowsTable(columns, words, name, rows=self.rows), tip=tip)
        table.clicked.connect(self.chosen)
        table.selectionModel().currentRowChanged.connect(lambda index, _before: self.chosen.emit(index))
        table.on_open(self.opened.emit)
        return table


def _delegate(column: TextColumn, parent: QWidget) -> QStyledItemDelegate:
    match column.kind:
        case "words":
            return WordsDelegate(parent)
        case "text":
            return FormDelegate(parent)
        case "pill":
            return PillDelegate(parent)


class RowsModel(TableModel[Row]):
    """A model whose columns are set for each table, not by the class."""

    def __init__(self, columns: Sequence[TextColumn]) -> None:
        super().__init__()
        self.titles = [column.title for column in columns]
        self.tips = [column.tip for column in columns]

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


class FormDelegate(QStyledItemDelegate):
    """Paints a text of the template in the fixed-pitch font, with muted words below; both wrap over a few lines."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_selection(painter, option)
        layouts = _lay_out(option, index)
        painter.save()
        painter.setClipRect(option.rect)
        y = option.rect.top() + max((option.rect.height() - sum(map(height_of, layouts))) / 2, 2)
        for layout, role in zip(layouts, ("text", "text-muted")):
            painter.setPen(theme().color(role))
            layout.draw(painter, QPointF(option.rect.left() + SIDE, y))
            y += height_of(layout)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(option.rect.width(), round(sum(map(height_of, _lay_out(option, index)))) + ROW)


def _lay_out(option: QStyleOptionViewItem, index: Index) -> list[QTextLayout]:
    width = cell_width(option) - 2 * SIDE
    texts = (str(index.data() or ""), mono_font(-1)), (str(index.data(NOTE_ROLE) or ""), smaller(option.font))
    return [lay_out_text(text, font, [], width, MAX_LINES if text else 0) for text, font in texts]
