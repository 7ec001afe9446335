"""One stage's text in a document, with the verdict beside each field: what of it is written, and how it is painted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QTextBlock, QTextCharFormat, QTextCursor, QTextLine
from PySide6.QtWidgets import QTextEdit

from glyphscope.base.visible import visible
from glyphscope.events import Token
from glyphscope.explain.retokenization import TokenBoundaries
from glyphscope.runs import FieldState
from glyphscope.runs.state import StageState
from glyphscope_gui.runs.answer_parts import AnswerParts, Formats
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.text_view import TextView
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.shared.text_places import TextPlaces
from glyphscope_gui.shared.verdict import FORCED, VERDICTS, Verdict, paint_line, paint_lines
from glyphscope_gui.slices import Steps
from glyphscope_gui.theme import theme

_AT_ONCE = 1000
"""Tokens in one step of a long text."""
_AROUND = 600
"""Characters before and after the visible ones that are painted too: more than a line has."""


class StageText:
    """The text of a stage at the end of the document of `view`; `place` is that of the stage in its run.

    Only what is new is written. Nothing may follow it in the document while it is written (`TextView.edit`).
    """

    def __init__(self, view: TextView, stage: StageState, place: int = 0) -> None:
        self.view = view
        self.stage = stage
        self.place = place
        self.continuation = ""
        """The text of the continuation, which follows the stage's text."""
        self.is_growing = False
        self.cut = TokenBoundaries(unknown=tr("not compared"))
        """Which of the tokens are not the model's own."""
        self.parts = AnswerParts(view)
        self.begin(0)

    def begin(self, base: int, *, keep: bool = False) -> None:
        """Begin an empty text at that position of the document; `keep` keeps parts collapsed."""
        self.base = base
        self.places = TextPlaces(base)
        self._tokens = self._touched = 0
        """The numbers of tokens, and of changes of calls, that are shown."""
        self._parted = StageState().parted
        self._containers: set[tuple[int, str]] = set()
        self.decided: dict[int, None] = {}
        self._parting: int | None = None
        self._kept = False
        looks = self.view.looks
        self.parts.reset(self.stage, self.places, Formats(looks.plain, looks.forced), keep=keep)

    @property
    def has_new(self) -> bool:
        """Whether the stage has text, or parts, that are not written."""
        return len(self.stage.tokens) > self._tokens or self.stage.parted != self._parted

    @property
    def end(self) -> int:
        """The document's position after the text."""
        return self.places.position(self.places.characters)

    # -- writing -----------------------------------------------------------------------------------------------

    def write(self, shown: ShownStage) -> Steps:
        """Show what is not yet shown of the stage, so many tokens in a step as are shown within one slice."""
        while self._tokens + _AT_ONCE < len(self.stage.tokens):
            self.show_new(shown, self._tokens + _AT_ONCE)
            yield
        self.show_new(shown)

    def show_new(self, shown: ShownStage, until: int | None = None) -> None:
        """Show what is not yet shown of the stage, to the token with the number `until`; in an answer of several parts,
        from the first changed part on.
        """
        self.parts.request = shown.request
        ended, self.is_growing = self.is_growing and not shown.is_growing, shown.is_growing
        state, parted = self.stage, self._parted
        tokens, touched = state.tokens[self._tokens : until], state.touched[self._touched :]
        self._tokens += len(tokens)
        self._touched, self._parted = len(state.touched), state.parted
        self._containers.update((call, path.rpartition("/")[0]) for call, path in touched if path is not None)
        if state.segments and (tokens or state.parted != parted):
            end = state.tokens[self._tokens - 1].end if self._tokens else 0
            self.view.edit(lambda cursor: self.parts.write(cursor, end))
            self.parts.place_headers()
        elif tokens:
            self._insert(
                ("".join(token.step.text for token in group), forced)
                for forced, group in groupby(tokens, key=lambda token: token.step.forced)
            )
        self._look_for_parting(tokens)
        decided, stop = len(self.decided), state.stop_string
        for event in (*state.violations, *((state.aborted,) if state.aborted is not None else ())):
            if stop is None or event.char < stop.char:
                self.decided.setdefault(event.char)
        if ended or state.parted != parted or len(self.decided) != decided or stop is not None:
            self.view.mark_decided()
            self.parts.place_headers()

    def show_continuation(self, text: str) -> None:
        """Append what is new in the text of the continuation, crossed out."""
        new = text[len(self.continuation) :]
        begins, self.continuation = not self.continuation, text
        looks = self.view.looks

        def insert(cursor: QTextCursor) -> None:
            if new and begins:
                cursor.insertText(self.places.break_line(), looks.continuation)
                if self.parts.is_used:
                    cursor.setBlockFormat(looks.block)
            cursor.insertText(self.places.add(visible(new, lines=True, single=True)), looks.continuation)

        self.view.edit(insert)

    def marks(self) -> Iterator[QTextEdit.ExtraSelection]:
        """The deciding character, in the colour of its verdict, and text after the answer, crossed out."""
        stop = self.stage.stop_string
        if stop is not None and stop.char < self.places.characters:
            mark = self._mark(stop.char, self.places.characters)
            mark.format = QTextCharFormat(self.view.looks.continuation)
            yield mark
        for character in self.decided:
            if character < self.places.characters:
                mark = self._mark(character, character + 1)
                mark.cursor.setKeepPositionOnInsert(True)  # the continuation after it is not decided
                mark.format.setForeground(theme().color("on-impossible"))
                yield mark

    def _mark(self, start: int, end: int) -> QTextEdit.ExtraSelection:
        """These characters, with no format yet."""
        return marked(self.view.document(), self.places.position(start), self.places.position(end))

    def _insert(self, pieces: Iterable[tuple[str, bool]]) -> None:
        """Insert pieces of the text, each forced or not."""
        looks = self.view.looks

        def insert(cursor: QTextCursor) -> None:
            if not self.places.characters:
                cursor.setBlockFormat(looks.block)
            for text, forced in pieces:
                shown = self.places.add(visible(text, lines=True, single=True))
                if shown:
                    cursor.insertText(shown, looks.forced if forced else looks.plain)

        self.view.edit(insert)

    def _look_for_parting(self, tokens: Iterable[Token]) -> None:
        """Find the character at which a branch diverges from its parent run."""
        for token in tokens:
            origin = token.step.origin
            if self._parting is None and (origin == "written" or (self._kept and origin == "model")):
                self._parting = token.start
            self._kept = self._kept or origin == "kept"

    # -- places ------------------------------------------------------------------------------------------------

    def token_at(self, character: int) -> Token | None:
        """The token that wrote that character."""
        tokens = self.stage.tokens
        index = bisect_right(tokens, character, key=lambda token: token.start) - 1
        while index >= 0 and tokens[index].start == tokens[index].end:
            index -= 1
        return tokens[index] if index >= 0 and character < tokens[index].end else None

    def boxes(self, start: int, end: int) -> list[QRectF]:
        """The place of these characters, a box for each line, in the document's coordinates."""
        return list(self._boxes([(start, end)]))

    def _boxes(self, ranges: Iterable[tuple[int, int]]) -> Iterator[QRectF]:
        """The boxes of several ranges of characters, each after the one before. One block of text has many: what is
        read of it is read once.
        """
        document, layout = self.view.document(), self.view.document().documentLayout()
        ascent, descent = self.view.looks.metrics.ascent(), self.view.looks.metrics.descent()
        block, known = QTextBlock(), -1
        for start, end in ranges:
            if (end := min(end, self.places.characters)) <= start:
                continue
            position, stop = self.places.position(start), self.places.position(end)
            if not (block.isValid() and block.contains(position)):
                block = document.findBlock(position)
            while block.isValid() and (first := block.position()) < stop:
                if block.isVisible():
                    if known != first:
                        known, top, text = first, layout.blockBoundingRect(block).topLeft(), block.layout()
                        lines, length = text.lineCount(), block.length() - 1
                    a, b = max(position - first, 0), min(stop - first, length)
                    number = text.lineForTextPosition(a).lineNumber() if a < b else lines
                    while number < lines and (begin := (line := text.lineAt(number)).textStart()) < b:
                        left, right = _x(line, max(a, begin)), _x(line, min(b, begin + line.textLength()))
                        base = top.y() + line.y() + line.ascent()
                        yield QRectF(top.x() + left, base - ascent, right - left, ascent + descent)
                        number += 1
                if first + block.length() >= stop:
                    break
                block = block.next()

    # -- painting, in the document's coordinates ---------------------------------------------------------------

    def paint_below(self, painter: QPainter, sight: tuple[int, int]) -> Callable[[QPainter], None] | None:
        """Paint what is below the text between two positions of the document; returns what paints the rest above it,
        None if nothing of the text is in sight.
        """
        if sight[1] < self.base or sight[0] > self.end or not self.places.characters:
            return None
        first, last = self.places.character(sight[0]), self.places.character(sight[1]) + 1
        top, bottom = first - _AROUND, last + _AROUND  # the ends of a partly painted field are not visible
        fields = [
            (f, self.boxes(max(f.start or 0, top), min(f.end, bottom))) for f in self._fields(first, last)
        ]
        self.parts.paint(painter, first, last, self.boxes)
        self._paint_forced(painter, first, last)
        for field, boxes in fields:
            _paint_ground(painter, VERDICTS[field.status], boxes)
        self._paint_decided(painter)
        signs = [(field, boxes[-1]) for field, boxes in fields if boxes and field.end <= bottom]

        def paint_above(painter: QPainter) -> None:
            for field, box in signs:
                verdict = VERDICTS[field.status]
                painter.setPen(theme().color(verdict.role))
                painter.drawText(QPointF(box.right() + 1.5, box.top() + 2), verdict.sign)
            self._paint_parting(painter)
            self._paint_end(painter)

        return paint_above

    def _fields(self, first: int, last: int) -> Iterator[FieldState]:
        """The innermost fields in sight."""
        calls = self.parts.calls_between(first, last) if self.stage.segments else (0,)
        for call in calls:
            for path, field in self.stage.call_at(call).fields.items():
                if field.start is None or (call, path) in self._containers:
                    continue
                if field.start < last and field.end > first:
                    yield field

    def _paint_forced(self, painter: QPainter, first: int, last: int) -> None:
        tokens = self.stage.tokens
        for begin, end in self.parts.in_sight(first, last):
            start = max(bisect_right(tokens, begin, key=lambda token: token.start) - 1, 0)
            stop = bisect_right(tokens, end, key=lambda token: token.start)
            runs = (
                [*group]
                for forced, group in groupby(tokens[start:stop], key=lambda token: token.step.forced)
                if forced
            )
            boxes = self._boxes((run[0].start, run[-1].end) for run in runs)
            lines = [QLineF(box.left(), box.bottom() + 3, box.right(), box.bottom() + 3) for box in boxes]
            paint_lines(painter, FORCED, lines)

    def _paint_decided(self, painter: QPainter) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("impossible"))
        for character in self.decided:
            for box in self.boxes(character, character + 1):
                painter.drawRoundedRect(box.adjusted(-0.5, -2, 0.5, 3), 2.5, 2.5)

    def _paint_parting(self, painter: QPainter) -> None:
        """Paint a dashed line where a branch diverges from its parent run."""
        boxes = self.boxes(self._parting, self._parting + 1) if self._parting is not None else []
        if boxes:
            left = boxes[0].left() - 1.5
            painter.setPen(QPen(theme().color("accent"), 1.6, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(left, boxes[0].top() - 9), QPointF(left, boxes[0].bottom() + 7))

    def _paint_end(self, painter: QPainter) -> None:
        """Paint a bar at the end of the text while it grows, or if the run aborted."""
        stopped = self.stage.aborted is not None
        if not self.is_growing and not stopped:
            return
        end = self.stage.tokens[-1].end if self.stage.tokens else 0
        boxes = self.boxes(end - 1, end)
        if boxes:
            box = boxes[-1]
            bar = QRectF(box.right() + (9 if stopped else 2), box.top() - 2, 2.4, box.height() + 4)
            painter.fillRect(bar, theme().color("impossible-line" if stopped else "accent"))


def _paint_ground(painter: QPainter, verdict: Verdict, boxes: list[QRectF]) -> None:
    for box in boxes:
        ground = box.adjusted(-1, -2, 1, 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color(f"{verdict.role}-soft"))
        painter.drawRoundedRect(ground, 3, 3)
        paint_line(painter, verdict, ground.left(), ground.right(), ground.bottom())


def _x(line: QTextLine, position: int) -> float:
    """The x of a position, which PySide returns together with the position."""
    found: tuple[float, int] | float = line.cursorToX(position)  # type: ignore[assignment]
    return found[0] if isinstance(found, tuple) else found
