"""Short lists of texts of a grammar: texts whose result an edit changed, and random samples."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QWidget

from glyphscope_gui.shared.cells import TextDelegate, WordsDelegate
from glyphscope_gui.shared.labels import PlainLabel, named, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.menus import pop_up
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel


class _Rows(TableModel[tuple[str, str]]):
    titles = ("", "")

    def words(self, row: tuple[str, str], column: int) -> str:
        shown = row[column].replace("\n", "⏎").replace("\t", "→")
        return shown if shown or not column else tr("(empty text)")

    def tip(self, row: tuple[str, str], column: int) -> str:
        tip = tr("Click to step through.")
        return f"{row[column]}\n{tip}" if column else row[column]

    def color(self, row: tuple[str, str], column: int) -> str:
        return "" if column else "text-muted"


class _TextTable(PlainTable):
    """Rows as high as their wrapped texts, which are as wide as there is room, also beside a scroll bar."""

    def __init__(self, model: _Rows, parent: QWidget) -> None:
        super().__init__(model, stretch=1, parent=parent)
        self._texts = model
        self.setWordWrap(True)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setItemDelegateForColumn(0, WordsDelegate(self))
        self.setItemDelegateForColumn(1, TextDelegate(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        model.modelReset.connect(self._fit)

    def _fit(self) -> None:
        widest = self.widest(0)
        self.setColumnHidden(0, not widest)
        first = widest + 18 if widest else 0
        self.setColumnWidth(0, first)
        self.setColumnWidth(1, max(self.viewport().width() - first, 60))
        for row in range(self._texts.rowCount()):
            self.resizeRowToContents(row)
        self.updateGeometry()


class GrammarTexts(QWidget):
    """Texts with a word before each, or a sentence if there are none.

    `stepRequested` carries a text that was chosen, `exampleRequested` one to keep and whether it must match.
    """

    stepRequested = Signal(str)
    exampleRequested = Signal(str, bool)

    def __init__(self, name: str, accessible: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = _Rows()
        self.table = named(_TextTable(self.model, self), name, accessible)
        self.model.setParent(self.table)
        self.words = PlainLabel(self, role="hint", wordWrap=True)
        self.words.setContentsMargins(8, 4, 8, 4)
        column = vbox(self.words, (self.table, 1), parent=self, spacing=4)
        column.addStretch(0)
        column.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.table.clicked.connect(self._chosen)
        self.table.activated.connect(self._chosen)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    def show_rows(self, rows: Sequence[tuple[str, str]], words: str = "") -> None:
        """Show `words`, and below them rows of a word and a text each."""
        self.model.show_rows(list(rows))
        show_words(self.words, words)
        self.table.setVisible(bool(rows))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = sum(self.table.rowHeight(row) for row in range(self.model.rowCount()))
        return QSize(260, rows + (self.words.sizeHint().height() if self.words.isVisible() else 0) + 6)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = self.table.viewport().mapFromGlobal(event.globalPos())
        index = self.table.indexAt(place)
        if not index.isValid():
            return
        text = self.model.rows[index.row()][1]
        pop_up(
            QMenu(self),
            event.globalPos(),
            (tr("Step through"), lambda: self.stepRequested.emit(text)),
            (tr("Add as an example that must match"), lambda: self.exampleRequested.emit(text, True)),
            (tr("Add as an example that must not match"), lambda: self.exampleRequested.emit(text, False)),
        )

    def _chosen(self, index: QModelIndex) -> None:
        self.stepRequested.emit(self.model.rows[index.row()][1])
