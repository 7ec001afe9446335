"""The details of one row of a timeline, as blocks of headings, words, texts and differences: the notes of its events.

Only the beginning of a long text is a block; a block of kind `link` opens all of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from glyphscope.events import AnyEvent
from glyphscope.runs.event_rows import Note, describe
from glyphscope.text.figures import duration
from glyphscope.visible import visible
from glyphscope_gui.calls.call_texts import MAX_LENGTH, claim_words, cut, json_text, whole_json
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.whole_text import Whole

Kind: TypeAlias = Literal["heading", "words", "problem", "text", "difference", "image", "link"]
Piece: TypeAlias = tuple[Literal["same", "gone", "new"], str]

MAX_DIFFERENCE = 4_000
"""Characters on each side for a comparison character by character; the time grows with their product."""
MAX_IMAGE = 8_000_000
"""The largest picture that is decoded, in bytes."""
_SHORT = 120
"""Length in characters up to which a one-line text is shown in full and needs no link."""


@dataclass(frozen=True)
class Block:
    """`text` for words and texts, `pieces` for a difference, `data` for a picture, `whole` for a link."""

    kind: Kind
    text: str = ""
    pieces: tuple[Piece, ...] = ()
    data: bytes = b""
    whole: Whole | None = None


def notes_of(events: tuple[AnyEvent, ...]) -> list[Block]:
    """The blocks of a row's events, in order; after a user's answer, also how long the run waited for it."""
    blocks: list[Block] = []
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
            blocks.append(Block("words", words))
            asked = None
    return blocks


def _blocks(note: Note) -> Iterator[Block]:
    match note.kind:
        case "text":
            yield from _text(note.title, note.text, note.tool)
        case "json":
            yield from _json(note.title, note.value, note.tool)
        case "claims":
            if words := claim_words(note.value):
                yield Block("words", tr("Annotations (not verified): {claims}", claims=", ".join(words)))
        case "difference":
            yield _difference(*note.value)
        case "image" if len(note.value) <= MAX_IMAGE:
            yield Block("image", note.title, data=note.value)
        case "image":
            if note.text:
                yield from _text(note.title, note.text, note.tool)
        case "heading" | "words" | "problem":
            yield Block(note.kind, note.text)


def _text(title: str, text: str, tool: str = "") -> Iterator[Block]:
    """A text, and above it a link to all of it if the view is too small for it."""
    if len(text) > _SHORT or "\n" in text:
        yield _link(title, text, tool)
    yield Block("text", cut(text))


def _json(title: str, value: Any, tool: str = "") -> Iterator[Block]:
    """A value, and above it a link to all of it if the view is too small for it."""
    text = json_text(value)
    if len(text) > _SHORT:
        yield _link(title, lambda: whole_json(value), tool)
    yield Block("text", text)


def _link(title: str, text: str | Callable[[], str], tool: str) -> Block:
    titled = f"{title} · {visible(tool, spaces=True)}" if tool else title
    note = tr(
        "The text is complete: a result that is larger than the run's limit is an error, and is not recorded."
    )
    return Block("link", tr("Open"), whole=Whole(titled, text, note))


def _difference(before: str, after: str) -> Block:
    """A difference, character by character if both texts are short enough, otherwise line by line and cut."""
    if max(len(before), len(after)) <= MAX_DIFFERENCE:
        return Block("difference", pieces=tuple(_pieces(before, after)))
    old, new = before[:MAX_LENGTH].splitlines(keepends=True), after[:MAX_LENGTH].splitlines(keepends=True)
    return Block("difference", pieces=tuple(_pieces(old, new)))


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=True).get_opcodes():
        if kind == "equal":
            yield "same", "".join(before[a:b])
            continue
        if b > a:
            yield "gone", "".join(before[a:b])
        if d > c:
            yield "new", "".join(after[c:d])
