"""The page of lessons: the list on the left, the lesson in the middle, and below it the navigation between steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QFrame, QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.errors import GlyphscopeError, problem_words
from glyphscope.base.visible import visible
from glyphscope.lessons.lesson import Lesson
from glyphscope.lessons.library import LessonPlace
from glyphscope.lessons.progress import LessonProgress
from glyphscope_gui.lessons.reader import LessonReader
from glyphscope_gui.lessons.words import lesson_facts
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.cells import paint_row
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, holder, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import PlainList, WholeRows
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.table_model import Index, ListModel
from glyphscope_gui.theme import theme, ui_font
from glyphscope_gui.theme.sizes import GAP, letters

WIDE = 1180
LIST_WIDTH, SLIM_LIST_WIDTH = 250, 190
"""Width of the list in pixels, in a page that is `WIDE` and in a narrower one."""
DESCRIBED = 200
"""Pixels of a row's width from which it has the description; in a narrower one it is in the tip."""
_EMPTY = tr("Choose a lesson on the left. All runs are recorded, so no model is needed.")
_KEYS = tr("→ next   ← back   + − text size   N notes   1 … 9 answer   Esc end")
_MAX_PROBLEMS = 12


class LessonPage(FollowsSize, QWidget):
    """The list, the reader and the buttons; `stepRequested` carries 1 for the next step, -1 for the previous one."""

    stepRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "lessonPage", tr("Lessons"))
        self.model = LessonListModel(self)
        self.list = LessonList(self.model, self)
        self.open_button = link(tr("Open…"), tr("Open a lesson from a Markdown file"))
        named(self.open_button, "openLessonButton", tr("Open a lesson"))
        self.export_button = link(tr("Export…"), tr("Export all lessons, or the open one, as a website"))
        named(self.export_button, "exportLessonsButton", tr("Export the lessons"))
        self.notice = NoticeBanner(self)
        self.reader = LessonReader(self)
        self.empty = PlainLabel(
            _EMPTY, self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter, margin=30
        )
        self.before_button = push_button(
            tr("‹ Back"), self, name="lessonBackButton", tip=tr("Previous step (Page Up)")
        )
        self.after_button = push_button("", self, name="lessonNextButton", role="primary")
        self.place = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.again_button = link(tr("Restart"), tr("Reset the progress of this lesson"))
        self.lecture_button = push_button(tr("Lecture"), self, name="lectureButton")
        self.lecture_button.setToolTip(tr("Full screen with large text, one step at a time (F11)"))
        self.keys = PlainLabel(_KEYS, self, role="hint", alignment=Qt.AlignmentFlag.AlignCenter, margin=4)
        self._lay_out()
        self.reader.pageRequested.connect(self.stepRequested)
        self.before_button.clicked.connect(lambda: self.stepRequested.emit(-1))
        self.after_button.clicked.connect(lambda: self.stepRequested.emit(1))
        self.setFocusProxy(self.list)
        self.set_lecture(False)
        self.show_place("")

    def show_place(
        self, words: str, *, before: bool = False, more: bool = False, following: str = ""
    ) -> None:
        """Show the place in the lesson in words, "" if none is open, and whether there is something `before` and `more`
        after it. `following` is the title of the next lesson, at the end of this one.
        """
        opened, ends = bool(words), bool(following)
        self.after_button.setText(tr("Next lesson ›") if ends else tr("Next ›"))
        self.after_button.setToolTip(plain_tip(following) if ends else tr("Next step (Page Down)"))
        self.stack.setCurrentWidget(self.reader if opened else self.empty)
        self.foot.setVisible(opened)
        self.place.set_forms(words, words.partition(",")[0])
        for button, enabled in ((self.before_button, before), (self.after_button, more or ends)):
            if button.hasFocus() and not enabled:
                self.reader.setFocus()  # otherwise Qt focuses the next widget
            button.setEnabled(enabled)

    def show_error(self, error: GlyphscopeError) -> None:
        """Show why a lesson is invalid, with its first problems."""
        problems = [problem_words(problem) for problem in getattr(error, "problems", ())]
        more = len(problems) - _MAX_PROBLEMS
        lines = [" ".join(filter(None, (error.where, error.message, error.hint))), *problems[:_MAX_PROBLEMS]]
        if more > 0:
            lines.append(tr("… and {more} more: glyphscope lesson check lists all of them.", more=more))
        self.empty.setText("\n".join(visible(line, spaces=True) for line in lines))
        self.show_place("")

    def set_lecture(self, lecture: bool) -> None:
        """In a lecture, show the lesson and the lecture's keys, without the list and the foot."""
        self.list_card.setVisible(not lecture)
        self.foot.setVisible(not lecture)
        self.keys.setVisible(lecture)
        margin = 0 if lecture else GAP
        self._layout.setContentsMargins(margin, margin, margin, margin)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A digit answers the visible question wherever the focus is, such as on a button that turned the page, and the
        arrows turn the page where nothing else takes them.
        """
        digit = Qt.Key.Key_1 <= event.key() <= Qt.Key.Key_9
        by = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        button = self.after_button if by > 0 else self.before_button
        if by and button.isVisible() and button.isEnabled():
            self.stepRequested.emit(by)
        elif not (digit and self.reader.press(event.key(), event.modifiers())):
            super().keyPressEvent(event)

    def _fit(self) -> None:
        width = LIST_WIDTH if self.width() >= WIDE else SLIM_LIST_WIDTH
        self.list_card.setFixedWidth(round(width * min(letters(self), 1.6)))

    def _lay_out(self) -> None:
        below = hbox(self.export_button, STRETCH, margins=(12, 0, 12, 2))
        self.list_card = Card(
            tr("Lessons"),
            holder(vbox((WholeRows(self.list), 1), below, spacing=4)),
            actions=(self.open_button,),
            padded=False,
        )
        self.stack = stack(self.empty, self.reader)
        buttons = hbox(
            self.before_button,
            self.after_button,
            (self.place, 1),
            self.again_button,
            self.lecture_button,
            margins=(16, 8, 16, 10),
            spacing=12,
        )
        self.foot = holder(vbox(named(QFrame(), "cardLine"), buttons, spacing=0), self)
        sheet = named(QFrame(self), "card")
        vbox((self.stack, 1), self.keys, self.foot, parent=sheet, margins=1, spacing=0)
        self.notice.cover(self.stack)
        self._layout = hbox(self.list_card, (sheet, 1), parent=self, margins=None, spacing=GAP)


ABOUT_ROLE, FACTS_ROLE, DONE_ROLE = (Qt.ItemDataRole.UserRole + number for number in range(3))
"""The description and the facts below the title, and whether the lesson is completed."""


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
        title = row.found.title if isinstance(row.found, Lesson) else row.place.name
        return f"{self.row_of(row.place.key) + 1}  {visible(title, spaces=True)}"

    def spoken(self, row: LessonRow, column: int) -> str:
        return ", ".join(filter(None, (self.words(row, column), _about(row), _facts(row))))

    def tip(self, row: LessonRow, column: int) -> str:
        return visible(row.found.about if isinstance(row.found, Lesson) else row.found.message, spaces=True)

    def extra(self, row: LessonRow, column: int, role: int) -> Any:
        if role == FACTS_ROLE:
            return _facts(row)
        if role == ABOUT_ROLE:
            return _about(row)
        if role != DONE_ROLE:
            return None
        lesson = row.found if isinstance(row.found, Lesson) else None
        return lesson is not None and row.progress.is_done(len(lesson.steps), len(lesson.questions))


def _facts(row: LessonRow) -> str:
    return lesson_facts(row.found, row.progress) if isinstance(row.found, Lesson) else tr("✕ cannot be read")


def _about(row: LessonRow) -> str:
    return visible(row.found.about, spaces=True) if isinstance(row.found, Lesson) else ""


_MARGIN, _SPACE = 10, 3
_WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
_TALL = 1000
"""Pixels of height with room for any title."""


class _Delegate(QStyledItemDelegate):
    """A title, and below it the description and the facts."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        view = option.widget
        width = view.viewport().width() if isinstance(view, QListView) else 220
        return QSize(0, _boxes(index, width)[-1][0].bottom() + 20)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors = theme()
        painter.save()
        paint_row(painter, option, QRectF(option.rect).adjusted(2, 1, -2, -1))
        box = option.rect.adjusted(_MARGIN, 8, -_MARGIN, -8)
        for place, font, role, words in _boxes(index, option.rect.width()):
            painter.setFont(font)
            painter.setPen(colors.color(role))
            painter.drawText(place.translated(box.topLeft()), _WRAP, words)
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
        self.updateGeometry()


def _title_font() -> QFont:
    font = ui_font(0)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def _boxes(index: Index, width: int) -> list[tuple[QRect, QFont, str, str]]:
    """The place of each text in a row of that width, with its font, colour and words, for measuring and painting."""
    room = QRect(0, 0, max(width - 2 * _MARGIN - 4, 40), _TALL)
    found: list[tuple[QRect, QFont, str, str]] = []
    top = 0
    for data, font, role in (
        (Qt.ItemDataRole.DisplayRole, _title_font(), "text"),
        (ABOUT_ROLE, ui_font(-1), "text-muted"),
        (FACTS_ROLE, ui_font(-1), "holds" if index.data(DONE_ROLE) else "text-muted"),
    ):
        words = str(index.data(data))
        if words and (data != ABOUT_ROLE or room.width() >= DESCRIBED):
            height = QFontMetrics(font).boundingRect(room, _WRAP, words).height()
            found.append((QRect(0, top, room.width(), height), font, role, words))
            top += height + _SPACE
    return found
