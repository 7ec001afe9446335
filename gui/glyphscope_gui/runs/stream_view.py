"""The stream: the call while it is written, with the verdict beside each field."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextLine,
)
from PySide6.QtWidgets import QMenu, QTextEdit, QToolTip, QWidget

from glyphscope.base.figures import percent
from glyphscope.base.visible import visible
from glyphscope.events import Token
from glyphscope.explain.retokenization import TokenBoundaries
from glyphscope.runs import FieldState
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.answer_parts import AnswerParts, Formats, is_header
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_table import ORIGINS, cut_words, final, raw
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import step_text
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.shared.text_places import TextPlaces
from glyphscope_gui.shared.verdict import FORCED, VERDICTS, Verdict, paint_line
from glyphscope_gui.theme import FollowsLooks, mono_font, theme

LINE_HEIGHT = 165
"""In percent of the font's line height: room for the lines below a field and the sign above its end."""
_AROUND = 600
"""Characters before and after the visible ones that are painted too: more than a line has."""
_NOTHING = tr("Nothing was written here.")
_EMPTY = tr("Press Run: the call appears here, token by token.")


class StreamView(FollowsLooks, QTextEdit):
    """The stream, read-only. `tokenChosen` carries the index of a clicked token."""

    tokenChosen = Signal(object)
    LARGER: float = 4
    """Points by which the text is larger than the interface's."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "streamView", tr("The call as it is being written"))
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(10)
        self.copying: Sequence[QAction] = ()
        """The actions of the context menu besides copying the selection."""
        self._selected: Token | None = None
        self._running = False
        self._continuation = ""
        """The text of the continuation, which follows the stage's text."""
        self._parts = AnswerParts(self, self.LARGER)
        self._reset(StageState())
        self.verticalScrollBar().valueChanged.connect(self._parts.place_headers)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, round(self._metrics.height() * 2.9))

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        if shown.stage is not self._state:
            self._selected, self._continuation = None, ""
            self._reset(shown.stage)
        self._parts.request = shown.request
        ended, self._running = self._running and not shown.is_growing, shown.is_growing
        self._show_new()
        if ended:
            self._mark_decided()
            self._parts.place_headers()
        self.viewport().update()

    def show_continuation(self, text: str) -> None:
        """Append what is new in the text of the continuation, crossed out."""
        new = text[len(self._continuation) :]
        if new and not self._continuation:
            self._insert_raw([(self._places.break_line(), self._continuation_format)])
            if self._parts.is_used:
                self._edit(lambda cursor: cursor.setBlockFormat(self._block))
        self._continuation = text
        self._insert([(new, self._continuation_format)])
        self._show_character(next(iter(self._decided), 0))

    @property
    def decided_characters(self) -> tuple[int, ...]:
        """The deciding characters that are marked."""
        return tuple(self._decided)

    def select_token(self, token: Token | None) -> None:
        """Frame this token's characters."""
        self._selected = token
        if token is not None and token.end <= self._places.characters:
            self._parts.reveal(token.start)
            self._show_character(token.start)
        self.viewport().update()

    def show_character(self, character: int) -> None:
        """Scroll to the part that begins at that character."""
        self._show_character(character)
        self._parts.place_headers()

    def resizeEvent(self, event: QResizeEvent) -> None:
        at_end = self._is_at_end()
        super().resizeEvent(event)
        self._parts.place_headers()
        if self._decided:
            self._show_character(next(iter(self._decided)))
        elif self._selected is not None and self._selected.end <= self._places.characters:
            self._show_character(self._selected.start)
        elif at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _is_at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def _show_character(self, character: int) -> None:
        """Scroll no more than needed to make that character visible."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(self._places.position(character), self.document().characterCount() - 1))
        if not cursor.block().isVisible():
            return
        box = self.cursorRect(cursor).adjusted(0, -self._parts.room_above(character), 0, 0)
        bar = self.verticalScrollBar()
        if box.top() < 0:
            bar.setValue(bar.value() + box.top() - 8)
        elif box.bottom() > self.viewport().height():
            bar.setValue(bar.value() + box.bottom() - self.viewport().height() + 8)

    # -- text --------------------------------------------------------------------------------------------------

    def _reset(self, state: StageState, *, keep: bool = False) -> None:
        """Start over with this stage; `keep` keeps parts collapsed."""
        self._state = state
        self._cut = TokenBoundaries(unknown=tr("not compared"))
        self._places = TextPlaces()
        self._tokens = self._touched = 0
        """The numbers of tokens, and of changes of calls, that are shown."""
        self._parted = StageState().parted
        self._containers: set[tuple[int, str]] = set()
        self._decided: dict[int, None] = {}
        self._parting: int | None = None
        self._kept = False
        self._make_formats()
        formats = Formats(self._format, self._forced_format)
        self._parts.reset(state, self._places, formats, keep=keep)
        self.clear()
        self.setExtraSelections([])

    def _make_formats(self) -> None:
        font = mono_font(self.LARGER)
        self.setFont(font)
        self.document().setDefaultFont(font)
        self._metrics = QFontMetricsF(font)
        self._format, self._forced_format, self._continuation_format = (QTextCharFormat() for _ in range(3))
        for format_, role in (
            (self._format, "text"),
            (self._forced_format, "forced"),
            (self._continuation_format, "text-faint"),
        ):
            format_.setFont(font)
            format_.setForeground(theme().color(role))
        self._continuation_format.setFontStrikeOut(True)
        self._block = QTextBlockFormat()
        self._block.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)

    def _look_for_parting(self, tokens: Iterable[Token]) -> None:
        """Find the character at which a branch diverges from its parent run."""
        for token in tokens:
            origin = token.step.origin
            if self._parting is None and (origin == "written" or (self._kept and origin == "model")):
                self._parting = token.start
            self._kept = self._kept or origin == "kept"

    def _show_new(self) -> None:
        """Show what is not yet shown of the stage; in an answer of several parts, from the first changed part on."""
        state, parted = self._state, self._parted
        tokens, touched = state.tokens[self._tokens :], state.touched[self._touched :]
        self._tokens, self._touched, self._parted = len(state.tokens), len(state.touched), state.parted
        self._containers.update((call, path.rpartition("/")[0]) for call, path in touched if path is not None)
        if state.segments and (tokens or state.parted != parted):
            self._edit(self._parts.write)
            self._parts.place_headers()
        elif tokens:
            self._insert_tokens(tokens)
        self._look_for_parting(tokens)
        decided, stop = len(self._decided), state.stop_string
        for event in (*state.violations, *((state.aborted,) if state.aborted is not None else ())):
            if stop is None or event.char < stop.char:
                self._decided.setdefault(event.char)
        if state.parted != parted or len(self._decided) != decided or stop is not None:
            self._mark_decided()

    def _insert_tokens(self, tokens: list[Token]) -> None:
        self._insert(
            [
                ("".join(t.step.text for t in group), self._forced_format if forced else self._format)
                for forced, group in groupby(tokens, key=lambda token: token.step.forced)
            ]
        )

    def _insert(self, pieces: Iterable[tuple[str, QTextCharFormat]]) -> None:
        """Insert pieces of the run's text."""
        self._insert_raw(
            (self._places.add(visible(text, lines=True, single=True)), format_)
            for text, format_ in pieces
            if text
        )

    def _insert_raw(self, pieces: Iterable[tuple[str, QTextCharFormat]]) -> None:
        def insert(cursor: QTextCursor) -> None:
            if self.document().isEmpty():
                cursor.setBlockFormat(self._block)
            for text, format_ in pieces:
                cursor.insertText(text, format_)

        self._edit(insert)

    def _edit(self, change: Callable[[QTextCursor], None]) -> None:
        """Edit in one block, at the document's end; the view stays at the end if it was there."""
        at_end = self._is_at_end()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        change(cursor)
        cursor.endEditBlock()
        if at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _mark_decided(self) -> None:
        """Mark the deciding character with the colour of its verdict, and cross out text after the answer."""
        marks = []
        stop = self._state.stop_string
        if stop is not None and stop.char < self._places.characters:
            marks.append(self._mark(stop.char, self._places.characters))
            marks[0].format = QTextCharFormat(self._continuation_format)
        for character in self._decided:
            if character < self._places.characters:
                mark = self._mark(character, character + 1)
                mark.cursor.setKeepPositionOnInsert(True)  # the continuation after it is not decided
                mark.format.setForeground(theme().color("on-impossible"))
                marks.append(mark)
        self.setExtraSelections(marks)

    def _mark(self, start: int, end: int) -> QTextEdit.ExtraSelection:
        """These characters, with no format yet."""
        return marked(self.document(), self._places.position(start), self._places.position(end))

    def _restyle(self) -> None:
        """Write the same text in the colours of another theme."""
        cut, continuation, self._continuation = self._cut, self._continuation, ""
        self._reset(self._state, keep=True)
        self._cut = cut
        self._show_new()
        if continuation:
            self.show_continuation(continuation)
        self._mark_decided()

    # -- tokens under the pointer ------------------------------------------------------------------------------

    def _token_at(self, place: QPoint) -> Token | None:
        cursor = self.cursorForPosition(place)
        if is_header(cursor.block()) or not cursor.block().isVisible():
            return None
        box = self.cursorRect(cursor)
        character = self._places.character(cursor.position())
        behind = cursor.position() > self._places.position(character)  # at a line end that is not in the text
        if place.x() < box.left() and not behind:  # the cursor snaps to the nearest gap
            character -= 1
        tokens = self._state.tokens
        index = bisect_right(tokens, character, key=lambda token: token.start) - 1
        while index >= 0 and tokens[index].start == tokens[index].end:
            index -= 1
        return tokens[index] if index >= 0 and character < tokens[index].end else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            token = self._token_at(event.position().toPoint())
            if token is not None:
                self.tokenChosen.emit(token.step.index)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_at(event.pos()).popup(event.globalPos())

    def menu_at(self, place: QPoint) -> QMenu:
        """The actions for the text, and for the token there, which is chosen; the menu deletes itself when
        closed.
        """
        token = self._token_at(place)
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self.copying)
        if token is not None and self.actions():
            self.tokenChosen.emit(token.step.index)
            menu.addSeparator()
            menu.addActions(self.actions())
        return menu

    def set_boundaries(self, cut: TokenBoundaries) -> None:
        """Set which of the tokens are not the model's own, for their hints."""
        self._cut = cut

    def tip(self, token: Token) -> str:
        """The hint on a token."""
        return _tip(token) + cut_words(self._cut, token.step)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            token = self._token_at(event.pos())
            QToolTip.showText(event.globalPos(), plain_tip(self.tip(token)) if token else "", self)
            return True
        return super().viewportEvent(event)

    # -- painting ----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._places.characters:
            self._paint_empty(painter)
            painter.end()
            return
        offset = QPointF(-self.horizontalScrollBar().value(), -self.verticalScrollBar().value())
        painter.translate(offset)
        first, last = self._visible()
        top, bottom = first - _AROUND, last + _AROUND  # the ends of a partly painted field are not visible
        fields = [
            (f, self._boxes(max(f.start or 0, top), min(f.end, bottom))) for f in self._fields(first, last)
        ]
        self._parts.paint(painter, first, last, self._boxes)
        self._paint_forced(painter, first, last)
        for field, boxes in fields:
            self._paint_ground(painter, VERDICTS[field.status], boxes)
        self._paint_decided(painter)
        painter.end()
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(offset)
        self._set_sign_font(painter)
        for field, boxes in fields:
            if boxes and field.end <= bottom:
                verdict = VERDICTS[field.status]
                painter.setPen(theme().color(verdict.role))
                painter.drawText(QPointF(boxes[-1].right() + 1.5, boxes[-1].top() + 2), verdict.sign)
        self._paint_selected(painter)
        self._paint_parting(painter)
        self._paint_end(painter)
        painter.end()

    def _visible(self) -> tuple[int, int]:
        """The characters in sight."""
        if self._parts.is_used:
            return self._parts.visible()
        rect = self.viewport().rect()
        first = self.cursorForPosition(rect.topLeft()).position()
        last = self.cursorForPosition(rect.bottomRight()).position()
        return self._places.character(first), self._places.character(last) + 1

    def _fields(self, first: int, last: int) -> Iterator[FieldState]:
        """The innermost fields in sight."""
        calls = self._parts.calls_between(first, last) if self._state.segments else (0,)
        for call in calls:
            for path, field in self._state.call_at(call).fields.items():
                if field.start is None or (call, path) in self._containers:
                    continue
                if field.start < last and field.end > first:
                    yield field

    def _boxes(self, start: int, end: int) -> list[QRectF]:
        """The place of these characters, a box for each line, in the document's coordinates."""
        end = min(end, self._places.characters)
        if end <= start:
            return []
        document, layout = self.document(), self.document().documentLayout()
        position, stop = self._places.position(start), self._places.position(end)
        block = document.findBlock(position)
        ascent, descent = self._metrics.ascent(), self._metrics.descent()
        boxes = []
        while block.isValid() and block.position() < stop:
            if not block.isVisible():
                block = block.next()
                continue
            top = layout.blockBoundingRect(block).topLeft()
            text = block.layout()
            a, b = max(position - block.position(), 0), min(stop - block.position(), block.length() - 1)
            number = text.lineForTextPosition(a).lineNumber() if a < b else text.lineCount()
            while number < text.lineCount():
                line = text.lineAt(number)
                begin = line.textStart()
                if begin >= b:
                    break
                left, right = _x(line, max(a, begin)), _x(line, min(b, begin + line.textLength()))
                base = top.y() + line.y() + line.ascent()
                boxes.append(QRectF(top.x() + left, base - ascent, right - left, ascent + descent))
                number += 1
            block = block.next()
        return boxes

    def _paint_ground(self, painter: QPainter, verdict: Verdict, boxes: list[QRectF]) -> None:
        for box in boxes:
            ground = box.adjusted(-1, -2, 1, 3)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().color(f"{verdict.role}-soft"))
            painter.drawRoundedRect(ground, 3, 3)
            paint_line(painter, verdict, ground.left(), ground.right(), ground.bottom())

    def _paint_forced(self, painter: QPainter, first: int, last: int) -> None:
        tokens = self._state.tokens
        for begin, end in self._parts.in_sight(first, last):
            start = max(bisect_right(tokens, begin, key=lambda token: token.start) - 1, 0)
            stop = bisect_right(tokens, end, key=lambda token: token.start)
            for forced, group in groupby(tokens[start:stop], key=lambda token: token.step.forced):
                if forced:
                    run = list(group)
                    for box in self._boxes(run[0].start, run[-1].end):
                        paint_line(painter, FORCED, box.left(), box.right(), box.bottom() + 3)

    def _paint_decided(self, painter: QPainter) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("impossible"))
        for character in self._decided:
            for box in self._boxes(character, character + 1):
                painter.drawRoundedRect(box.adjusted(-0.5, -2, 0.5, 3), 2.5, 2.5)

    def _set_sign_font(self, painter: QPainter) -> None:
        font = QFont(self.font())
        font.setPointSizeF(max(font.pointSizeF() * 0.58, 6))
        font.setWeight(QFont.Weight.Bold)
        painter.setFont(font)

    def _paint_selected(self, painter: QPainter) -> None:
        token = self._selected
        if token is None:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme().color("accent"), 1.6))
        for box in self._boxes(token.start, token.end):
            painter.drawRoundedRect(box.adjusted(-1.5, -3, 1.5, 4), 3, 3)

    def _paint_parting(self, painter: QPainter) -> None:
        """Paint a dashed line where a branch diverges from its parent run."""
        boxes = self._boxes(self._parting, self._parting + 1) if self._parting is not None else []
        if boxes:
            left = boxes[0].left() - 1.5
            painter.setPen(QPen(theme().color("accent"), 1.6, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(left, boxes[0].top() - 9), QPointF(left, boxes[0].bottom() + 7))

    def _paint_end(self, painter: QPainter) -> None:
        """Paint a bar at the end of the text while it grows, or if the run aborted."""
        stopped = self._state.aborted is not None
        if not self._running and not stopped:
            return
        end = self._state.tokens[-1].end if self._state.tokens else 0
        boxes = self._boxes(end - 1, end)
        if boxes:
            box = boxes[-1]
            bar = QRectF(box.right() + (9 if stopped else 2), box.top() - 2, 2.4, box.height() + 4)
            painter.fillRect(bar, theme().color("impossible-line" if stopped else "accent"))

    def _paint_empty(self, painter: QPainter) -> None:
        font = QFont(mono_font(1))
        painter.setFont(font)
        painter.setPen(theme().color("text-faint"))
        nothing = _NOTHING if self._state.finished is not None else _EMPTY
        words = tr("Waiting for the first token…") if self._running else nothing
        painter.drawText(
            QRectF(self.viewport().rect()).adjusted(10, 12, -8, -8),
            Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap,
            words,
        )


def _x(line: QTextLine, position: int) -> float:
    """The x of a position, which PySide returns together with the position."""
    found: tuple[float, int] | float = line.cursorToX(position)  # type: ignore[assignment]
    return found[0] if isinstance(found, tuple) else found


def _tip(token: Token) -> str:
    step = token.step
    how = (
        tr("forced by the grammar")
        if step.forced
        else tr("raw {raw}, final {probability}", raw=percent(raw(step)), probability=percent(final(step)))
    )
    whose = "" if step.origin == "model" else f"\n{ORIGINS[step.origin]}"
    return tr("Token {index}  {text}\n{about}", index=step.index, text=step_text(step), about=how) + whose
