"""The list of lessons: each with its title in as many lines as needed, and the progress below."""

from __future__ import annotations

from typing import Any, NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.lessons.lesson import Lesson
from glyphscope.lessons.library import LessonPlace
from glyphscope.lessons.progress import LessonProgress
from glyphscope.visible import visible
from glyphscope_gui.lessons.words import lesson_facts
from glyphscope_gui.shared.cells import paint_row
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import Index, ListModel
from glyphscope_gui.theme import theme, ui_font

FACTS_ROLE, DONE_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
"""The words below the title, and whether the lesson is completed."""


class LessonRow(NamedTuple):
    """A lesson by its place; `found` is the lesson, or the reason why it cannot be read."""

    place: LessonPlace
    found: Lesson | GlyphscopeError
    progress: LessonProgress


class LessonListModel(ListModel[LessonRow]):
    key = "place.key"

    def add(self, row: LessonRow) -> None:
        self.refresh([*self._rows, row])

    def set_progress(self, key: str, progress: LessonProgress) -> None:
        rows = self._rows
        self.refresh([row._replace(progress=progress) if row.place.key == key else row for row in rows])

    def words(self, row: LessonRow, column: int) -> str:
        return visible(row.found.title if isinstance(row.found, Lesson) else row.place.name, spaces=True)

    def spoken(self, row: LessonRow, column: int) -> str:
        return f"{self.words(row, column)}, {_facts(row)}"

    def tip(self, row: LessonRow, column: int) -> str:
        return visible(row.found.about if isinstance(row.found, Lesson) else row.found.message, spaces=True)

    def extra(self, row: LessonRow, column: int, role: int) -> Any:
        if role == FACTS_ROLE:
            return _facts(row)
        if role != DONE_ROLE:
            return None
        lesson = row.found if isinstance(row.found, Lesson) else None
        return lesson is not None and row.progress.is_done(len(lesson.steps), len(lesson.questions))


def _facts(row: LessonRow) -> str:
    return lesson_facts(row.found, row.progress) if isinstance(row.found, Lesson) else tr("✕ cannot be read")


_MARGIN = 10
_WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
_TALL = 1000
"""Pixels of height with room for any title."""


class _Delegate(QStyledItemDelegate):
    """A title and its facts."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        view = option.widget
        width = view.viewport().width() if isinstance(view, QListView) else 220
        return QSize(0, sum(box.height() for box in _boxes(index, width)) + 22)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors = theme()
        painter.save()
        paint_row(painter, option, QRectF(option.rect).adjusted(2, 1, -2, -1))
        box = option.rect.adjusted(_MARGIN, 8, -_MARGIN, -8)
        title, facts = _boxes(index, option.rect.width())
        painter.setFont(_title_font())
        painter.setPen(colors.color("text"))
        painter.drawText(title.translated(box.topLeft()), _WRAP, str(index.data()))
        painter.setFont(ui_font(-1))
        painter.setPen(colors.color("holds" if index.data(DONE_ROLE) else "text-muted"))
        painter.drawText(
            facts.translated(box.left(), box.top() + title.height() + 3), _WRAP, index.data(FACTS_ROLE)
        )
        painter.restore()


class LessonList(FollowsSize, PlainList):
    """`opened` carries the row that the user chose."""

    opened = Signal(int)

    def __init__(self, model: LessonListModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "lessonList", tr("Lessons"), parent)
        self.setItemDelegate(_Delegate(self))
        self.setMouseTracking(True)
        self.clicked.connect(lambda index: self.opened.emit(index.row()))
        self.activated.connect(lambda index: self.opened.emit(index.row()))

    def _fit(self) -> None:
        self.scheduleDelayedItemsLayout()


def _title_font() -> QFont:
    font = ui_font(0)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def _boxes(index: Index, width: int) -> tuple[QRect, QRect]:
    """The rectangles of title and facts in a row of that width, for both measuring and painting."""
    width = max(width - 2 * _MARGIN - 4, 40)
    room = QRect(0, 0, width, _TALL)
    title = QFontMetrics(_title_font()).boundingRect(room, _WRAP, str(index.data()))
    facts = QFontMetrics(ui_font(-1)).boundingRect(room, _WRAP, str(index.data(FACTS_ROLE)))
    return QRect(0, 0, width, title.height()), QRect(0, 0, width, facts.height())
