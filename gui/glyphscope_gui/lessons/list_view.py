"""The list of lessons: each with its title in as many lines as it needs, and below it how far one has come."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope_gui.lessons.list_model import DONE_ROLE, FACTS_ROLE, LessonListModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.row_painting import paint_ground
from glyphscope_gui.theme import theme, ui_font

_Index = QModelIndex | QPersistentModelIndex
_MARGIN = 10
_WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
_TALL = 1000


class _Delegate(QStyledItemDelegate):
    """A title and its facts."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        view = option.widget
        width = view.viewport().width() - 2 * _MARGIN - 4 if isinstance(view, QListView) else 200
        return QSize(0, sum(box.height() for box in _boxes(index, max(width, 40))) + 22)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        colors = theme()
        painter.save()
        paint_ground(painter, option, QRectF(option.rect).adjusted(2, 1, -2, -1))
        box = option.rect.adjusted(_MARGIN, 8, -_MARGIN, -8)
        title, facts = _boxes(index, box.width())
        painter.setFont(_title_font())
        painter.setPen(colors.color("text"))
        painter.drawText(title.translated(box.topLeft()), _WRAP, str(index.data()))
        painter.setFont(ui_font(-1))
        painter.setPen(colors.color("holds" if index.data(DONE_ROLE) else "text-muted"))
        painter.drawText(
            facts.translated(box.left(), box.top() + title.height() + 3), _WRAP, index.data(FACTS_ROLE)
        )
        painter.restore()


class LessonList(QListView):
    """`opened` carries the row that the user chose."""

    opened = Signal(int)

    def __init__(self, model: LessonListModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lessonList")
        self.setAccessibleName(tr("Lessons"))
        self.setModel(model)
        self.setItemDelegate(_Delegate(self))
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.clicked.connect(lambda index: self.opened.emit(index.row()))
        self.activated.connect(lambda index: self.opened.emit(index.row()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()


def _title_font() -> QFont:
    font = ui_font(0)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def _boxes(index: _Index, width: int) -> tuple[QRect, QRect]:
    """The room of the title and of the facts, at that width."""
    room = QRect(0, 0, width, _TALL)
    title = QFontMetrics(_title_font()).boundingRect(room, _WRAP, str(index.data()))
    facts = QFontMetrics(ui_font(-1)).boundingRect(room, _WRAP, str(index.data(FACTS_ROLE)))
    return QRect(0, 0, width, title.height()), QRect(0, 0, width, facts.height())
