"""The steps of a strategy between two texts, in a few lines, for users of a terminal."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from rich.text import Text

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
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope.text.figures import duration_ms, pluralize
from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

_MAX_LENGTH = 400
"""The maximum characters shown of a value or an answer; the record has all of it."""


def lines(event: AnyEvent) -> Iterator[Text]:
    """The event in words; nothing for an event with only times."""
    match event:
        case CandidatesFound(candidates=found):
            names = ", ".join(f"{one.name} ({one.kind}, {one.score:.0f})" for one in found)
            yield _line(f"· names found: {names or 'none'}", style="dim")
        case Routed(choice=choice, tool=tool):
            yield _line(f"→ {choice}{f' {tool}' if tool else ''}", style="bold")
        case QuestionAsked(question=question):
            yield _line(f"? {question}", style="bold yellow")
        case QuestionAnswered(answer=answer):
            yield _line("· no answer" if answer is None else f"· answered: {answer}")
        case Extracted():
            yield from _extracted(event)
        case RepairTried():
            yield from _repaired(event)
        case TransformActed(name=name, what=what):
            yield _line(f"· {name}: {what}", style="dim")
        case LimitReached(limit=limit, message=message):
            yield _line(f"! {limit}: {message}", style="bold yellow")
        case FinalAnswer(text=text, recovered=recovered):
            yield _line(f"{'(prompted once more) ' if recovered else ''}{text}", style="bold")
        case ApprovalNeeded() | ApprovalGiven() | ToolStarted() | ToolResult():
            yield from _called(event)
        case _:
            return


def _extracted(event: Extracted) -> Iterator[Text]:
    yield _line(
        f"· extracted from the text: {shorten(event.after, _MAX_LENGTH, length=True)}", style="yellow"
    )
    for change in event.changes:
        yield _line(f"    character {change.char}: {change.what}", style="dim")


def _repaired(event: RepairTried) -> Iterator[Text]:
    moved = "now valid" if event.now is None else f"character {event.char} → {event.now}"
    head = f"↻ repair {event.attempt} of {event.attempts} for {event.code}, {pluralize(event.tokens, 'token')}: {moved}"
    yield _line(head, style="yellow")
    yield _difference(event.before, event.after)


def _difference(before: str, after: str) -> Text:
    """Both texts in one line: removed text is crossed out, added text is underlined."""
    text = Text("    ")
    for what, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            text.append(visible(before[a:b]))
            continue
        text.append(visible(before[a:b]), style="strike red")
        text.append(visible(after[c:d]), style="underline green")
    return text


def _called(event: ApprovalNeeded | ApprovalGiven | ToolStarted | ToolResult) -> Iterator[Text]:
    match event:
        case ApprovalNeeded(tool=tool, source=source, identity=identity, arguments=arguments):
            where = f"{source} ({identity})" if identity and identity != source else source
            yield _line(f"? allow {tool} of {where} with {_json(arguments)}", style="bold yellow")
        case ApprovalGiven():
            changed = f", with {_json(event.arguments)}" if event.edited else ""
            because = f": {event.reason}" if event.reason else ""
            yield _line(f"· {event.action} by {event.by}, {event.scope}{changed}{because}")
        case ToolStarted(tool=tool, source=source, arguments=arguments):
            yield _line(f"▸ {tool} of {source} {_json(arguments)}")
        case ToolResult():
            yield from _result(event)


def _result(event: ToolResult) -> Iterator[Text]:
    if not event.ok:
        yield _line(
            f"✗ {event.code or event.fault}: {shorten(event.message, _MAX_LENGTH, length=True)}",
            style="bold red",
        )
        return
    parts = [part.text if part.kind == "text" else f"[{part.kind} {part.mime}]" for part in event.content]
    said = "\n".join(parts) or _json(event.structured)
    yield _line(f"✓ {shorten(said, _MAX_LENGTH, length=True)}", style="green")
    yield _line(f"  {event.bytes:,} bytes in {duration_ms(event.ms)}", style="dim")
    for problem in event.schema_problems:
        yield _line(f"  ! output schema violated: {problem}", style="yellow")


def _line(text: str, style: str = "") -> Text:
    """A text from any source on one line, without terminal control characters."""
    return Text(visible(text), style=style)


def _json(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), _MAX_LENGTH, length=True)
