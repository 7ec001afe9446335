"""The reader: one step of a lesson, or a part of it, in a column of readable width."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import visible
from glyphscope.lessons.lesson import AnyPart, Experiment, Prose, Question, WatchPart
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.opened import OpenedLesson
from glyphscope_gui.lessons.player import LessonPlayer, first_of_stage
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.lessons.question import LessonQuestion
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.shared.labels import LessonLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, ScrollArea, vbox
from glyphscope_gui.theme import ui_font
from glyphscope_gui.theme.sizes import scale

Active: TypeAlias = LessonRun | LessonQuestion | LessonExperiment


def make_part(part: AnyPart, opened: OpenedLesson, parent: QWidget) -> Active | QLabel:
    """Make a run, question or experiment; if its recording is missing, a label that says why."""
    try:
        if isinstance(part, WatchPart):
            return _run(part, opened, parent)
        if isinstance(part, Experiment):
            request = opened.lesson.runs[part.run]
            recorded, base = opened.events_of(part.run), opened.events_of(part.of)
            return LessonExperiment(part, request, recorded, base, parent)
        assert isinstance(part, Question)
        return LessonQuestion(opened.sheet_of(part), parent)
    except GlyphscopeError as error:
        return words_label(visible(error.words, spaces=True), "problem", parent)


def _run(part: WatchPart, opened: OpenedLesson, parent: QWidget) -> LessonRun:
    events = opened.events_of(part.run)
    begin, end = first_of_stage(events, part.stage) if part.stage else (0, None)
    last = end if part.stop is None else begin + part.stop
    if end is not None and last is not None:
        last = min(last, end)
    view = LessonRun(part.caption, part.show, parent)
    view.set_pace(part.pace)
    view.show_run(events, begin + part.start, last, None if part.token is None else begin + part.token)
    return view


WORDS, PARTS = 690, 940
"""Largest widths of text and of other parts, in pixels at the usual text size: about 90 characters."""
_MARGIN = 26
_INPUTS = (QLineEdit, QAbstractSpinBox, QComboBox)
_IN_LECTURE: dict[int, int] = {
    Qt.Key.Key_Down: Qt.Key.Key_Right,
    Qt.Key.Key_Up: Qt.Key.Key_Left,
    Qt.Key.Key_P: Qt.Key.Key_Space,
}
"""The lecture's keys for a run: one token forward, one token back, play."""
MakePart: TypeAlias = Callable[[AnyPart, QWidget], QWidget]


