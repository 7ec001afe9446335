"""A list to tick in, with a note at the right of each line; files can be dropped on it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope_gui.evaluate.ticks_model import NOTE_ROLE, TicksModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.fonts import smaller

BESIDE = 52
"""Pixels of a line that are neither words nor note."""

LEAST_ROWS = 3
"""In sight, as far as there are so many."""


class _TickDelegate(QStyledItemDelegate):
    """The note in the muted colour; the words give way to it."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        metrics = QFontMetrics(option.font)
        note = metrics.horizontalAdvance(_note(option, index))
        room = option.rect.width() - note - BESIDE
        option.text = metrics.elidedText(option.text, Qt.TextElideMode.ElideMiddle, max(room, 40))
        option.state &= ~QStyle.StateFlag.State_HasFocus

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        painter.save()
        painter.setFont(smaller(option.font))
        painter.setPen(theme().color("text-muted"))
        box = option.rect.adjusted(0, 0, -8, 0)
        painter.drawText(
            box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _note(option, index)
        )
        painter.restore()


def _note(option: QStyleOptionViewItem, index: Index) -> str:
    """The note; where there is no room for it beside the words, its number alone."""
    note, metrics = str(index.data(NOTE_ROLE) or ""), QFontMetrics(option.font)
    need = metrics.horizontalAdvance(str(index.data() or "")) + metrics.horizontalAdvance(note) + BESIDE
    if need <= option.rect.width():
        return note
    return note.split(" ")[0] if note[:1].isdigit() else ""


class TickList(QListView):
    """`dropped` carries the paths of files with one of the `endings`; one that is `fitted` is as high as its rows."""

    dropped = Signal(object)

    def __init__(
        self,
        model: TicksModel,
        name: str,
        words: str,
        endings: tuple[str, ...],
        parent: QWidget | None = None,
        *,
        fitted: bool = False,
    ) -> None:
        super().__init__(parent)
        self._endings = endings
        self.setObjectName(name)
        self.setAccessibleName(words)
        self.setAccessibleDescription(tr("Space selects or clears a row."))
        self.setModel(model)
        self.setItemDelegate(_TickDelegate(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setAcceptDrops(True)
        policy = QSizePolicy.Policy.Maximum if fitted else QSizePolicy.Policy.Expanding
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        model.rowsInserted.connect(self.updateGeometry)
        model.rowsRemoved.connect(self.updateGeometry)
        model.modelReset.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), 6)
        return QSize(200, rows * max(self.sizeHintForRow(0), self.fontMetrics().height() + 8) + 8)

    def minimumSizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), LEAST_ROWS)
        return QSize(140, rows * (self.fontMetrics().height() + 8) + 2)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._files(event):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if self._files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = self._files(event)
        if files:
            event.acceptProposedAction()
            self.dropped.emit(files)

    def _files(self, event: QDropEvent) -> list[Path]:
        urls = event.mimeData().urls() if event.mimeData().hasUrls() else []
        paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
        return [path for path in paths if path.suffix.lower() in self._endings]
