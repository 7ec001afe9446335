"""A table without lines, with rows of one height and columns as wide as their texts; and a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QListView, QTableView, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.theme.sizes import ROW

MIN_NAME = 16
"""Characters that the stretched column keeps if others can be hidden."""
CELL = 22
"""The width of a cell without its text, in pixels."""


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
        self._letters = self.fontMetrics().height()
        self._stretched = stretch
        self._optional: tuple[int, ...] = ()
        """Columns that are hidden in this order if there is too little room."""
        self.setModel(model)
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
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)
        self.fit_rows()

    def fit_rows(self, extra: int = ROW, least: int = 0) -> None:
        """Make rows as high as their text and a margin; at least `least` rows stay visible."""
        self._extra, self._least = extra, least
        self.verticalHeader().setDefaultSectionSize(QFontMetrics(self.font()).height() + extra)
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if not self._least:
            return hint
        return QSize(hint.width(), self.height_of(min(self._least, self.model().rowCount())))

    def height_of(self, rows: int) -> int:
        """Return the height of the titles and that many rows, in pixels."""
        titles = self.horizontalHeader()
        head = 0 if titles.isHidden() else titles.sizeHint().height()
        return head + rows * self.verticalHeader().defaultSectionSize()

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

    def fitted_width(self, column: int) -> int:
        """The width of a fitted column in pixels, also while it is hidden."""
        title = str(self.model().headerData(column, Qt.Orientation.Horizontal) or "")
        metrics = QFontMetrics(self.font())
        return max(map(metrics.horizontalAdvance, (self._fitted_to[column], title))) + CELL

    def give_way(self, *columns: int) -> None:
        """Hide these columns, in this order, if the stretched one would be narrower than a name."""
        self._optional = columns
        self._hide_optional()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._optional:
            self._hide_optional()
        self._fit()

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

    def fit_again(self) -> None:
        """Apply the sizes that depend on the font."""
        self.fit_rows(self._extra, self._least)
        for column, widest in self._fitted_to.items():
            self.fit_column(column, widest)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.fontMetrics().height() != self._letters:
            self._letters = self.fontMetrics().height()
            self.fit_again()
            self._hide_optional()


class WholeTable(PlainTable):
    """As high as all its rows: the surrounding column scrolls."""

    def __init__(self, model: QAbstractItemModel, stretch: int, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch, parent)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        model.modelReset.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        rows = sum(self.rowHeight(row) for row in range(self.model().rowCount()))
        return QSize(220, self.height_of(0) + rows + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())


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
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