class LessonReader(FollowsSize, ScrollArea):
    """`pageRequested` carries 1 for the next step, -1 for the previous one."""

    pageRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        named(self, "lessonReader", tr("The lesson"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._lecture: Callable[[QKeyEvent], bool] | None = None
        self.active: list[Active] = []
        self._body: QWidget | None = None
        self._column: QVBoxLayout | None = None
        self._words: list[QWidget] = []
        self._parts: list[QWidget] = []
        self._order: list[QWidget] = []
        """Texts and parts below the title, in the order of the lesson."""

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_parts(self, over: str, title: str, parts: tuple[AnyPart, ...], make: MakePart) -> None:
        """Show `over`, muted, above the title, and the parts; `make` makes the widgets of parts other than text."""
        focused = self.window().focusWidget()
        had_keys = focused is not None and self.isAncestorOf(focused)
        self.clear()
        body = QWidget(self.viewport())  # in its place from the beginning, to inherit fonts
        body.setObjectName("lessonBody")
        head = LessonLabel(over, "muted", body)
        font = ui_font(7)
        font.setWeight(font.Weight.Bold)
        heading = named(LessonLabel(title, "", body, font), "lessonTitle")
        self._words, self._parts = [head, heading], []
        for part in parts:
            widget = LessonProse(part.text, body) if isinstance(part, Prose) else make(part, body)
            self._order.append(widget)
            (self._words if isinstance(part, Prose) else self._parts).append(widget)
            if isinstance(widget, Active):
                self.active.append(widget)
            if isinstance(widget, LessonQuestion):
                widget.revealed.connect(self._uncover)
        column = vbox(
            head, heading, *self._order, parent=body, margins=(_MARGIN, 20, _MARGIN, 28), spacing=16
        )
        self._covered = LessonLabel(tr("Reveal the answer to see the rest of this step."), "muted", body)
        column.addWidget(self._covered)
        column.addStretch(1)
        self._uncover()
        self._body, self._column = body, column
        self._fit()
        self.setWidget(body)
        self.verticalScrollBar().setValue(0)
        if had_keys:
            self.setFocus()
        if self._lecture is not None:
            self._quieten()

    def pause(self) -> None:
        """Stop playing runs."""
        for player in self.findChildren(LessonPlayer):
            player.pause()

    def clear(self) -> None:
        """Remove all parts and stop their runs."""
        self.pause()
        self.active, self._body, self._column = [], None, None
        self._words, self._parts, self._order = [], [], []
        old = self.takeWidget()
        if old is not None:
            old.deleteLater()

    def set_lecture(self, keys: Callable[[QKeyEvent], bool] | None) -> None:
        """With `keys`, every key is passed to it first, and only text fields of the page take the focus."""
        self._lecture = keys

    def advance(self) -> bool:
        """Do the next step of this slide, or scroll nearly a page down; False at the end."""
        for part in self.active:
            if part.advance():
                QTimer.singleShot(0, self, partial(self._bring_into_view, part))  # after it has grown
                return True
        bar = self.verticalScrollBar()
        before = bar.value()
        bar.setValue(before + round(self.viewport().height() * 0.8))
        return bar.value() > before

    def press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """Pass a key to the first part that uses it, a digit or Enter to a question; False if none does."""
        for part in self.active:
            if part.isHidden():
                return False
            if isinstance(part, LessonQuestion):
                if key not in _IN_LECTURE and part.press(key):
                    return True
            elif part.press(_IN_LECTURE.get(key, key), modifiers):
                return True
        return False

    # -- keys --------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page Down and Page Up scroll, and turn the page at the edge."""
        if self._lecture is not None and self._lecture(event):
            event.accept()
            return
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_PageDown and bar.value() >= bar.maximum():
            self.pageRequested.emit(1)
        elif event.key() == Qt.Key.Key_PageUp and bar.value() <= bar.minimum():
            self.pageRequested.emit(-1)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Return the focus from a text field to the lecture on Esc."""
        if (
            event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            self.setFocus()
            return True
        return super().eventFilter(watched, event)

    def _uncover(self) -> None:
        """Show everything up to the first unanswered question: the text after it may give the answer away."""
        is_covered = False
        for widget in self._order:
            widget.setHidden(is_covered)
            guards = isinstance(widget, LessonQuestion) and widget.guards and not widget.is_revealed
            is_covered = is_covered or guards
        last = bool(self._order) and not self._order[-1].isHidden()
        self._covered.setHidden(last)

    def _fit(self) -> None:
        """Limit all parts to a readable width, with a common left edge."""
        if self._column is None:
            return
        larger = scale()
        room = self.viewport().width()
        widest = round((PARTS if self._parts else WORDS) * larger)
        side = max((room - widest) // 2, _MARGIN)
        self._column.setContentsMargins(side, 20, side, 28)
        inside = room - 2 * side
        for widget in self._words:
            widget.setFixedWidth(min(round(WORDS * larger), max(inside, 120)))

    def _quieten(self) -> None:
        """In a lecture, let only text fields take the focus."""
        if self._body is None:
            return
        for widget in self._body.findChildren(QWidget):
            if isinstance(widget, _INPUTS):
                widget.installEventFilter(self)
            elif not any(isinstance(above, _INPUTS) for above in _above(widget)):
                widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFocus()

    def _bring_into_view(self, widget: QWidget) -> None:
        """Scroll until the part is visible, or its beginning if it is too high."""
        if widget not in self._parts or self._body is None:
            return
        top, height = widget.y(), widget.height()
        view, bar = self.viewport().height(), self.verticalScrollBar()
        if top + height > bar.value() + view:
            at_end = top + height - view + 14
            bar.setValue(min(at_end, max(top - 14, 0)) if height > view else at_end)
        elif top < bar.value():
            bar.setValue(max(top - 14, 0))


def _above(widget: QWidget) -> list[QWidget]:
    found, here = [], widget.parentWidget()
    while here is not None:
        found.append(here)
        here = here.parentWidget()
    return found
