"""The details of a row of the timeline, as blocks of headings, words, texts and differences, and the view of them.

Only the beginning of a long text is a block; a block of kind `link` opens all of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextBrowser, QTextEdit, QWidget

from glyphscope.base.figures import duration
from glyphscope.base.visible import visible
from glyphscope.events import AnyEvent
from glyphscope.runs.event_rows import Note, describe
from glyphscope_gui.calls.call_texts import MAX_LENGTH, claim_words, cut, json_text, whole_json
from glyphscope_gui.calls.pictures import read_picture
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_edits import break_anywhere_if_needed, break_at_words_again
from glyphscope_gui.shared.whole_text import WholeText, show_whole
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, ui_font

Kind: TypeAlias = Literal["heading", "words", "problem", "text", "difference", "image", "link"]
Piece: TypeAlias = tuple[Literal["same", "gone", "new"], str]

MAX_DIFFERENCE = 4_000
"""Characters on each side for a comparison character by character; the time grows with their product."""
MAX_IMAGE = 8_000_000
"""The largest picture that is decoded, in bytes."""
_SHORT = 120
"""Length in characters up to which a one-line text is shown in full and needs no link."""


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


class NotesView(FollowsLooks, QTextBrowser):
    """Read-only. Text from a tool is inserted only as plain text; links open only the view's own blocks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "notesView", tr("Details of this row of the timeline"))
        self.setReadOnly(True)
        self.setOpenLinks(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.anchorClicked.connect(self._open)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(10)
        self.setStyleSheet("QTextEdit#notesView { background: transparent; border: none; padding: 0; }")
        self._blocks: list[NoteBlock] = []

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 60)

    def show_blocks(self, blocks: list[NoteBlock]) -> None:
        """Show these from the top; showing the same blocks again does not scroll the view."""
        before, self._blocks = self._blocks, list(blocks)
        if blocks != before:
            self._restyle()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        pop_up(self.createStandardContextMenu(), event.globalPos(), *self.actions())

    def _restyle(self) -> None:
        """Write the same text in the current colours."""
        text = "\n".join(
            f"{block.text}{''.join(piece for _, piece in block.pieces)}" for block in self._blocks
        )
        self.clear()
        break_anywhere_if_needed(self, text)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        for number, block in enumerate(self._blocks):
            shape = QTextBlockFormat()
            shape.setTopMargin(9 if number and block.kind == "heading" else 2 if number else 0)
            shape.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            if number:
                cursor.insertBlock(shape)
            else:
                cursor.setBlockFormat(shape)
            self._insert(cursor, number, block)
        cursor.endEditBlock()
        break_at_words_again(self, text)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _open(self, link: QUrl) -> None:
        number = link.path()
        whole = (
            self._blocks[int(number)].whole if number.isdigit() and int(number) < len(self._blocks) else None
        )
        if whole is not None:
            show_whole(whole, self)

    def _insert(self, cursor: QTextCursor, number: int, block: NoteBlock) -> None:
        match block.kind:
            case "link":
                link = self._format("link")
                link.setAnchor(True)
                link.setAnchorHref(f"block:{number}")
                cursor.insertText(block.text, link)
            case "image":
                self._insert_image(cursor, block)
            case "difference":
                for kind, text in block.pieces:
                    cursor.insertText(visible(text, lines=True), self._piece_format(kind))
            case _:
                cursor.insertText(visible(block.text, lines=True), self._format(block.kind))

    def _format(self, kind: str) -> QTextCharFormat:
        format_ = QTextCharFormat()
        format_.setFont(mono_font(0) if kind == "text" else ui_font(0))
        if kind == "heading":
            format_.setFontWeight(QFont.Weight.DemiBold)
        role = {"problem": "impossible", "words": "text-muted", "link": "accent"}.get(kind, "text")
        format_.setForeground(theme().color(role))
        return format_

    def _piece_format(self, kind: str) -> QTextCharFormat:
        """Removed text is crossed out and new text underlined, as colour alone is not enough."""
        format_ = QTextCharFormat()
        format_.setFont(mono_font(0.5))
        role = _ROLES.get(kind)
        format_.setForeground(theme().color(role or "text"))
        if role is not None:
            format_.setBackground(theme().color(f"{role}-soft"))
            format_.setFontStrikeOut(kind == "gone")
            format_.setFontUnderline(kind == "new")
        return format_

    def _insert_image(self, cursor: QTextCursor, block: NoteBlock) -> None:
        image, why = read_picture(block.data, IMAGE_ROOM)
        if image is None:
            cursor.insertText(why, self._format("problem"))
        else:
            cursor.insertImage(image)


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
    """A text, and above it a link to all of it if the view is too small for it."""
    if len(text) > _SHORT or "\n" in text:
        yield _link(title, text, tool)
    yield NoteBlock("text", cut(text))


def _json(title: str, value: Any, tool: str = "") -> Iterator[NoteBlock]:
    """A value, and above it a link to all of it if the view is too small for it."""
    text = json_text(value)
    if len(text) > _SHORT:
        yield _link(title, lambda: whole_json(value), tool)
    yield NoteBlock("text", text)


def _link(title: str, text: str | Callable[[], str], tool: str) -> NoteBlock:
    titled = f"{title} · {visible(tool, spaces=True)}" if tool else title
    note = tr(
        "The text is complete: a result that is larger than the run's limit is an error, and is not recorded."
    )
    return NoteBlock("link", tr("Open"), whole=WholeText(titled, text, note))


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
