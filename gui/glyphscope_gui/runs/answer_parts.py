"""An answer of several parts in the stream's document: reasoning as a collapsible block, each call as a card.

Each part begins with an empty line of the document, the place of its header: a widget, so that keys and screen readers
reach it. In a document with a margin, the header is there, beside the part. Line ends between parts are shown as a
sign, so that markers take at most one line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QTextBlock, QTextBlockFormat, QTextCharFormat, QTextCursor

from glyphscope.base.visible import visible
from glyphscope.events import RunRequest
from glyphscope.explain.segments import EarlierCall, earlier_call
from glyphscope.runs import Segment, StageState
from glyphscope_gui.runs.part_header import PartHeader, PartWords, call_words, reasoning_words, text_words
from glyphscope_gui.runs.text_view import TextView
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.text_places import TextPlaces
from glyphscope_gui.theme import mono_font, theme

LONG = 280
"""Number of characters from which complete reasoning is collapsed."""
_OUTER = 8
"""Pixels between two parts."""
_INNER = 12
"""Pixels between a card's sides and its text; the margin below the text is a little larger."""
_HEAD = 1
"""The user state of a text block that is a header's line."""
_LINES = {"reasoning": 135, "text": 150, "call": 165, "marker": 125}
"""Height of a line by part, in percent of the font's: in a call there are lines and signs around fields."""
_SMALLER = {"reasoning": 2.5, "marker": 2.5}
"""Points by which the text is smaller than that of calls."""


class Formats(NamedTuple):
    """The formats of sampled and of forced text."""

    plain: QTextCharFormat
    forced: QTextCharFormat


class _Zone(NamedTuple):
    """The characters `first` to `stop` of the part with index `place`, which begins at `begin`; None: of the text
    between parts.
    """

    begin: int
    first: int
    stop: int
    place: int | None


