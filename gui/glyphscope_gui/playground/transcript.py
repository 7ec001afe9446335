"""The transcript: a whole run as one document, the texts of its stages and between them what the strategy did, and a
margin on the left that says what each of them is, how it ended, and what it cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.base.shorten import excerpt
from glyphscope.base.visible import visible
from glyphscope.events import AnyEvent, FinalAnswer, RunRequest, Token, ToolResult
from glyphscope.runs.state import StageState
from glyphscope_gui.playground.notes import NoteBlock, NotesWriter, notes_of
from glyphscope_gui.playground.stage_rows import MARKS, RunRow, RunRows, cost_words, spoken, tip
from glyphscope_gui.runs.part_header import paint_margin
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.stage_text import StageText
from glyphscope_gui.runs.stream_view import StreamView
from glyphscope_gui.shared.labels import elided, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.slices import Steps
from glyphscope_gui.theme import theme, ui_font
from glyphscope_gui.theme.sizes import scale

MARGIN = 136
"""The largest width of the margin in pixels, at the usual text size."""
_SHARE = 0.3
"""The largest share of the width that the margin has."""
_ABOVE = 10
"""Pixels above a stage or a row."""
_SIDE = 8
"""Pixels at the sides of the text."""


@dataclass(slots=True)
class _Note:
    """A row in the document, from the position `at` on: the `events` that were written, and whether they are `late`,
    below the stage's text.
    """

    row: RunRow
    events: tuple[AnyEvent, ...]
    at: int
    late: bool


@dataclass(slots=True)
class _Entry:
    """A stage in the document: `head` is the position of its heading, -1 if it has none; `has_text`: its text
    has begun.
    """

    text: StageText
    head: int | None = None
    notes: list[_Note] = field(default_factory=list)
    has_text: bool = False

    @property
    def start(self) -> float:
        """The position of the stage's beginning in the document; infinite if it has nothing there."""
        starts = [self.head] if self.head is not None and self.head >= 0 else []
        starts += [self.text.base] if self.has_text else []
        return min((*starts, *(note.at for note in self.notes[:1])), default=inf)


