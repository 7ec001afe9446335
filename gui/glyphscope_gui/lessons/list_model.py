"""The lessons in the order in which they are taken, each with how far one has come."""

from __future__ import annotations

from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from glyphscope.errors import GlyphscopeError
from glyphscope.lessons import Lesson, LessonPlace, LessonProgress
from glyphscope.visible import visible
from glyphscope_gui.lessons.words import lesson_facts
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip

FACTS_ROLE, DONE_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
_NO_INDEX = QModelIndex()


class LessonRow(NamedTuple):
    """A lesson, or why it cannot be read."""

    place: LessonPlace
    found: Lesson | GlyphscopeError
    progress: LessonProgress


class LessonListModel(QAbstractListModel):
    """A row a lesson."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[LessonRow] = []

    def show(self, rows: list[LessonRow]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def row_of(self, key: str) -> int:
        """Where the lesson of that key stands; -1 for nowhere."""
        return next((n for n, row in enumerate(self.rows) if row.place.key == key), -1)

    def set_progress(self, key: str, progress: LessonProgress) -> None:
        place = self.row_of(key)
        if place >= 0:
            self.rows[place] = self.rows[place]._replace(progress=progress)
            self.dataChanged.emit(self.index(place), self.index(place))

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.rows)

    @plain_data
    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        row = self.rows[index.row()]
        found = row.found
        title = visible(found.title if isinstance(found, Lesson) else row.place.name, spaces=True)
        facts = lesson_facts(found, row.progress) if isinstance(found, Lesson) else tr("✕ cannot be read")
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(
                    visible(found.about if isinstance(found, Lesson) else found.message, spaces=True)
                )
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{title}, {facts}"
            case _ if role == FACTS_ROLE:
                return facts
            case _ if role == DONE_ROLE:
                return isinstance(found, Lesson) and row.progress.is_done(
                    len(found.steps), len(found.questions)
                )
        return None
