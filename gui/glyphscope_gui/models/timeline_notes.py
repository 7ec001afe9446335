"""What one row of a timeline tells, whole: as blocks of headings, words, texts and differences. Without Qt.

Long texts are cut with a note: the record has all of them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from glyphscope.events import (
    AnyEvent,
    ApprovalGiven,
    ApprovalNeeded,
    CandidatesFound,
    Extracted,
    FinalAnswer,
    LimitReached,
    QuestionAnswered,
    QuestionAsked,
    RepairTried,
    Routed,
    ToolContent,
    ToolProgressed,
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope_gui.models.timeline_words import approval_words, progress_words, repair_words

Kind: TypeAlias = Literal["heading", "words", "problem", "text", "difference", "image"]
Piece: TypeAlias = tuple[Literal["same", "gone", "new"], str]

LONGEST = 20_000
"""Characters of a text that are shown."""
LONGEST_DIFFERENCE = 4_000
"""Characters a side that are compared character by character; the time grows with their product."""
LARGEST_IMAGE = 8 * 1024 * 1024
"""Bytes of a picture that is decoded."""


@dataclass(frozen=True)
class Block:
    """`text` for words and texts, `pieces` for a difference, `data` for a picture."""

    kind: Kind
    text: str = ""
    pieces: tuple[Piece, ...] = ()
    data: bytes = b""


def notes_of(events: tuple[AnyEvent, ...]) -> list[Block]:
    """The blocks of a row's events, in order."""
    return [block for event in events for block in _notes(event)]


def _notes(event: AnyEvent) -> Iterator[Block]:
    match event:
        case ApprovalNeeded():
            where = f", {event.identity}" if event.identity != event.source else ""
            yield Block("heading", f"{event.tool} of {event.source}{where}")
            yield from _claims(event.claims)
            yield Block("text", json_text(event.arguments))
        case ApprovalGiven():
            yield Block("words", approval_words(event).capitalize() + ".")
            if event.edited:
                yield Block("heading", "Arguments that run")
                yield Block("text", json_text(event.arguments))
        case ToolStarted():
            yield Block("heading", f"{event.tool}, carried out by {event.source}")
            yield Block("text", json_text(event.arguments))
        case ToolProgressed():
            yield Block("words", progress_words(event))
        case ToolResult():
            yield from _result(event)
        case RepairTried():
            yield from _repair(event)
        case Extracted():
            yield Block("heading", "What was changed to get at the call")
            for change in event.changes:
                yield Block("words", f"• at character {change.char}: {change.what}")
            yield _difference(event.before, event.after)
        case _:
            yield from _told(event)


def _told(event: AnyEvent) -> Iterator[Block]:
    """What is said in a sentence or two."""
    match event:
        case LimitReached():
            yield Block("problem", event.message or f"{event.limit} was reached.")
            yield Block("words", f"{event.limit} allows {event.allowed:,g}; it came to {event.used:,g}.")
        case TransformActed():
            yield Block("heading", f"{event.name} ({event.surface})")
            yield Block("words", event.what)
        case CandidatesFound():
            yield Block("heading", "Known names that the prompt seems to mean")
            if event.library:
                yield Block("words", f"Compared by {event.library}; 100 is the same.")
            for found in event.candidates:
                words = f"“{found.text}” at {found.start}–{found.end}, {found.score:.0f}"
                yield Block("words", f"• {found.name} ({found.kind}): {words}")
            if not event.candidates:
                yield Block("words", "None was found.")
        case Routed():
            choice = {
                "call_tool": f"The tool {event.tool} is called.",
                "none": "No tool fits: none is called.",
            }
            yield Block("words", choice.get(event.choice, "The user is asked."))
            if event.question:
                yield Block("text", event.question)
        case QuestionAsked():
            yield Block("heading", "The model asks")
            yield Block("text", _cut(event.question))
        case QuestionAnswered():
            yield Block("heading", "The answer")
            yield Block("words", "Nobody answered.") if event.answer is None else Block("text", event.answer)
        case FinalAnswer():
            if event.recovered:
                yield Block("words", "The first answer was empty: the model was asked once more.")
            yield Block("text", _cut(event.text))


