"""The reader: a part of a lesson's step in a column of readable width, on as many screens as it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import visible
from glyphscope.lessons.lesson import AnyPart, Experiment, Prose, Question, WatchPart
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.opened import OpenedLesson
from glyphscope_gui.lessons.player import LessonPlayer, first_of_stage
from glyphscope_gui.lessons.prose import LessonProse, pieces
from glyphscope_gui.lessons.question import LessonQuestion
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.shared.labels import LessonLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, ScrollArea, vbox
from glyphscope_gui.theme import title_font, use_font
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
_LOW = 620
"""Pixels of height, at the usual text size, below which lines are saved."""
_GAP, _LOW_GAP = 16, 10
"""Pixels between parts, and in a low window."""
_MOST_LAYOUTS = 3
"""A text in a part knows its height once it has its width, and the part after that."""
_INPUTS = (QLineEdit, QAbstractSpinBox, QComboBox)
_IN_LECTURE: dict[int, int] = {
    Qt.Key.Key_Down: Qt.Key.Key_Right,
    Qt.Key.Key_Up: Qt.Key.Key_Left,
    Qt.Key.Key_P: Qt.Key.Key_Space,
}
"""The lecture's keys for a run: one token forward, one token back, play."""
MakePart: TypeAlias = Callable[[AnyPart, QWidget], QWidget]


def _height(widget: QWidget) -> int:
    """The height that the widget needs at its width; it gets it with the next layout."""
    return widget.heightForWidth(widget.width()) if widget.hasHeightForWidth() else widget.height()


