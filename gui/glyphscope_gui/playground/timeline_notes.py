"""The details of one row of a timeline, as blocks of headings, words, texts and differences.

Only the beginning of a long text is a block; a block of kind `link` opens all of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
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
    StageFinished,
    ToolContent,
    ToolProgressed,
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope.text.figures import duration, duration_ms, plain_number
from glyphscope.text.shorten import capitalised
from glyphscope.visible import visible
from glyphscope_gui.calls.call_texts import MAX_LENGTH, claim_words, cut, json_text, whole_json
from glyphscope_gui.playground.timeline_words import (
    CONTENT_WORDS,
    approval_words,
    progress_words,
    repair_words,
)
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
_SURFACES = {
    "message": tr("message"),
    "response": tr("response"),
    "tool": tr("tool"),
    "call": tr("call", "of a tool"),
    "result": tr("result"),
}


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
        blocks += _notes(event)
        if isinstance(event, ApprovalNeeded | QuestionAsked):
            asked = event.t
        elif isinstance(event, ApprovalGiven | QuestionAnswered) and asked is not None:
            waited = duration(event.t - asked)
            blocks.append(
                Block(
                    "words",
                    tr("The run waited {time} for approval; limits do not include this time.", time=waited),
                )
            )
            asked = None
        elif isinstance(event, ToolResult) and event.waited_ms:
            waited = duration_ms(event.waited_ms)
            asks = tr("The server asked you: the run waited {time}; no limit counts this.", time=waited)
            blocks.append(Block("words", asks))
    return blocks


def _notes(event: AnyEvent) -> Iterator[Block]:
    match event:
        case ApprovalNeeded():
            where = f", {event.identity}" if event.identity != event.source else ""
            yield Block(
                "heading", tr("{tool} of {source}{where}", tool=event.tool, source=event.source, where=where)
            )
            yield from _claims(event.claims)
            yield from _json(tr("Arguments"), event.arguments, event.tool)
        case ApprovalGiven():
            words = approval_words(event)
            yield Block("words", f"{capitalised(words)}.")
            if event.edited:
                yield Block("heading", tr("Arguments executed"))
                yield from _json(tr("Arguments executed"), event.arguments)
        case ToolStarted():
            yield Block("heading", tr("{tool}, executed by {source}", tool=event.tool, source=event.source))
            yield from _json(tr("Arguments"), event.arguments, event.tool)
        case ToolProgressed():
            yield Block("words", progress_words(event))
        case ToolResult():
            yield from _result(event)
        case RepairTried():
            yield from _repair(event)
        case Extracted():
            yield Block("heading", tr("Changes made to extract the call"))
            for change in event.changes:
                yield Block(
                    "words", tr("• at character {char}: {change}", char=change.char, change=change.what)
                )
            yield _difference(event.before, event.after)
        case _:
            yield from _sentences(event)


def _sentences(event: AnyEvent) -> Iterator[Block]:
    """The event in a sentence or two."""
    match event:
        case LimitReached():
            yield Block("problem", event.message or tr("{limit} was reached.", limit=event.limit))
            yield Block(
                "words",
                tr(
                    "{limit} allows {allowed}; the run used {used}.",
                    limit=event.limit,
                    allowed=plain_number(event.allowed),
                    used=plain_number(event.used),
                ),
            )
        case StageFinished() if event.note:
            yield Block("problem", event.note)
        case TransformActed():
            yield Block("heading", f"{event.name} ({_SURFACES.get(event.surface, event.surface)})")
            yield Block("words", event.what)
        case CandidatesFound():
            yield Block("heading", tr("Known names found in the prompt"))
            if event.library:
                yield Block("words", tr("Compared with {library}; 100 is identical.", library=event.library))
            for found in event.candidates:
                words = tr(
                    "“{text}” at {start}–{end}, {score:.0f}",
                    text=found.text,
                    start=found.start,
                    end=found.end,
                    score=found.score,
                )
                yield Block("words", f"• {found.name} ({found.kind}): {words}")
            if not event.candidates:
                yield Block("words", tr("None found."))
        case Routed():
            choice = {
                "call_tool": tr("The tool {tool} is called.", tool=event.tool),
                "none": tr("No suitable tool: none is called."),
            }
            yield Block("words", choice.get(event.choice, tr("The user is asked.")))
            if event.question:
                yield Block("text", event.question)
        case QuestionAsked():
            yield Block("heading", tr("The model asks"))
            yield from _text(tr("The model asks"), event.question)
        case QuestionAnswered():
            yield Block("heading", tr("The answer"))
            yield (Block("words", tr("No answer.")) if event.answer is None else Block("text", event.answer))
        case FinalAnswer():
            if event.recovered:
                yield Block("words", tr("The first answer was empty; the model was prompted once more."))
            yield from _text(tr("Answer"), event.text)


def _claims(claims: dict[str, Any]) -> Iterator[Block]:
    words = claim_words(claims)
    if words:
        yield Block("words", tr("Annotations (not verified): {claims}", claims=", ".join(words)))


def _result(event: ToolResult) -> Iterator[Block]:
    if not event.ok:
        kinds = {
            "tool": tr("A tool error; the model receives it and can try again."),
            "protocol": tr("An error of the server, not of the tool."),
            "timeout": tr("Timed out."),
            "cancelled": tr("Cancelled."),
            "denied": tr("Denied."),
            "guard": tr("Blocked by a guardrail: not executed, or its result was too large."),
            "unknown": tr("No executor for this tool."),
        }
        yield Block("heading", tr("No result: {code}", code=event.code) if event.code else tr("No result"))
        yield Block("problem", event.message or kinds.get(event.fault, tr("Failed.")))
        if event.fault in kinds and event.message:
            yield Block("words", kinds[event.fault])
    else:
        yield Block(
            "heading", tr("Result: %n byte(s) in {time}", "", event.bytes, time=duration_ms(event.ms))
        )
    for problem in event.schema_problems:
        yield Block("problem", tr("Output schema violated: {problem}", problem=problem))
    for piece in event.content:
        yield from _content(piece, event.tool)
    if event.structured is not None:
        yield Block("heading", tr("Structured content"))
        yield from _json(tr("Structured content"), event.structured, event.tool, _SHORT)
    if event.sent and [piece.text for piece in event.content] != [event.sent]:
        yield Block("heading", tr("Message to the model"))
        yield from _text(tr("Message to the model"), event.sent, event.tool)


def _text(title: str, text: str, tool: str = "") -> Iterator[Block]:
    """A text, and above it a link to all of it if the view is too small for it."""
    if len(text) > _SHORT or "\n" in text:
        yield _link(title, text, tool)
    yield Block("text", cut(text))


def _json(title: str, value: Any, tool: str = "", shortest: int = MAX_LENGTH) -> Iterator[Block]:
    """A value, and above it a link to all of it if its JSON is longer than `shortest`."""
    text = json_text(value)
    if len(text) > shortest:
        yield _link(title, lambda: whole_json(value), tool)
    yield Block("text", text)


def _link(title: str, text: str | Callable[[], str], tool: str) -> Block:
    titled = f"{title} · {visible(tool, spaces=True)}" if tool else title
    note = tr(
        "The text is complete: a result that is larger than the run's limit is an error, and is not recorded."
    )
    return Block("link", tr("Open"), whole=Whole(titled, text, note))


def _content(piece: ToolContent, tool: str) -> Iterator[Block]:
    if piece.kind == "text":
        yield from _text(tr("Result"), piece.text, tool)
        return
    name = piece.name or piece.uri or piece.mime or tr("without a name")
    kind = CONTENT_WORDS.get(piece.kind, piece.kind)
    yield Block("words", tr("{kind}: {name}, %n byte(s)", "", piece.size, kind=kind, name=name))
    if piece.kind == "image" and piece.data and len(piece.data) <= MAX_IMAGE:
        yield Block("image", name, data=piece.data)
    elif piece.text:
        yield from _text(name, piece.text, tool)


def _repair(event: RepairTried) -> Iterator[Block]:
    yield Block(
        "heading",
        tr(
            "Attempt {attempt} of {attempts}, {tokens:,} tokens",
            attempt=event.attempt,
            attempts=event.attempts,
            tokens=event.tokens,
        ),
    )
    yield Block("problem" if event.now_code else "words", repair_words(event))
    yield Block("heading", tr("Message to the model"))
    yield from _text(tr("Message to the model"), event.message)
    yield Block("heading", tr("Changes"))
    yield _difference(event.before, event.after)


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