class Transcript(StreamView):
    """`stageChosen` carries the index of the stage in which the user clicked, or to which the keys moved."""

    stageChosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        self.rows = RunRows()
        self._entries: list[_Entry] = []
        self._notes = NotesWriter()
        self._run = ShownStage()
        self._request: RunRequest | None = None
        self._is_blank = True
        self._foot: QWidget | None = None
        super().__init__(parent)
        named(self, "streamView", tr("Transcript of the run"))
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.anchorClicked.connect(lambda link: self._notes.open(link, self))
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._place_foot())

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the run, or all of another one; the other views show the stage."""
        if shown.run is not self._run.run or shown.request is not self._request:
            self._slices.stop()
            self._request = shown.request
            self._entries, self._notes, self._selected = [], NotesWriter(), None
            self._clear()
        self._run = shown
        if not self._slices.is_busy:  # its last step shows what is new
            self._show_new()

    def _show_new(self) -> None:
        shown = self._run
        for place in range(self.rows.read(shown.run, over=shown.over), len(self.rows.stages)):
            deque(self._show_place(place), maxlen=0)
        text = next(entry.text for entry in self._entries if entry.text.stage is shown.stage)
        if text is not self.shown:
            self.shown, self._selected = text, None
        if shown.over:
            self.setAccessibleDescription(visible("\n".join(map(spoken, self.rows.rows)), lines=True))
        self.viewport().update()

    def show_continuation(self, text: str) -> None:
        self._slices.finish()
        entry = self._entries[self.shown.place]
        self._cut(entry, sum(not note.late for note in entry.notes))
        super().show_continuation(text)
        deque(self._show_place(self.shown.place), maxlen=0)

    def copied_text(self) -> str:
        """The results of the row at the cursor, or the text of the shown stage."""
        row = self._row_at(self.textCursor().position())
        events = row.events if row is not None else ()
        results = [event.sent or event.message for event in events if isinstance(event, ToolResult)]
        return "\n\n".join(results) or self.shown.stage.text

    # -- writing -----------------------------------------------------------------------------------------------

    def _show_place(self, place: int) -> Steps:
        """Write what is new of a stage: the rows before its text, the text, and the rows after it."""
        stage = self._run.run.stages[place]
        if place == len(self._entries):
            self._entries.append(_Entry(StageText(self, stage, place)))
        entry = self._entries[place]
        if entry.head is None:
            entry.head = self._new_line(_shape(above=_ABOVE)) if self._has_heading(stage, place) else -1
        began = stage.tokens[0].t if stage.tokens else inf
        expected = [
            (row, row.events[0].t > began) for row in self.rows.stages[place].rows if _is_note(row, stage)
        ]
        expected.sort(key=lambda each: each[1])
        same = 0
        for note, (row, _) in zip(entry.notes, expected, strict=False):
            if note.row is not row or note.events is not row.events:
                break
            same += 1
        if stage.tokens and (entry.text.has_new or not entry.has_text):
            same = min(same, sum(not note.late for note in entry.notes))
        self._cut(entry, same)
        for row, late in expected[same:]:
            if late:
                yield from self._write_text(entry)
            self._write_note(entry, row, late=late)
        yield from self._write_text(entry)

    def _write_text(self, entry: _Entry) -> Steps:
        stage, run = entry.text.stage, self._run
        if stage.tokens and not entry.has_text:
            entry.has_text = True
            entry.text.begin(self._new_line(self._first_line(entry)), keep=True)
            self.texts.append(entry.text)
        if entry.has_text:
            yield from entry.text.write(ShownStage(run.run, stage, kind=run.kind, over=run.over))

    def _write_note(self, entry: _Entry, row: RunRow, *, late: bool) -> None:
        blocks = notes_of(row.events) or [NoteBlock("words", row.words)]
        at = self._new_line(_shape(above=_ABOVE, below=_ABOVE if len(blocks) == 1 else 0))
        entry.notes.append(_Note(row, row.events, at, late))
        self.edit(lambda cursor: self._notes.write(cursor, blocks))

    def _cut(self, entry: _Entry, count: int) -> None:
        """Keep only so many rows of the last stage, and nothing that follows them in the document."""
        if count == len(entry.notes):
            return
        at = entry.notes[count].at
        del entry.notes[count:]
        if entry.has_text and entry.text.base > at:
            entry.has_text = False
            entry.text.parts.end()
            self.texts.remove(entry.text)
        cursor = QtGui.QTextCursor(self.document())
        cursor.setPosition(max(at - 1, 0))
        cursor.movePosition(QtGui.QTextCursor.MoveOperation.End, QtGui.QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._is_blank = not at

    def _new_line(self, shape: QtGui.QTextBlockFormat) -> int:
        """Begin a line at the document's end; returns its position."""
        blank, self._is_blank = self._is_blank, False

        def begin(cursor: QtGui.QTextCursor) -> None:
            if blank:
                cursor.setBlockFormat(shape)
            else:
                cursor.insertBlock(shape)
            cursor.block().setUserState(-1)

        self.edit(begin)
        return self.document().lastBlock().position()

    def _first_line(self, entry: _Entry) -> QtGui.QTextBlockFormat:
        shape = QtGui.QTextBlockFormat(self.looks.block)
        shape.setTopMargin(0 if entry.head is not None and entry.head >= 0 and not entry.notes else _ABOVE)
        return shape

    def _has_heading(self, stage: StageState, place: int) -> bool:
        """Whether the stage has a line above its text: a run of the strategy direct is only a text."""
        request = self._run.request
        several = place > 0 or (request is not None and request.strategy != "direct")
        return several and stage.kind != "tool"

    @property
    def _has_nothing(self) -> bool:
        return self._is_blank

    def _clear(self) -> None:
        super()._clear()
        self._is_blank = True
        self._set_margin()

    def write_again(self) -> None:
        """Write the same run in the present theme and text size, such as after the sheet of a larger one is gone."""
        self._restyle()

    def _texts_again(self) -> Steps:
        continuation, self.shown.continuation = self.shown.continuation, ""
        self._entries, self._notes = [_Entry(entry.text) for entry in self._entries], NotesWriter()
        self._clear()
        for place in range(len(self._entries)):
            yield from self._show_place(place)
        if self._entries:
            self._show_new()
        if continuation:
            self.show_continuation(continuation)

    # -- what is below the text --------------------------------------------------------------------------------

    def set_foot(self, widget: QWidget | None) -> None:
        """Show a widget at the transcript's end, in place of another; None for none."""
        if widget is self._foot:
            return
        if self._foot is not None:
            self._foot.hide()
        self._foot = widget
        if widget is not None:
            widget.setParent(self.viewport())
            widget.installEventFilter(self)
            widget.show()
        at_end = self._is_at_end()
        self._set_margin()
        self._place_headers()
        bar = self.verticalScrollBar()
        if self.shown.decided:
            self.show_character(next(iter(self.shown.decided)))
        elif at_end:
            bar.setValue(bar.maximum())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Make room for the widget at the end when it needs another height."""
        if watched is self._foot and event.type() == QEvent.Type.LayoutRequest:
            self._set_margin()
            self._place_headers()
        return super().eventFilter(watched, event)

    def _place_headers(self) -> None:
        super()._place_headers()
        self._place_foot()

    def _place_foot(self) -> None:
        if self._foot is not None:
            high, left = self._foot.sizeHint().height(), self.margin + 1
            end = self.document().documentLayout().documentSize().height() - self.verticalScrollBar().value()
            self._foot.setGeometry(left, round(end) - high - 4, self.viewport().width() - left, high)

    # -- the margin --------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self._set_margin()
        super().resizeEvent(event)

    def _set_margin(self) -> None:
        """Set the margin's width, a share of the page's if that is narrow."""
        self.margin = round(min(MARGIN * scale(), self.viewport().width() * _SHARE))
        if self._foot is not None:
            self._foot.resize(
                self.viewport().width() - self.margin - 1, self._foot.height()
            )  # it arranges itself
        frame = self.document().rootFrame()
        shape = frame.frameFormat()
        foot = (
            self._foot.sizeHint().height() + 8 if self._foot is not None else self.document().documentMargin()
        )
        if (shape.leftMargin(), shape.bottomMargin()) != (self.margin + _SIDE, foot):
            shape.setLeftMargin(self.margin + _SIDE)
            shape.setBottomMargin(foot)
            frame.setFrameFormat(shape)

    def _margin_rows(self) -> Iterator[tuple[int, RunRow, _Entry]]:
        """The positions of the margin's rows, in order."""
        for entry in self._entries:
            stage = self.rows.stages[entry.text.place].rows[0]
            if entry.head is not None and entry.head >= 0:
                yield entry.head, stage, entry
            elif entry.has_text and not entry.text.parts.is_used:
                yield entry.text.base, stage, entry
            for note in entry.notes:
                yield note.at, note.row, entry

    def _paint_margin(self, painter: QtGui.QPainter, sight: tuple[int, int]) -> None:
        left, bar = self.margin, self.verticalScrollBar().value()
        painter.setPen(QtGui.QPen(theme().color("border"), 1))
        painter.drawLine(QPointF(left, bar), QPointF(left, bar + self.viewport().height()))
        for at, row, entry in self._margin_rows():
            if not sight[0] - 2000 <= at <= sight[1]:
                continue
            top = self.document().documentLayout().blockBoundingRect(self.document().findBlock(at)).top()
            sign, role, _ = MARKS[row.mark]
            box = QRectF(0, top, left, 3 * QtGui.QFontMetricsF(ui_font()).height())
            title, _, rest = row.title.partition(": ")
            is_heading = at == entry.head
            paint_margin(painter, box, f"{title} {sign}", "" if is_heading else cost_words(row), role)
            if is_heading:
                said = "" if row.words == excerpt(entry.text.stage.text) else row.words  # it is below
                prompt = row.prompt and tr("prompt {tokens}", tokens=row.prompt)
                words = (rest, said, cost_words(row), prompt, row.detail)
                self._paint_words(painter, top, " · ".join(part for part in words if part))

    def _paint_words(self, painter: QtGui.QPainter, top: float, words: str) -> None:
        """Paint a line of words to the right of the margin."""
        painter.setFont(ui_font(-1))
        painter.setPen(theme().color("text-muted"))
        metrics = QtGui.QFontMetrics(painter.font())
        left = self.margin + _SIDE
        box = QRectF(left, top, self.viewport().width() - left - _SIDE, metrics.height() + 2)
        right = Qt.TextElideMode.ElideRight
        shown = elided(visible(words, spaces=True), metrics, round(box.width()), right)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, shown)

    def _row_at(self, position: int) -> RunRow | None:
        """The row of that position of the document; None in a stage's text that has no row."""
        found = [(at, row) for at, row, _ in self._margin_rows() if at <= position]
        return found[-1][1] if found else None

    def _tip_at(self, place: QPoint) -> str:
        if place.x() > self.margin:
            return super()._tip_at(place)
        row = self._row_at(self.cursorForPosition(place).position())
        return "" if row is None else tip(row)

    # -- the user ----------------------------------------------------------------------------------------------

    def _choose(self, text: StageText, token: Token) -> None:
        self._choose_stage(text.place)
        super()._choose(text, token)

    def _choose_stage(self, place: int) -> None:
        if place != self.shown.place:
            self.stageChosen.emit(place)

    def _choose_at(self, position: int) -> None:
        """Choose the stage of that position of the document."""
        place = sum(entry.start <= position for entry in self._entries) - 1
        if place >= 0:
            self._choose_stage(place)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose_at(self.cursorForPosition(event.position().toPoint()).position())
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        event.accept()  # Qt leaves one that opens no link to the page around

    def menu_at(self, place: QPoint) -> QMenu:
        if not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(place))
        return super().menu_at(place)

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        """Keys that move the cursor choose its stage, and Enter its token."""
        cursor = self.textCursor()
        text = self._text_at(cursor.position())
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers()
        if enter and not cursor.charFormat().isAnchor() and text is not None:
            token = text.token_at(text.places.character(cursor.position()))
            if token is not None:
                self._choose(text, token)
                return
        super().keyPressEvent(event)
        if self.textCursor().position() != cursor.position():
            self._choose_at(self.textCursor().position())


def _is_note(row: RunRow, stage: StageState) -> bool:
    """Whether a row is written beside the stage's text: not the stage itself, nor an answer that is its text."""
    answers = [event for event in row.events if isinstance(event, FinalAnswer)]
    return bool(row.events) and not any(
        each.text.strip() in stage.text and not each.recovered for each in answers
    )


def _shape(*, above: int, below: int = 0) -> QtGui.QTextBlockFormat:
    shape = QtGui.QTextBlockFormat()
    shape.setTopMargin(above)
    shape.setBottomMargin(below)
    shape.setRightMargin(_SIDE)
    return shape