class AnswerParts(QObject):
    """Writes a stage's text into the document of `view`, with a header for each of its parts."""

    def __init__(self, view: TextView) -> None:
        super().__init__(view)
        self._view = view
        self._headers: dict[int, PartHeader] = {}
        self._spare: list[PartHeader] = []
        self._background = Background(self)
        self._stage = StageState()
        self.request: RunRequest | None = None
        """The request of the run."""

    def reset(self, stage: StageState, places: TextPlaces, formats: Formats, *, keep: bool) -> None:
        """Start over with this stage; `keep` keeps parts collapsed, as after a change of the theme."""
        self._stage, self._places, self._formats = stage, places, formats
        self._count, self._last = 0, Segment("text", 0)
        """The number of parts in the document, and a copy of the last one as it was written."""
        if not keep:
            self._collapsed: set[int] = set()
            """The first characters of collapsed parts."""
            self._chosen: set[int] = set()
            """The first characters of parts that the user collapsed or expanded."""
            self._earlier: dict[int, EarlierCall | None] = {}
        self.is_used = False
        """Whether the document has parts; an answer that is a single call has none."""
        self._made: dict[str, tuple[QTextBlockFormat, Formats]] = {}
        self._hide_headers(set())

    def end(self) -> None:
        """Hide all headers, as the text is no longer in the document."""
        self.is_used = False
        self._hide_headers(set())

    # -- the text ----------------------------------------------------------------------------------------------

    def write(self, cursor: QTextCursor, end: int) -> None:
        """Write what is new in the stage's text up to that character, in place of the document's text from the first
        changed part on.
        """
        start = self._first_changed() if self.is_used else 0
        self.is_used = True
        self._count, self._last = len(self._stage.segments), replace(self._stage.segments[-1])
        if start < self._places.characters or start == 0:
            self._cut(cursor, start)
        for zone in self._zones(start, end):
            if zone.first == zone.begin:
                self._open(cursor, zone.place)
            formats = self._looks(self._kind(zone.place))[1]
            for text, forced in self._pieces(zone):
                cursor.insertText(self._places.add(text), formats.forced if forced else formats.plain)
            if zone.place is None:
                self._show_marker(cursor.block(), zone)
        self._collapse_long(start)

    def _first_changed(self) -> int:
        """The first character that is not in the document, or is there as part of another kind."""
        last, new = self._stage.segments[self._count - 1], self._stage.segments[self._count :]
        if last.kind != self._last.kind:
            return last.start  # the text was reasoning
        changed = [part.start for part in new[:1]]
        if last.end is not None and self._last.end is None:
            changed.append(last.end)
        return min((*changed, self._places.characters))

    def _cut(self, cursor: QTextCursor, start: int) -> None:
        cursor.setPosition(self._places.cut(start))
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._places.continue_line(cursor.positionInBlock())

    def _zones(self, start: int, total: int) -> Iterator[_Zone]:
        """The zones of the text between these characters, in order, each in one part."""
        segments = self._stage.segments
        at = start
        first = max(bisect_right(segments, start, key=lambda segment: segment.start) - 1, 0)
        before = (segments[first - 1].end or 0) if first else 0
        for index, part in enumerate(segments[first:], first):
            if at < min(part.start, total):
                yield _Zone(before, at, min(part.start, total), None)
                at = min(part.start, total)
            end = total if part.end is None else min(part.end, total)
            if at < end:
                yield _Zone(part.start, at, end, index)
                at = end
            before = end
        if at < total:
            yield _Zone(before, at, total, None)

    def _pieces(self, zone: _Zone) -> Iterator[tuple[str, bool]]:
        """The zone's text in pieces. A call in the native notation has line ends between its tags, each of which would
        take a line.
        """
        own = self.request is not None and self.request.native == "template"
        in_line = zone.place is None or (own and self._kind(zone.place) == "call")
        tokens = [self._stage.tokens[n] for n in self._stage.tokens_between(zone.first, zone.stop)]
        for forced, group in groupby(tokens, key=lambda token: token.step.forced):
            text = "".join(
                token.step.text[max(zone.first - token.start, 0) : max(zone.stop - token.start, 0)]
                for token in group
            )
            if in_line:
                text = text.replace("\n", "⏎")
            if text:
                yield visible(text, lines=True, single=True), forced

    def _open(self, cursor: QTextCursor, index: int | None) -> None:
        """Write a header's line, and begin the first line of the text."""
        kind = self._kind(index)
        line = QTextBlockFormat()
        above = kind in ("reasoning", "call") and not self._view.margin
        room = PartHeader.height_of() + _OUTER if above else _OUTER
        room += _INNER // 2 if self._places.characters else 0
        line.setLineHeight(room, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        if self._places.characters:
            cursor.insertBlock(line)
            self._places.break_line()
        else:
            cursor.setBlockFormat(line)
        cursor.block().setUserState(_HEAD)
        cursor.insertBlock(self._looks(kind)[0])
        self._places.break_line()
        cursor.block().setUserState(-1)

    def _show_marker(self, block: QTextBlock, zone: _Zone) -> None:
        """Hide the line of a marker that is only white space."""
        visible = any(text.strip("⏎ ") for text, _ in self._pieces(zone._replace(first=zone.begin)))
        while block.isValid() and block.isVisible() != visible:
            block.setVisible(visible)
            self._view.document().markContentsDirty(block.position(), block.length())
            block = block.previous() if not is_header(block) else QTextBlock()

    def _kind(self, index: int | None) -> str:
        return "marker" if index is None else self._stage.segments[index].kind

    def _looks(self, kind: str) -> tuple[QTextBlockFormat, Formats]:
        """The formats of lines and letters of a part of that kind."""
        known = self._made.get(kind)
        if known is not None:
            return known
        block = QTextBlockFormat()
        block.setLineHeight(_LINES[kind], QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if kind in ("reasoning", "call"):
            block.setLeftMargin(_INNER)
            block.setRightMargin(_INNER)
        formats = self._formats
        if kind in _SMALLER:
            formats = Formats(*(QTextCharFormat(format_) for format_ in formats))
            for format_ in formats:
                format_.setFont(mono_font(self._view.LARGER - _SMALLER[kind]))
            formats.plain.setForeground(theme().color("text-muted"))
        self._made[kind] = (block, formats)
        return self._made[kind]

    # -- collapsing --------------------------------------------------------------------------------------------

    def is_hidden(self, character: int) -> bool:
        """Whether the character is in collapsed reasoning."""
        place = self._at(character)
        return place is not None and self._stage.segments[place].start in self._collapsed

    def top_of(self, block: QTextBlock) -> QTextBlock:
        """The first block of the collapsed part that has this one; itself if none has it."""
        place = self._at(self._places.character(block.position()))
        if place is None or self._stage.segments[place].start not in self._collapsed:
            return block
        return self._view.document().findBlock(self._places.position(self._stage.segments[place].start))

    def reveal(self, character: int) -> None:
        """Expand the part of that character."""
        if self.is_hidden(character):
            self._toggle(self._at(character))

    def room_above(self, character: int) -> int:
        """Pixels of a header above the line of that character, if a part begins in the line."""
        place = self._at(character) if self.is_used and not self._view.margin else None
        if place is None or self._stage.segments[place].kind == "text":
            return 0
        block = self._view.document().findBlock(self._places.position(character))
        return PartHeader.height_of() if is_header(block.previous()) else 0

    def in_sight(self, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """The ranges of these characters that are not collapsed."""
        if not self._collapsed:
            yield first, stop
            return
        for part in self._stage.segments[self._from(first) :]:
            if part.start >= stop:
                break
            if part.start in self._collapsed and part.end is not None:
                if first < part.start:
                    yield first, part.start
                first = max(first, part.end)
        if first < stop:
            yield first, stop

    def calls_between(self, first: int, stop: int) -> Iterator[int]:
        """The indices of the calls that contain any of these characters."""
        for part in self._stage.segments[self._from(first) :]:
            if part.start >= stop:
                break
            if part.kind == "call":
                yield part.call_index

    def _from(self, character: int) -> int:
        """The place of the first part that may contain characters from that one on."""
        return max(bisect_right(self._stage.segments, character, key=lambda part: part.start) - 1, 0)

    def _at(self, character: int) -> int | None:
        """The place of the part of that character."""
        segments = self._stage.segments
        index = bisect_right(segments, character, key=lambda part: part.start) - 1
        if index < 0:
            return None
        end = segments[index].end
        return index if end is None or character < end else None

    def _collapse_long(self, start: int) -> None:
        """Collapse long complete reasoning in the text from that character on."""
        for part in self._stage.segments[self._from(start) :]:
            if part.kind != "reasoning" or part.end is None:
                continue
            is_long = part.end - part.start > LONG and part.start not in self._chosen
            is_new = is_long and part.start not in self._collapsed
            if is_new:
                self._collapsed.add(part.start)
            if is_new:
                self._show_text(part, visible=False)
            elif part.start in self._collapsed and start < part.end:
                self._show_text(part, visible=False, start=start)

    def _toggle(self, index: int | None) -> None:
        """Collapse or expand the part; later text does not change that."""
        if index is None:
            return
        part = self._stage.segments[index]
        self._chosen.add(part.start)
        self._collapsed ^= {part.start}
        self._show_text(part, visible=part.start not in self._collapsed)
        self._view.viewport().update()
        self.place_headers()

    def _show_text(self, part: Segment, *, visible: bool, start: int = 0) -> None:
        """Show or hide the part's text from that character on."""
        document, start = self._view.document(), max(part.start, start)
        first, stop = self._places.position(start), self._places.position(self._end(part) - 1) + 1
        block = document.findBlock(first)
        if self._view.margin and start == part.start:  # collapsed, the header takes the place of the text
            line = QTextBlockFormat()
            high = _OUTER + (0 if visible else PartHeader.height_of())
            line.setLineHeight(high, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            QTextCursor(block.previous()).mergeBlockFormat(line)
        while block.isValid() and block.position() < stop:
            block.setVisible(visible)
            block = block.next()
        document.markContentsDirty(first, stop - first)

    def _end(self, part: Segment) -> int:
        """The end of the part as written into the document."""
        written = self._places.characters
        return written if part.end is None else min(part.end, written)

    # -- headers and cards -------------------------------------------------------------------------------------

    def place_headers(self) -> None:
        """Place the headers in sight at the beginnings of their parts; call it whenever something moved."""
        sight = dict(self._heads()) if self.is_used else {}
        self._hide_headers(set(sight))
        last = next((part for part in reversed(self._stage.segments) if part.kind == "call"), None)
        for place, box in sight.items():
            header = self._headers.get(place) or self._new_header(place)
            header.margin = self._view.margin
            header.show_part(place, self._words(place, last))
            header.setGeometry(box.toRect())
            header.show()

    def paint(
        self, painter: QPainter, first: int, stop: int, boxes: Callable[[int, int], list[QRectF]]
    ) -> None:
        """Paint the backgrounds and frames of the parts in sight, in the document's coordinates, before their
        text.
        """
        if not self.is_used:
            return
        written = self._places.characters
        before = 0
        painter.setPen(Qt.PenStyle.NoPen)
        begin = self._from(first)
        if begin:
            before = self._stage.segments[begin - 1].end or 0
        for part in self._stage.segments[begin:]:
            self._paint_marker(painter, boxes(before, min(part.start, written)))
            if part.start > stop or part.start >= self._end(part):
                break
            self._paint_part(painter, part)
            before = self._end(part)
        else:
            self._paint_marker(painter, boxes(before, written))

    def _paint_marker(self, painter: QPainter, boxes: list[QRectF]) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("track"))
        for box in boxes:
            painter.drawRoundedRect(box.adjusted(-2, 0, 2, 0), 3, 3)

    def _paint_part(self, painter: QPainter, part: Segment) -> None:
        if part.kind == "text":
            return
        box = self._box(part)
        if part.kind == "reasoning":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().color("reasoning-soft"))
            painter.drawRoundedRect(box, 4, 4)
            painter.setBrush(theme().color("reasoning-line"))
            painter.drawRect(QRectF(box.left(), box.top(), 3, box.height()))
            return
        broken = self._stage.call_at(part.call_index).status == "impossible"
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme().color("impossible-line" if broken else "border-strong"), 1))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)

    def _box(self, part: Segment) -> QRectF:
        """The box of a part, with its header if that is above it."""
        document, view = self._view.document(), self._view
        head = self._head(part)
        if part.start in self._collapsed:
            bottom = head + PartHeader.height_of()
        else:
            last = document.findBlock(self._places.position(self._end(part) - 1))
            bottom = document.documentLayout().blockBoundingRect(last).bottom() + _INNER // 2
        left = view.margin + document.documentMargin() / 2
        return QRectF(
            left, head, view.viewport().width() - left - document.documentMargin() / 2, bottom - head
        )

    def _head(self, part: Segment) -> float:
        """The top of the part and of its header, in the document's coordinates."""
        text = self._view.document().findBlock(self._places.position(part.start))
        line = text.previous()
        room = line.blockFormat().lineHeight()
        top = self._view.document().documentLayout().blockBoundingRect(line).top()
        return top + room - (_INNER // 2 if self._view.margin else PartHeader.height_of())

    def _heads(self) -> Iterator[tuple[int, QRectF]]:
        """The parts with a visible header, and the header's place in the viewport's coordinates."""
        view, written = self._view, self._places.characters
        rect = view.viewport().rect()
        first, stop = (self._places.character(position) for position in view.sight())
        offset, around = view.verticalScrollBar().value(), view.document().documentMargin() / 2
        high = PartHeader.height_of(stacked=bool(view.margin))
        for index, part in enumerate(self._stage.segments[self._from(first) :], self._from(first)):
            if part.start > stop:
                break
            hidden = part.kind == "text" and not view.margin
            if hidden or part.start >= min(self._end(part), written):
                continue
            top = self._head(part) - offset
            if -high < top < rect.height():
                folded = part.start in self._collapsed
                width = view.margin if view.margin and not folded else rect.width() - 2 * around
                left, tall = 0 if view.margin else around, PartHeader.height_of() if folded else high
                yield index, QRectF(left, top, width, tall)

    def _words(self, index: int, last: Segment | None) -> PartWords:
        """The words of a part's header. `last` is the last call so far."""
        part = self._stage.segments[index]
        if part.kind == "call":
            count = last.call_index + 1 if last is not None else 1
            return call_words(self._stage, self._stage.call_at(part.call_index), part.call_index + 1, count)
        if part.kind == "text":
            return text_words(self._stage, part)
        request = self.request
        if (
            last is not None
            and last.start > part.start
            and part.start not in self._earlier
            and request is not None
        ):
            self._earlier[part.start] = None
            work = partial(earlier_call, self._stage, part, request)
            self._background.start(
                f"earlier {part.start}", work, partial(self._show_earlier, self._stage, part)
            )
        budget = request.reasoning_budget if request is not None else None
        collapsed = part.start in self._collapsed
        return reasoning_words(self._stage, part, collapsed, self._earlier.get(part.start), budget)

    def _show_earlier(self, stage: StageState, part: Segment, found: EarlierCall | None) -> None:
        if found is not None and stage is self._stage:
            self._earlier[part.start] = found
            self.place_headers()

    def _new_header(self, place: int) -> PartHeader:
        if self._spare:
            header = self._spare.pop()
        else:
            header = PartHeader(self._view.viewport())
            header.folding.connect(self._toggle)
        self._headers[place] = header
        return header

    def _hide_headers(self, without: set[int]) -> None:
        for place in self._headers.keys() - without:
            header = self._headers.pop(place)
            if header.hasFocus():
                self._view.setFocus()
            header.hide()
            self._spare.append(header)


def is_header(block: QTextBlock) -> bool:
    """Whether the line belongs to a header and has no text."""
    return block.userState() == _HEAD
