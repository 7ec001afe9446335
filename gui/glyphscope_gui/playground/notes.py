"""The details of a row of a run, as blocks of headings, words, texts and differences, written into a document.

Only the beginning of a long text is a block; a block of kind `link` opens all of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import QSize, QUrl
from PySide6.QtGui import QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QWidget

from glyphscope.base.figures import duration
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.events import AnyEvent
from glyphscope.runs.event_rows import Note, describe, json_text
from glyphscope_gui.calls.call_texts import MAX_LENGTH, beginning, claim_words, whole_json
from glyphscope_gui.calls.pictures import read_picture
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.whole_text import WholeText, show_whole
from glyphscope_gui.theme import mono_font, theme, ui_font

Kind: TypeAlias = Literal["heading", "words", "problem", "text", "difference", "image", "link"]
Piece: TypeAlias = tuple[Literal["same", "gone", "new"], str]

MAX_DIFFERENCE = 4_000
"""Characters on each side for a comparison character by character; the time grows with their product."""
MAX_IMAGE = 8_000_000
"""The largest picture that is decoded, in bytes."""
MAX_SHOWN, MAX_LINES = 900, 10
"""Characters and lines of a text that are shown in place."""


IMAGE_ROOM = QSize(420, 4 * 420)
"""The largest size of a picture, in logical pixels."""
_ROLES = {"gone": "impossible", "new": "holds"}


@dataclass(frozen=True)
class NoteBlock:
    """`text` for words and texts, `pieces` for a difference, `data` for a picture, `whole` for a link."""

    kind: Kind
    text: str = ""
    pieces: tuple[Piece, ...] = ()
    data: bytes = b""
    whole: WholeText | None = None


class NotesWriter:
    """Writes blocks into a document. Text from a tool is inserted only as plain text; a link opens only a block's own
    text.
    """

    def __init__(self) -> None:
        self._links: list[WholeText] = []

    def write(self, cursor: QTextCursor, blocks: Sequence[NoteBlock]) -> None:
        """Write the blocks, each in its line, the first in the cursor's, which has its margins."""
        for number, block in enumerate(blocks):
            shape = QTextBlockFormat()
            shape.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            if number:
                shape.setTopMargin(6 if block.kind == "heading" else 2)
                shape.setRightMargin(8)
                cursor.insertBlock(shape)
            else:
                cursor.mergeBlockFormat(shape)
            self._insert(cursor, block)

    def open(self, link: QUrl, parent: QWidget) -> None:
        """Open the text of a link."""
        number = link.path()
        if link.scheme() == "block" and number.isdigit() and int(number) < len(self._links):
            show_whole(self._links[int(number)], parent)

    def _insert(self, cursor: QTextCursor, block: NoteBlock) -> None:
        match block.kind:
            case "link" if block.whole is not None:
                link = _format("link")
                link.setAnchor(True)
                link.setAnchorHref(f"block:{len(self._links)}")
                self._links.append(block.whole)
                cursor.insertText(block.text, link)
            case "image":
                image, why = read_picture(block.data, IMAGE_ROOM)
                if image is None:
                    cursor.insertText(why, _format("problem"))
                else:
                    cursor.insertImage(image)
            case "difference":
                for kind, text in block.pieces:
                    cursor.insertText(visible(text, lines=True), _piece_format(kind))
            case _:
                cursor.insertText(visible(block.text, lines=True), _format(block.kind))


def _format(kind: str) -> QTextCharFormat:
    format_ = QTextCharFormat()
    format_.setFont(mono_font(0) if kind == "text" else ui_font(0))
    if kind == "heading":
        format_.setFontWeight(QFont.Weight.DemiBold)
    role = {"problem": "impossible", "words": "text-muted", "link": "accent"}.get(kind, "text")
    format_.setForeground(theme().color(role))
    return format_