def claim_words(claims: dict[str, Any]) -> list[str]:
    """What a tool says of itself, as its words: nothing of it was checked."""
    known = {
        ("readOnlyHint", True): "says it only reads",
        ("readOnlyHint", False): "says it changes things",
        ("destructiveHint", True): "says it may destroy",
        ("destructiveHint", False): "says it destroys nothing",
        ("idempotentHint", True): "says twice is as once",
        ("openWorldHint", True): "says it reaches the outside world",
        ("openWorldHint", False): "says it stays on this machine",
    }
    words = []
    for name, value in claims.items():
        if isinstance(value, bool) and (name, value) in known:
            words.append(known[name, value])
        elif name == "title" and isinstance(value, str):
            words.append(f"calls itself “{value[:60]}”")
        elif not isinstance(value, bool):
            words.append(f"says {name}: {json.dumps(value, ensure_ascii=False, default=str)[:60]}")
    return words


def _claims(claims: dict[str, Any]) -> Iterator[Block]:
    words = claim_words(claims)
    if words:
        yield Block("words", f"The tool {', '.join(words)}. Its own words: nothing of it was checked.")


def _result(event: ToolResult) -> Iterator[Block]:
    if not event.ok:
        kinds = {
            "tool": "The tool's own error; the model is told, and may do better.",
            "protocol": "The server's error, not the tool's.",
            "timeout": "It took too long.",
            "cancelled": "It was stopped.",
            "denied": "It was not allowed to run.",
            "guard": "A guardrail kept it from running, or from coming back.",
            "unknown": "Nobody carries out this tool.",
        }
        yield Block("heading", f"No result{f': {event.code}' if event.code else ''}")
        yield Block("problem", event.message or kinds.get(event.fault, "It failed."))
        if event.fault in kinds and event.message:
            yield Block("words", kinds[event.fault])
    else:
        yield Block("heading", f"Result: {event.bytes:,} bytes in {event.ms:,.0f} ms")
    for problem in event.schema_problems:
        yield Block("problem", f"Breaks its own output schema: {problem}")
    for piece in event.content:
        yield from _content(piece)
    if event.structured is not None:
        yield Block("heading", "Structured")
        yield Block("text", json_text(event.structured))
    if event.told and [piece.text for piece in event.content] != [event.told]:
        yield Block("heading", "What the model is told")
        yield Block("text", _cut(event.told))


def _content(piece: ToolContent) -> Iterator[Block]:
    if piece.kind == "text":
        yield Block("text", _cut(piece.text))
        return
    name = piece.name or piece.uri or piece.mime or "without a name"
    yield Block("words", f"{piece.kind}: {name}, {piece.size:,} bytes")
    if piece.kind == "image" and piece.data and len(piece.data) <= LARGEST_IMAGE:
        yield Block("image", name, data=piece.data)
    elif piece.text:
        yield Block("text", _cut(piece.text))


def _repair(event: RepairTried) -> Iterator[Block]:
    yield Block("heading", f"Attempt {event.attempt} of {event.attempts}, {event.tokens:,} tokens")
    yield Block("problem" if event.now_code else "words", repair_words(event))
    yield Block("heading", "What the model was told")
    yield Block("text", _cut(event.message))
    yield Block("heading", "What changed")
    yield _difference(event.before, event.after)


def _difference(before: str, after: str) -> Block:
    """Character by character where both are short enough, else line by line and cut."""
    if max(len(before), len(after)) <= LONGEST_DIFFERENCE:
        return Block("difference", pieces=tuple(_pieces(before, after, "")))
    old, new = before[:LONGEST].splitlines(keepends=True), after[:LONGEST].splitlines(keepends=True)
    return Block("difference", pieces=tuple(_pieces(old, new, "")))


def _pieces(before: Any, after: Any, join: str) -> Iterator[Piece]:
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=True).get_opcodes():
        if kind == "equal":
            yield "same", join.join(before[a:b])
            continue
        if b > a:
            yield "gone", join.join(before[a:b])
        if d > c:
            yield "new", join.join(after[c:d])


def json_text(value: Any) -> str:
    try:
        return _cut(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    except (RecursionError, ValueError):
        return "Nested too deep to be shown."


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters are in the record."
