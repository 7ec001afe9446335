"""A table without lines, with rows of one height and columns as wide as their texts; a list, and a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QListView, QTableView, QTreeView, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.table_model import MAX_TITLE, PILL_ROLE
from glyphscope_gui.shared.verdict import pill_font
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import ROW

MIN_NAME = 16
"""Characters that the stretched column keeps if others can be hidden."""
CELL = 22
"""The width of a cell without its text, in pixels."""
MIN_CELL = 8
"""Characters that the stretched column keeps at least: a narrower table scrolls horizontally."""

MEASURED = 100
"""Rows whose texts are measured for the width of a column."""

_Mode = QHeaderView.ResizeMode
_NO_BAR = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class PlainTable(QTableView):
    """`stretch` is the column that takes the remaining width. The sizes follow the font.

    `menuRequested` carries the screen position of a row's menu, once `offer_menus` was called.
    """

    menuRequested = Signal(QPoint)

    def __init__(self, model: QAbstractItemModel, stretch: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._least = 0
        """Rows that stay visible."""
        self._extra = ROW
        """Pixels of a row's height in addition to its text."""
        self._open_row: Callable[[QModelIndex], object] | None = None
        self._fitted_to: dict[int, str] = {}
        """By column, the widest text to which it was fitted."""
        self._title_widths: dict[str, int] = {}
        """By title, once the table is shown: Qt asks the model six times for each."""
        self._widest: dict[tuple[int, int], int] = {}
        """By column and number of rows, until the rows or the font change."""
        self._letters = self.fontMetrics().height()
        self._refits = False
        """Whether the sizes are to be applied again after the next change of style: the titles get their font then."""
        self._stretched = stretch
        self._optional: tuple[int, ...] = ()
        """Columns that are hidden in this order if there is too little room."""
        self._scrolls = False
        """Whether it scrolls horizontally."""
        self.setModel(model)
        for rows_changed in (
            model.dataChanged, model.modelReset, model.layoutChanged, model.rowsInserted, model.rowsRemoved,
            model.rowsMoved,
        ):  # fmt: skip
            rows_changed.connect(self._widest.clear)
        self.horizontalScrollBar().rangeChanged.connect(self._show_scrolls)
        self._nothing = ""
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(10)
        head = self.horizontalHeader()
        head.setTextElideMode(Qt.TextElideMode.ElideRight)
        head.setHighlightSections(False)
        head.setSectionsClickable(False)
        head.setMinimumSectionSize(24)
        head.setSectionResizeMode(_Mode.Interactive)
        head.setSectionResizeMode(stretch, _Mode.Stretch)
        self.fit_rows()

    def show_nothing(self, words: str) -> None:
        """Set the words in place of rows, while there are none."""
        if words != self._nothing:
            self._nothing = words
            self.setAccessibleDescription(words)
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._nothing and not self.model().rowCount():
            painter = QPainter(self.viewport())
            painter.setPen(theme().color("text-muted"))
            box = self.viewport().rect().adjusted(CELL // 2, 8, -CELL // 2, -8)
            painter.drawText(box, int(Qt.TextFlag.TextWordWrap), self._nothing)

    def fit_rows(self, extra: int = ROW, least: int = 0) -> None:
        """Make rows as high as their text and a margin; at least `least` rows stay visible."""
        self._extra, self._least = extra, least
        self.verticalHeader().setDefaultSectionSize(QFontMetrics(self.font()).height() + extra)
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if not self._least:
            return QSize(hint.width(), max(hint.height(), self.height_of(1)))
        return QSize(hint.width(), self.height_of(min(self._least, self.model().rowCount())))

    def height_of(self, rows: int) -> int:
        """Return the height of the titles, that many rows, and the scroll bar below them if there is one, in pixels."""
        titles = self.horizontalHeader()
        head = 0 if titles.isHidden() else titles.sizeHint().height()
        bar = self.horizontalScrollBar().sizeHint().height() if self._scrolls else 0
        return head + rows * self.verticalHeader().defaultSectionSize() + bar

    def _show_scrolls(self, _least: int, most: int) -> None:
        if self._scrolls != (most > 0):
            self._scrolls = most > 0
            self.updateGeometry()

    def fix_height(self, most: int) -> None:
        """Make the table high enough for all its rows, at most for `most` rows."""
        self.setFixedHeight(self.height_of(min(self.model().rowCount(), most)) + ROW)

    def selected(self) -> int:
        """The index of the selected row; -1 for none."""
        return next((index.row() for index in self.selectionModel().selectedRows()), -1)

    def offer_menus(self) -> None:
        """Emit `menuRequested` on a right click, for the row there."""
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._ask_for_menu)

    def _ask_for_menu(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid():
            self.setCurrentIndex(index)
            self.menuRequested.emit(self.viewport().mapToGlobal(place))

    def on_open(self, do: Callable[[QModelIndex], object]) -> None:
        """Call `do` with the row on which Enter is pressed, or which is double-clicked."""
        self._open_row = do
        self.doubleClicked.connect(do)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and self._open_row is not None and self.currentIndex().isValid():
            self._open_row(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def fit_column(self, column: int, widest: str) -> None:
        """Make a column wide enough for its title and the widest expected text."""
        self._fitted_to[column] = widest
        self.setColumnWidth(column, self.fitted_width(column))

    def least_width(self, column: int) -> int:
        """The minimum width of a column in pixels: that of its title."""
        return self.title_width(column)

    def title_width(self, column: int) -> int:
        """The width in pixels below which a column's title, or its first `MAX_TITLE` letters, would be cut off; the
        same while the column is hidden, so that what it decides does not change with what it decided before.
        """
        head = self.horizontalHeader()
        title = str(self.model().headerData(column, Qt.Orientation.Horizontal) or "")
        if head.isHidden() or not title:
            return 0
        if title not in self._title_widths:
            # `sectionSizeHint` is 0 while the column is hidden
            whole = head.sectionSizeFromContents(column).width() if len(title) <= MAX_TITLE else 0
            letters = QFontMetrics(self.font()).horizontalAdvance(title[:MAX_TITLE]) + CELL
            width = max(whole, letters, head.minimumSectionSize())
            if not self.isVisible():  # its style may change
                return width
            self._title_widths[title] = width
        return self._title_widths[title]

    def setColumnWidth(self, column: int, width: int) -> None:
        """Set a column's width, at least that of its title; 0 hides it."""
        super().setColumnWidth(column, max(width, self.least_width(column)) if width else 0)

    def setColumnHidden(self, column: int, hide: bool) -> None:
        """Hide or show a column, as wide as its title: the header knows no width of a hidden one."""
        super().setColumnHidden(column, hide)
        if not hide and 0 < self.columnWidth(column) < self.least_width(column):
            self.setColumnWidth(column, self.least_width(column))

    def fitted_width(self, column: int) -> int:
        """The width of a fitted column in pixels, also while it is hidden."""
        widest = QFontMetrics(self.font()).horizontalAdvance(self._fitted_to[column]) + CELL
        return max(widest, self.title_width(column))

    def widest(self, column: int, rows: int = MEASURED) -> int:
        """The width in pixels of the widest text or pill in the first rows of a column; 0 without rows."""
        if (column, rows) not in self._widest:
            indices = [self.model().index(row, column) for row in range(min(self.model().rowCount(), rows))]
            letters, pills = self.fontMetrics(), QFontMetrics(pill_font(self.font()))
            texts = (letters.horizontalAdvance(str(index.data() or "")) for index in indices)
            pill = (pills.horizontalAdvance((index.data(PILL_ROLE) or ("",))[0]) for index in indices)
            self._widest[column, rows] = max((*texts, *pill), default=0)
        return self._widest[column, rows]

    def give_way(self, *columns: int) -> None:
        """Hide these columns, in this order, if the stretched one would be narrower than a name."""
        self._optional = columns
        self._hide_optional()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide()

    def _divide(self) -> None:
        """Divide the width among the columns, of which none is narrower than its title."""
        head = self.horizontalHeader()
        for column in range(head.count()):
            least = self.title_width(column) if column in self._fitted_to else self.least_width(column)
            if column != self._stretched and 0 < head.sectionSize(column) < least:
                self.setColumnWidth(column, least)
        self._fit()
        if self._optional:
            self._hide_optional()
        self._keep_stretched()

    def _fit(self) -> None:
        """Called after each change of the size or the font; override to divide the width differently."""

    def _hide_optional(self) -> None:
        head = self.horizontalHeader()
        for column in self._optional:
            head.showSection(column)  # a hidden column has no size
        others = [column for column in range(head.count()) if column != self._stretched]
        room = self.viewport().width() - sum(head.sectionSize(column) for column in others)
        least = MIN_NAME * self.fontMetrics().averageCharWidth()
        for column in self._optional:
            if room >= least:
                break
            room += head.sectionSize(column)
            head.hideSection(column)

    def share(self, room: int, shares: Mapping[int, float]) -> None:
        """Divide `room` pixels among these columns by their shares; each keeps at least the width of its title."""
        whole = sum(shares.values())
        for column in sorted(shares, key=lambda column: shares[column] / max(self.least_width(column), 1)):
            self.setColumnWidth(column, max(int(room * shares[column] / whole), 1))
            room, whole = room - self.columnWidth(column), whole - shares[column]

    def _keep_stretched(self) -> None:
        """Stretch the column that takes the remaining width, unless it would have none: then the table scrolls."""
        head = self.horizontalHeader()
        before = head.sectionResizeMode(self._stretched)
        if before not in (_Mode.Stretch, _Mode.Interactive):
            return  # a subclass divides the width
        others = sum(head.sectionSize(column) for column in range(head.count()) if column != self._stretched)
        least = max(self.least_width(self._stretched), MIN_CELL * self.fontMetrics().averageCharWidth())
        fits = self.viewport().width() - others >= least
        mode = _Mode.Stretch if fits else _Mode.Interactive
        if mode != before:  # the same mode would also measure and paint the titles again
            head.setSectionResizeMode(self._stretched, mode)
        if not fits and not head.isSectionHidden(self._stretched):  # as it scrolls, a name has room
            name = min(self.widest(self._stretched) + CELL, MIN_NAME * self.fontMetrics().averageCharWidth())
            self.setColumnWidth(self._stretched, max(least, name))

    def fit_again(self) -> None:
        """Apply the sizes that depend on the font."""
        self.fit_rows(self._extra, self._least)
        for column, widest in self._fitted_to.items():
            self.fit_column(column, widest)
        self._divide()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._title_widths.clear()
            self._widest.clear()
            resized = self.fontMetrics().height() != self._letters
            if resized or self._refits:
                self._letters = self.fontMetrics().height()
                self._refits = event.type() == QEvent.Type.FontChange
                self.fit_again()


class WholeTable(PlainTable):
    """As high as all its rows: the surrounding column scrolls."""

    def __init__(self, model: QAbstractItemModel, stretch: int, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch, parent)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        model.modelReset.connect(self.updateGeometry)

    def least_width(self, column: int) -> int:
        return 0  # nothing scrolls horizontally

    def _keep_stretched(self) -> None:
        """Nothing scrolls horizontally."""

    def sizeHint(self) -> QSize:
        rows = sum(self.rowHeight(row) for row in range(self.model().rowCount()))
        return QSize(220, self.height_of(0) + rows + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())


MOST_EMPTY = 3
"""Lines of text that a place of whole rows leaves empty; of a higher row, it shows a part."""


class WholeRows(QWidget):
    """The place of a table, list or tree: it ends with a whole row, not with a part of one."""

    def __init__(
        self, view: QAbstractItemView, parent: QWidget | None = None, *, flexible: bool = False
    ) -> None:
        """`flexible`: it asks for no more than its least rows, so that a page does not scroll for it."""
        super().__init__(parent)
        self._view, self._flexible, self._is_empty = view, flexible, False
        view.setParent(self)
        view.installEventFilter(self)
        view.horizontalScrollBar().rangeChanged.connect(self._fit)
        if isinstance(view, QTableView):
            view.horizontalHeader().geometriesChanged.connect(self._fit)
        for rows_changed in (view.model().modelReset, view.model().rowsInserted, view.model().rowsRemoved):
            rows_changed.connect(self.updateGeometry)
            rows_changed.connect(self._fit)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint() if self._flexible else self._view.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._view.minimumSizeHint().expandedTo(self._view.minimumSize())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # such as of rows with another height
            self._fit()
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A view that is hidden takes no room."""
        hides = event.type() == QEvent.Type.HideToParent
        if hides or (event.type() == QEvent.Type.ShowToParent and self._is_empty):
            self._is_empty = hides
            self.setHidden(hides)
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self, *_what: object) -> None:
        view, bar = self._view, self._view.horizontalScrollBar()
        head = view.horizontalHeader() if isinstance(view, QTableView) else None
        head = view.header() if isinstance(view, QTreeView) else head
        above = head.height() if head is not None and not head.isHidden() else 0
        scrolls = bar.maximum() > 0 and view.horizontalScrollBarPolicy() != _NO_BAR
        room = self.height() - above - (bar.sizeHint().height() if scrolls else 0)
        used = 0
        for height in self._heights():
            if used + height > room:
                break
            used += height
        else:
            used = 0
        cut = room - used if used else 0
        is_tall = cut > MOST_EMPTY * view.fontMetrics().height()
        view.setGeometry(0, 0, self.width(), self.height() - (0 if is_tall else cut))

    def _heights(self) -> Iterator[int]:
        """The heights of the rows, from the first one on; a view with rows of one height has as many as fit."""
        view, model = self._view, self._view.model()
        if isinstance(view, QTableView):
            return (view.rowHeight(row) for row in range(model.rowCount()))
        if isinstance(view, QListView) and not view.uniformItemSizes():
            return (view.visualRect(model.index(row, 0)).height() for row in range(model.rowCount()))
        same = view.visualRect(model.index(0, 0)).height()
        return repeat(same) if same > 0 else iter(())


class LongList(PlainTable):
    """A list of any number of rows: a QListView asks its model for each of them whenever it is laid out."""

    def __init__(
        self,
        model: QAbstractItemModel,
        name: str,
        words: str,
        parent: QWidget | None = None,
        *,
        description: str = "",
    ) -> None:
        super().__init__(model, 0, parent)
        named(self, name, words, description=description)
        self.horizontalHeader().hide()
        self.setHorizontalScrollBarPolicy(_NO_BAR)


class PlainList(QListView):
    """A list without a frame, with read-only rows; it scrolls by pixels, and never horizontally.

    `words` are the accessible name, `options` Qt's properties.
    """

    def __init__(
        self,
        model: QAbstractItemModel,
        name: str,
        words: str,
        parent: QWidget | None = None,
        *,
        description: str = "",
        **options: Any,
    ) -> None:
        super().__init__(parent, **options)
        named(self, name, words, description=description)
        self.setModel(model)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(_NO_BAR)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)


class PlainTree(QTreeView):
    """A tree without a frame, with read-only rows of one height; it scrolls by pixels, and never horizontally.

    Without titles, `stretch` is None; otherwise it is the column that takes the remaining width, and the others are as
    wide as their texts. `words` are the accessible name.
    """

    def __init__(
        self,
        model: QAbstractItemModel,
        name: str,
        words: str,
        parent: QWidget | None = None,
        *,
        description: str = "",
        indent: int,
        stretch: int | None = None,
    ) -> None:
        super().__init__(parent)
        named(self, name, words, description=description)
        self.setModel(model)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setIndentation(indent)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(_NO_BAR)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHeaderHidden(stretch is None)
        self.header().setStretchLastSection(False)
        self.header().setMinimumSectionSize(24)
        self.header().setSectionResizeMode(_Mode.ResizeToContents)
        self.header().setSectionResizeMode(stretch or 0, _Mode.Stretch)