class LessonReader(FollowsSize, ScrollArea):
    """`pageRequested` carries 1 for the next screen, -1 for the previous one; `screensChanged`: their number changed.

    Texts and parts that do not fit together are on several screens. Only a part that is higher than a screen scrolls.
    """

    pageRequested = Signal(int)
    screensChanged = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        named(self, "lessonReader", tr("The lesson"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setWidgetResizable(False)  # Qt's least height is that of a narrower column
        self._lecture: Callable[[QKeyEvent], bool] | None = None
        self.active: list[Active] = []
        self._body: QWidget | None = None
        self._column: QVBoxLayout | None = None
        self._words: list[QWidget] = []
        self._parts: list[QWidget] = []
        self._order: list[QWidget] = []
        """Texts and parts below the title, in the order of the lesson."""
        self._heights: dict[QWidget, int] = {}
        """Of each of them, when it was last in sight."""
        self._screens: list[list[QWidget]] = []
        self._anchor: QWidget | None = None
        """The part in sight, or the first text."""
        self._is_low = False
        """Whether the parts save lines because they do not fit otherwise."""
        self._repack = QTimer(self, singleShot=True, interval=0)
        self._repack.timeout.connect(self._pack)

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_parts(self, over: str, title: str, parts: tuple[AnyPart, ...], make: MakePart) -> None:
        """Show the parts below their title and `over`, which is muted; `make` makes the widgets of parts."""
        focused = self.window().focusWidget()
        had_keys = focused is not None and self.isAncestorOf(focused)
        self.clear()
        body = QWidget(self.viewport())  # in its place from the beginning, to inherit fonts
        body.setObjectName("lessonBody")
        head = LessonLabel(over, "muted", body)
        head.setVisible(bool(over))
        heading = named(LessonLabel(title, "", body), "lessonTitle")
        use_font(heading, title_font, 7)
        self._words, self._parts = [head, heading], []
        for part in parts:
            if isinstance(part, Prose):
                texts = [LessonProse(text, body) for text in pieces(part.text)]
                self._order += texts
                self._words += texts
                continue
            widget = make(part, body)
            self._order.append(widget)
            self._parts.append(widget)
            if isinstance(widget, Active):
                self.active.append(widget)
            if isinstance(widget, LessonQuestion):
                widget.revealed.connect(self._repack.start)
        column = vbox(head, heading, *self._order, parent=body, spacing=_GAP)
        self._covered = LessonLabel(tr("Reveal the answer to see the rest of this step."), "muted", body)
        column.addWidget(self._covered)
        column.addStretch(1)
        body.installEventFilter(self)
        self._body, self._column = body, column
        self.setWidget(body)
        self._fit()
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
        self.active, self._body, self._column, self._anchor = [], None, None, None
        self._words, self._parts, self._order, self._screens = [], [], [], []
        self._heights.clear()
        old = self.takeWidget()
        if old is not None:
            old.deleteLater()

    def set_lecture(self, keys: Callable[[QKeyEvent], bool] | None) -> None:
        """With `keys`, every key is passed to it first, and only text fields of the page take the focus."""
        self._lecture = keys

    @property
    def _at(self) -> int:
        """The number of the screen in sight."""
        return next((number for number, shown in enumerate(self._screens) if self._anchor in shown), 0)

    def can_turn(self, by: int) -> bool:
        """Whether there is such a screen: the next one for 1, the previous one for -1."""
        return 0 <= self._at + by < len(self._screens)

    def turn(self, by: int) -> bool:
        """Show another screen; False if there is none."""
        if not self.can_turn(by):
            return False
        shown = self._screens[self._at + by]
        self._anchor = next((widget for widget in shown if widget in self._parts), shown[0])
        self._show_screen()
        return True

    def advance(self) -> bool:
        """Do the next step of this screen, or scroll nearly a page down; False at the end."""
        for part in self.active:
            if not part.isHidden() and part.advance():
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
                continue
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
        """Return the focus from a text field to the lecture on Esc; pack the screens again when a part has grown."""
        if watched is self._body:
            if event.type() == QEvent.Type.LayoutRequest:
                self._repack.start()
        elif (
            event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            self.setFocus()
            return True
        return super().eventFilter(watched, event)

    def _uncovered(self) -> list[QWidget]:
        """Everything up to the first unanswered question: the text after it may give the answer away."""
        for place, widget in enumerate(self._order):
            if isinstance(widget, LessonQuestion) and widget.guards and not widget.is_revealed:
                return self._order[: place + 1]
        return self._order

    def _pack(self) -> None:
        """Divide the texts and parts into screens: as many as fit together are on one."""
        if self._column is None or self._body is None:
            return
        open_to = self._uncovered()
        self._covered.setHidden(open_to == self._order)
        room = self.viewport().height() - self._around()
        self._measure()
        crowded = sum(self._heights[widget] + self._column.spacing() for widget in open_to) > room
        if crowded and not self._is_low:
            self._set_low(True)
            self._fit_body()
            self._measure()
        screens: list[list[QWidget]] = []
        left = 0
        for widget in open_to:
            height = self._heights[widget] + self._column.spacing()
            if not screens or height > left:
                screens.append([])
                left = room
            screens[-1].append(widget)
            left -= height
        if self._anchor not in open_to:
            first = screens[0] if screens else []
            self._anchor = next(
                (widget for widget in first if widget in self._parts), open_to[0] if open_to else None
            )
        is_other = len(screens) != len(self._screens)
        self._screens = screens
        self._show_screen()
        if is_other:
            self.screensChanged.emit()

    def _set_low(self, low: bool) -> None:
        """Let parts save lines, in a low window or because they do not fit otherwise; a question only then, as it does
        not grow before it is answered.
        """
        self._is_low = low
        is_low = self.viewport().height() < _LOW * scale()
        for part in self.active:
            part.set_low(low or (is_low and not isinstance(part, LessonQuestion)))

    def _measure(self) -> None:
        for widget in self._order:
            if not widget.isHidden():
                self._heights[widget] = _height(widget)

    def _around(self) -> int:
        """The height of the margins, the title and what else is on each screen."""
        assert self._column is not None
        margins, words = self._column.contentsMargins(), (*self._words[:2], self._covered)
        lines = [word.height() + self._column.spacing() for word in words if not word.isHidden()]
        return margins.top() + margins.bottom() + sum(lines) - self._column.spacing()

    def _show_screen(self) -> None:
        shown = self._screens[self._at] if self._screens else []
        for widget in self._order:
            widget.setHidden(widget not in shown)
        self._fit_body()
        self.verticalScrollBar().setValue(0)

    def _fit_body(self) -> None:
        """Make the content as wide as its place, and as high as it has to be there."""
        if self._body is None or self._column is None:
            return
        place = self.viewport().size()
        for _ in range(_MOST_LAYOUTS):
            self._column.invalidate()
            self._body.resize(
                place.width(), max(place.height(), self._column.totalHeightForWidth(place.width()))
            )
            self._column.activate()
            stale = [each for each in self._order if not each.isHidden() and _height(each) != each.height()]
            if not stale:
                break
            for widget in stale:
                widget.updateGeometry()
        QCoreApplication.removePostedEvents(self._body, QEvent.Type.LayoutRequest)  # this was the layout

    def _fit(self) -> None:
        """Limit all parts to a readable width, with a common left edge, and pack them into screens."""
        if self._column is None or self._body is None:
            return
        larger = scale()
        room, height = self.viewport().width(), self.viewport().height()
        is_low = height < _LOW * larger
        widest = round((PARTS if self._parts else WORDS) * larger)
        side = max((room - widest) // 2, _MARGIN)
        self._column.setContentsMargins(side, 10 if is_low else 20, side, 8 if is_low else 28)
        self._column.setSpacing(_LOW_GAP if is_low else _GAP)
        inside = room - 2 * side
        for widget in self._words:
            widget.setFixedWidth(min(round(WORDS * larger), max(inside, 120)))
        self._set_low(False)
        for widget in self._order:
            widget.show()
        self._fit_body()
        self._pack()

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
