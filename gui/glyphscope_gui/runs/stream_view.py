"""The stream: the text of a run's stages while it is written, with the verdict beside each field."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtWidgets import QMenu, QTextEdit, QToolTip, QWidget
from shiboken6 import isValid

from glyphscope.base.figures import percent
from glyphscope.events import Token
from glyphscope.explain.retokenization import TokenBoundaries
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.answer_parts import is_header
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.stage_text import StageText
from glyphscope_gui.runs.text_view import TextView, looks_of
from glyphscope_gui.runs.token_table import ORIGINS, cut_words, final, raw
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import step_text
from glyphscope_gui.slices import Slices, Steps
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, use_font

_NOTHING = tr("Nothing was written here.")
ABOVE = 8
"""Pixels above the letters of a line at the upper edge, and below those at the lower one."""
_EMPTY = tr("Press Run: the answer appears here, token by token.")


class StreamView(FollowsLooks, TextView):
    """The text of a stage, read-only. `tokenChosen` carries the index of a clicked token in the shown stage."""

    tokenChosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "streamView", tr("The answer as it is being written"))
        self.setReadOnly(True)
        self.setOpenLinks(False)
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
        self.copying: Sequence[QtGui.QAction] = ()
        """The actions of the context menu besides copying the selection."""
        self._slices = Slices(self)
        """Write a long text again."""
        self._selected: Token | None = None
        self.texts: list[StageText] = []
        """In the order of the document."""
        self._clear()
        self.shown = self._begin_text(StageState())
        """The text of the stage that the other views show."""
        self.verticalScrollBar().valueChanged.connect(self._place_headers)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, round(self.looks.metrics.height() * 2.9))

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        self._slices.finish()
        if shown.stage is not self.shown.stage:
            self._selected = None
            self._clear()
            self.shown = self._begin_text(shown.stage)
        self.shown.show_new(shown)
        self.viewport().update()

    def show_continuation(self, text: str) -> None:
        """Append what is new in the text of the continuation, crossed out."""
        self.shown.show_continuation(text)
        self.show_character(next(iter(self.shown.decided), 0))

    @property
    def decided_characters(self) -> tuple[int, ...]:
        """The deciding characters that are marked in the shown stage."""
        return tuple(self.shown.decided)

    def select_token(self, token: Token | None) -> None:
        """Frame the characters of this token of the shown stage."""
        self._selected = token
        if token is not None and token.end <= self.shown.places.characters:
            self.shown.parts.reveal(token.start)
            self.show_character(token.start)
        self.viewport().update()

    def show_character(self, character: int) -> None:
        """Scroll no more than needed to make that character of the shown stage visible."""
        text = self.shown
        cursor = QtGui.QTextCursor(self.document())
        cursor.setPosition(min(text.places.position(character), self.document().characterCount() - 1))
        if not cursor.block().isVisible():
            return
        box = self.cursorRect(cursor).adjusted(0, -text.parts.room_above(character), 0, 0)
        bar = self.verticalScrollBar()
        if box.top() < 0:
            bar.setValue(bar.value() + box.top() - ABOVE)
        elif box.bottom() > self.viewport().height():
            bar.setValue(self._line_from(bar.value() + box.bottom() - self.viewport().height() + ABOVE))

    def _line_from(self, height: int) -> int:
        """Where the first line begins that is whole below that height of the document."""
        cursor = QtGui.QTextCursor(self.document())
        start, end = self._position_at(height)
        for position in (start, min(end + 1, self.document().characterCount() - 1)):
            cursor.setPosition(position)
            top = self.cursorRect(cursor).top() + self.verticalScrollBar().value() - ABOVE
            if top >= height:
                return top
        return height

    def set_boundaries(self, cut: TokenBoundaries) -> None:
        """Set which tokens of the shown stage are not the model's own, for their hints."""
        self.shown.cut = cut

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        at_end = self._is_at_end()
        super().resizeEvent(event)
        self._place_headers()
        if self.shown.decided:
            self.show_character(next(iter(self.shown.decided)))
        elif self._selected is not None and self._selected.end <= self.shown.places.characters:
            self.show_character(self._selected.start)
        elif at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _is_at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    # -- text --------------------------------------------------------------------------------------------------

    def _clear(self) -> None:
        """Empty the document, in the present theme and text size."""
        self.looks = looks_of(self.LARGER)
        use_font(self, mono_font, self.LARGER)
        self.document().setDefaultFont(self.font())
        for text in self.texts:
            text.parts.end()
        self.texts = []
        self.clear()
        self.setExtraSelections([])

    def _begin_text(self, stage: StageState, place: int = 0) -> StageText:
        self.texts.append(StageText(self, stage, place))
        return self.texts[-1]

    def edit(self, change: Callable[[QtGui.QTextCursor], None]) -> None:
        """Edit in one block, at the document's end; the view stays at the end if it was there."""
        at_end = self._is_at_end()
        cursor = QtGui.QTextCursor(self.document())
        cursor.movePosition(QtGui.QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        change(cursor)
        cursor.endEditBlock()
        if at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def mark_decided(self) -> None:
        """Mark the deciding characters, and cross out text after the answer."""
        self.setExtraSelections([mark for text in self.texts for mark in text.marks()])

    def _restyle(self) -> None:
        """Write the same text in the present looks, in the same place; the old picture is kept meanwhile."""
        self._slices.finish()
        self._slices.begin(self._write_again())

    def _write_again(self) -> Steps:
        at = None if self._is_at_end() else self.verticalScrollBar().value()
        self.setUpdatesEnabled(False)
        try:
            yield from self._texts_again()
            self.mark_decided()
            if at is not None:
                self.verticalScrollBar().setValue(at)
        finally:
            if isValid(self):
                self.setUpdatesEnabled(True)

    def _texts_again(self) -> Steps:
        text, continuation = self.shown, self.shown.continuation
        shown = ShownStage(stage=text.stage, over=not text.is_growing)
        request = text.parts.request
        self._clear()
        self.texts = [text]
        text.continuation = ""
        text.begin(0, keep=True)
        yield from text.write(shown)
        text.parts.request = request
        if continuation:
            text.show_continuation(continuation)

    # -- places ------------------------------------------------------------------------------------------------

    def sight(self) -> tuple[int, int]:
        """The positions of the document in the visible lines.

        Qt's own function for the text at a point returns a hidden block if the point is between two others.
        """
        top = self.verticalScrollBar().value()
        return self._position_at(top)[0], self._position_at(top + self.viewport().height())[1]

    def _position_at(self, height: float) -> tuple[int, int]:
        """The positions at the beginning and at the end of the line at that height of the document."""
        block = self.block_at(height)
        inside = height - self.document().documentLayout().blockBoundingRect(block).top()
        text, line = block.layout(), 0
        while line + 1 < text.lineCount() and text.lineAt(line + 1).y() <= inside:
            line += 1
        if not text.lineCount():
            return block.position(), block.position() + block.length() - 1
        found = text.lineAt(line)
        return block.position() + found.textStart(), block.position() + found.textStart() + found.textLength()

    def block_at(self, height: float) -> QtGui.QTextBlock:
        """The visible block at that height of the document, or the last one above it."""
        document = self.document()
        layout = document.documentLayout()
        found = document.begin()
        low, high = 0, document.blockCount() - 1
        while low <= high:
            middle = (low + high) // 2
            block = document.findBlockByNumber(middle)
            while block.blockNumber() > low and not block.isVisible():
                text = self._text_at(block.position())
                block = (block if text is None else text.parts.top_of(block)).previous()
            if not block.isVisible():
                low = middle + 1
            elif layout.blockBoundingRect(block).top() <= height:
                found, low = block, middle + 1
            else:
                high = block.blockNumber() - 1
        return found

    def _text_at(self, position: int) -> StageText | None:
        """The stage's text that contains that position of the document."""
        index = bisect_right(self.texts, position, key=lambda text: text.base) - 1
        return self.texts[index] if index >= 0 and position <= self.texts[index].end else None

    def _token_at(self, place: QPoint) -> tuple[StageText, Token] | None:
        """The token at that place of the viewport, and its stage's text."""
        cursor = self.cursorForPosition(place)
        text = self._text_at(cursor.position())
        if text is None or is_header(cursor.block()) or not cursor.block().isVisible():
            return None
        box = self.cursorRect(cursor)
        character = text.places.character(cursor.position())
        behind = cursor.position() > text.places.position(character)  # at a line end that is not in the text
        if place.x() < box.left() and not behind:  # the cursor snaps to the nearest gap
            character -= 1
        token = text.token_at(character)
        return None if token is None else (text, token)

    def _choose(self, text: StageText, token: Token) -> None:
        """Request that the other views show this token."""
        self.tokenChosen.emit(token.step.index)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            found = self._token_at(event.position().toPoint())
            if found is not None:
                self._choose(*found)

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        self.menu_at(event.pos()).popup(event.globalPos())

    def menu_at(self, place: QPoint) -> QMenu:
        """The actions for the text, and for the token there, which is chosen; the menu deletes itself when
        closed.
        """
        found = self._token_at(place)
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self.copying)
        if found is not None and self.actions():
            self._choose(*found)
            menu.addSeparator()
            menu.addActions(self.actions())
        return menu

    def tip(self, token: Token) -> str:
        """The hint on a token of the shown stage."""
        return _tip(token) + cut_words(self.shown.cut, token.step)

    def _tip_at(self, place: QPoint) -> str:
        found = self._token_at(place)
        return "" if found is None else _tip(found[1]) + cut_words(found[0].cut, found[1].step)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QtGui.QHelpEvent):
            tip = self._tip_at(event.pos())
            QToolTip.showText(event.globalPos(), plain_tip(tip) if tip else "", self)
            return True
        return super().viewportEvent(event)

    def _place_headers(self) -> None:
        for text in self.texts:
            text.parts.place_headers()

    # -- painting ----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = self._painter()
        if self._has_nothing:
            self._paint_empty(painter)
            painter.end()
            return
        sight = self.sight()
        self._paint_margin(painter, sight)
        above = [text.paint_below(painter, sight) for text in self.texts]
        painter.end()
        super().paintEvent(event)
        painter = self._painter()
        font = QtGui.QFont(self.font())
        font.setPointSizeF(max(font.pointSizeF() * 0.58, 6))
        font.setWeight(QtGui.QFont.Weight.Bold)
        painter.setFont(font)
        for paint in above:
            if paint is not None:
                paint(painter)
        self._paint_selected(painter)
        painter.end()

    @property
    def _has_nothing(self) -> bool:
        """Whether nothing is written."""
        return self.document().isEmpty()

    def _painter(self) -> QtGui.QPainter:
        """A painter in the document's coordinates."""
        painter = QtGui.QPainter(self.viewport())
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        painter.translate(-self.horizontalScrollBar().value(), -self.verticalScrollBar().value())
        return painter

    def _paint_margin(self, painter: QtGui.QPainter, sight: tuple[int, int]) -> None:
        """Paint the margin on the left of the text, if there is one."""

    def _boxes(self, start: int, end: int) -> list[QRectF]:
        return self.shown.boxes(start, end)

    def _paint_selected(self, painter: QtGui.QPainter) -> None:
        token = self._selected
        if token is None:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QtGui.QPen(theme().color("accent"), 1.6))
        for box in self.shown.boxes(token.start, token.end):
            painter.drawRoundedRect(box.adjusted(-1.5, -3, 1.5, 4), 3, 3)

    def _paint_empty(self, painter: QtGui.QPainter) -> None:
        painter.setFont(mono_font(0))
        painter.setPen(theme().color("text-faint"))
        nothing = _NOTHING if self.shown.stage.finished is not None else _EMPTY
        words = tr("Waiting for the first token…") if self.shown.is_growing else nothing
        painter.drawText(
            QRectF(self.viewport().rect()).adjusted(10, 12, -8, -8),
            Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap,
            words,
        )


def _tip(token: Token) -> str:
    step = token.step
    how = (
        tr("forced by the grammar")
        if step.forced
        else tr("raw {raw}, final {probability}", raw=percent(raw(step)), probability=percent(final(step)))
    )
    whose = "" if step.origin == "model" else f"\n{ORIGINS[step.origin]}"
    return tr("Token {index}  {text}\n{about}", index=step.index, text=step_text(step), about=how) + whose