def _piece_format(kind: str) -> QTextCharFormat:
    """Removed text is crossed out and new text underlined, as colour alone is not enough."""
    format_ = QTextCharFormat()
    format_.setFont(mono_font(0))
    role = _ROLES.get(kind)
    format_.setForeground(theme().color(role or "text"))
    if role is not None:
        format_.setBackground(theme().color(f"{role}-soft"))
        format_.setFontStrikeOut(kind == "gone")
        format_.setFontUnderline(kind == "new")
    return format_


def notes_of(events: tuple[AnyEvent, ...]) -> list[NoteBlock]:
    """The blocks of a row's events, in order; after a user's answer, also how long the run waited for it."""
    blocks: list[NoteBlock] = []
    asked: float | None = None
    for event in events:
        row = describe(event, tr)
        if row is None:
            continue
        for note in row.notes:
            blocks += _blocks(note)
        if row.mark == "waits":
            asked = event.t
        elif row.of and asked is not None:
            waited = duration(event.t - asked)
            words = tr("The run waited {time} for approval; limits do not include this time.", time=waited)
            blocks.append(NoteBlock("words", words))
            asked = None
    return blocks


def _blocks(note: Note) -> Iterator[NoteBlock]:
    match note.kind:
        case "text":
            yield from _text(note.title, note.text, note.tool)
        case "json":
            yield from _json(note.title, note.value, note.tool)
        case "claims":
            if words := claim_words(note.value):
                yield NoteBlock("words", tr("Annotations (not verified): {claims}", claims=", ".join(words)))
        case "difference":
            yield _difference(*note.value)
        case "image" if len(note.value) <= MAX_IMAGE:
            yield NoteBlock("image", note.title, data=note.value)
        case "image":
            if note.text:
                yield from _text(note.title, note.text, note.tool)
        case "heading" | "words" | "problem":
            yield NoteBlock(note.kind, note.text)


def _text(title: str, text: str, tool: str = "") -> Iterator[NoteBlock]:
    """A text, or its beginning and a link to all of it."""
    shown = _beginning(text)
    yield NoteBlock("text", shown)
    if shown != text:
        yield _link(title, text, tool)


def _json(title: str, value: Any, tool: str = "") -> Iterator[NoteBlock]:
    """A value on one line, or its beginning and a link to all of it: a long value is not written to its end."""
    start = beginning(value, MAX_SHOWN)
    shown = _beginning(start) if len(start) > MAX_SHOWN else json_text(value)
    yield NoteBlock("text", shown)
    if len(start) > MAX_SHOWN:
        yield _link(title, lambda: whole_json(value), tool)


def _beginning(text: str) -> str:
    """The text as far as it is shown in place, with an ellipsis if there is more."""
    lines = text[: MAX_SHOWN + 1].splitlines()
    if len(text) <= MAX_SHOWN and len(lines) <= MAX_LINES:
        return text
    return shorten(text, min(MAX_SHOWN, len("\n".join(lines[:MAX_LINES])) + 1))


def _link(title: str, text: str | Callable[[], str], tool: str) -> NoteBlock:
    titled = f"{title} · {visible(tool, spaces=True)}" if tool else title
    note = tr(
        "The text is complete: a result that is larger than the run's limit is an error, and is not recorded."
    )
    return NoteBlock("link", tr("Show all"), whole=WholeText(titled, text, note))


def _difference(before: str, after: str) -> NoteBlock:
    """A difference, character by character if both texts are short enough, otherwise line by line and cut."""
    if max(len(before), len(after)) <= MAX_DIFFERENCE:
        return NoteBlock("difference", pieces=tuple(_pieces(before, after)))
    old, new = before[:MAX_LENGTH].splitlines(keepends=True), after[:MAX_LENGTH].splitlines(keepends=True)
    return NoteBlock("difference", pieces=tuple(_pieces(old, new)))


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=True).get_opcodes():
        if kind == "equal":
            yield "same", "".join(before[a:b])
            continue
        if b > a:
            yield "gone", "".join(before[a:b])
        if d > c:
            yield "new", "".join(after[c:d])
