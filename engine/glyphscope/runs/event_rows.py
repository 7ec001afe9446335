"""The events of a strategy in words: each is a row, which the terminal, the transcript, pages and exports print.

`describe` is the only place that puts them in words; an event without a row has only times or belongs to a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope import events
from glyphscope.base.figures import duration_ms, plain_number
from glyphscope.base.shorten import and_more, capitalised, excerpt
from glyphscope.base.translate import Translate, english

Mark: TypeAlias = Literal["running", "holds", "differs", "impossible", "waits", "note"]
"""The state of a row: running, successful, failed, waiting for the user, or only a note."""
NoteKind: TypeAlias = Literal["heading", "words", "problem", "text", "json", "claims", "difference", "image"]


class Note(NamedTuple):
    """A part of a row's details.

    `text` is the words or the foreign text, `value` that of a JSON, the claims of a tool, the bytes of an image, or the
    two texts of a difference; `title` and `tool` name a text or a JSON that is opened whole. `brief` notes are also
    shown below a row where there is little room, as in a terminal.
    """

    kind: NoteKind
    text: str = ""
    value: Any = None
    title: str = ""
    tool: str = ""
    brief: bool = False


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event in words: the kind of thing it is, and a line about it.

    Rows of the same thing (`of`) can be shown as one, the newest words and mark in place of the earlier ones, or after
    them if the row `adds`. `tokens`, `bytes` and `ms` are what it cost, None if that is not known.
    """

    title: str
    words: str
    mark: Mark = "note"
    notes: tuple[Note, ...] = ()
    of: str = ""
    adds: bool = False
    tokens: int | None = None
    bytes: int | None = None
    ms: float | None = None


def describe(event: events.AnyEvent, tr: Translate = english) -> EventRow | None:
    """The event in words, in the language of `tr`; None for one that is shown in another way."""
    match event:
        case events.ApprovalNeeded() | events.ApprovalGiven():
            return _approval(event, tr)
        case events.ToolStarted() | events.ToolProgressed() | events.ToolResult():
            return _execution(event, tr)
        case events.QuestionAsked() | events.QuestionAnswered():
            return _question(event, tr)
        case events.RepairTried():
            words, done = _repair_words(event, tr), event.now_code is None
            notes = tuple(_repair_notes(event, words, tr))
            return EventRow(
                tr("Difference"), words, "holds" if done else "impossible", notes, tokens=event.tokens
            )
        case events.Extracted():
            words = "; ".join(excerpt(change.what) for change in event.changes[:6]) or tr("no changes needed")
            notes = tuple(_extracted_notes(event, tr))
            return EventRow(tr("Extracted"), words, "holds" if event.valid else "impossible", notes)
        case events.CandidatesFound():
            found = ", ".join(f"{excerpt(c.name)} ({c.kind}, {c.score:.0f})" for c in event.candidates[:6])
            words = found or tr("no known names in the prompt")
            return EventRow(tr("Names"), words, notes=tuple(_candidate_notes(event, tr)))
        case events.Routed():
            return _routed(event, tr)
        case events.TransformActed():
            surfaces = {
                "message": tr("message"),
                "response": tr("response"),
                "tool": tr("tool"),
                "call": tr("call", "of a tool"),
                "result": tr("result"),
            }
            heading = Note("heading", f"{event.name} ({surfaces.get(event.surface, event.surface)})")
            words = f"{event.name}: {event.what}"
            return EventRow(tr("Transform"), words, notes=(heading, Note("words", event.what)))
        case events.ToolsDeferred():
            return _deferred(event, tr)
        case events.ToolsSearched():
            return _searched(event, tr)
        case events.LimitReached():
            used, allowed = plain_number(event.used), plain_number(event.allowed)
            words = tr("{limit}: {used} of {allowed}", limit=event.limit, used=used, allowed=allowed)
            message = event.message or tr("{limit} was reached.", limit=event.limit)
            figures = tr(
                "{limit} allows {allowed}; the run used {used}.",
                limit=event.limit,
                allowed=allowed,
                used=used,
            )
            notes = (Note("problem", message, brief=True), Note("words", figures))
            return EventRow(tr("Limit"), words, "impossible", notes)
        case events.FinalAnswer():
            answer = excerpt(event.text) or tr("empty")
            again = tr("The first answer was empty; the model was prompted once more.")
            notes = (Note("text", event.text, title=tr("Answer")),)
            if event.recovered:
                answer = tr("{answer} (prompted once more)", answer=answer)
                notes = (Note("words", again), *notes)
            return EventRow(tr("Answer"), answer, notes=notes)  # it may be cut, or not what was asked for
        case events.StageFinished() if event.note:
            return EventRow(tr("Note"), event.note, "impossible", (Note("problem", event.note),))
        case _:
            return None


def _approval(event: events.ApprovalNeeded | events.ApprovalGiven, tr: Translate) -> EventRow:
    title, of = tr("Approval"), f"approval {event.call}"
    if isinstance(event, events.ApprovalNeeded):
        where = f", {event.identity}" if event.identity not in ("", event.source) else ""
        whose = tr("{tool} of {source}{where}", tool=event.tool, source=event.source, where=where)
        notes: tuple[Note, ...] = (
            Note("heading", whose, brief=True),
            Note("claims", value=event.claims),
            Note("json", value=event.arguments, title=tr("Arguments"), tool=event.tool, brief=True),
        )
        return EventRow(title, tr("{tool}: waiting for approval", tool=event.tool), "waits", notes, of)
    words = _approval_words(event, tr)
    notes = (Note("words", f"{capitalised(words)}."),)
    if event.by == "nobody" and event.reason:
        notes = (*notes, Note("words", event.reason, brief=True))
    if event.edited:
        executed = tr("Arguments executed")
        notes = (
            *notes,
            Note("heading", executed, brief=True),
            Note("json", value=event.arguments, title=executed, brief=True),
        )
    return EventRow(title, words, "holds" if event.action == "allow" else "impossible", notes, of)


def _approval_words(event: events.ApprovalGiven, tr: Translate) -> str:
    """`allowed by a person for this run, with edited arguments`."""
    done = {
        "person": (tr("allowed by a person"), tr("denied by a person")),
        "rule": (tr("allowed by a rule"), tr("denied by a rule")),
        "nobody": (tr("allowed: no answer"), tr("denied: no answer")),
    }
    scopes = {
        "once": "",
        "run": tr(" for this run"),
        "tool": tr(" for this tool"),
        "source": tr(" for this source"),
    }
    edited = tr(", with edited arguments") if event.edited else ""
    reason = f": {excerpt(event.reason)}" if event.reason and event.by != "nobody" else ""
    return f"{done[event.by][event.action == 'deny']}{scopes[event.scope]}{edited}{reason}"


def _execution(
    event: events.ToolStarted | events.ToolProgressed | events.ToolResult, tr: Translate
) -> EventRow:
    title, of = tr("Result"), f"execution {event.call}"
    match event:
        case events.ToolStarted():
            words = tr("{tool}, executed by {source}", tool=event.tool, source=event.source)
            arguments = Note(
                "json", value=event.arguments, title=tr("Arguments"), tool=event.tool, brief=True
            )
            return EventRow(title, words, "running", (Note("heading", words), arguments), of)
        case events.ToolProgressed():
            words = f"{event.done:g}"
            if event.total is not None:
                words = tr("{done:g} of {total:g}", done=event.done, total=event.total)
            words += f", {excerpt(event.message)}" if event.message else ""
            return EventRow(title, words, "running", (Note("words", words),), of)
        case events.ToolResult():
            notes = tuple(_result_notes(event, tr))
            mark: Mark = "holds" if event.ok else "impossible"
            return EventRow(title, _result_words(event, tr), mark, notes, of, bytes=event.bytes, ms=event.ms)


_MOST_NAMED = 6
"""Tools that a row names."""
_MOST_COMPARED = 100_000
"""Characters of a message that is compared with the result's structured content."""


def json_text(value: Any) -> str:
    """A value as JSON on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "…"


def fault_words(fault: str, tr: Translate = english) -> str:
    """The fault of an execution, in a word."""
    words = {
        "tool": tr("tool"),
        "protocol": tr("protocol"),
        "timeout": tr("timeout"),
        "cancelled": tr("cancelled"),
        "denied": tr("denied"),
        "guard": tr("guard"),
        "unknown": tr("unknown"),
    }
    return words.get(fault, fault)


def _kind_words(kind: str, tr: Translate) -> str:
    """The kind of a piece of a tool's result."""
    kinds = {
        "text": tr("text"),
        "image": tr("image"),
        "audio": tr("audio"),
        "resource": tr("resource"),
        "link": tr("link"),
    }
    return kinds.get(kind, kind)


def _result_words(event: events.ToolResult, tr: Translate) -> str:
    """The beginning of the result, or the error."""
    if not event.ok:
        code = f"{event.code}: " if event.code else ""
        return f"{code}{excerpt(event.message) or fault_words(event.fault, tr)}"
    text = " ".join(excerpt(piece.text) or f"({_kind_words(piece.kind, tr)})" for piece in event.content[:4])
    if not text and event.structured is not None:
        text = excerpt(json_text(event.structured))
    problems = tr(" · output schema violated") if event.schema_problems else ""
    return (text or tr("empty result")) + problems


def _result_notes(event: events.ToolResult, tr: Translate) -> Iterator[Note]:
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
        yield Note("heading", tr("No result: {code}", code=event.code) if event.code else tr("No result"))
        yield Note("problem", event.message or kinds.get(event.fault, tr("Failed.")))
        if event.fault in kinds and event.message:
            yield Note("words", kinds[event.fault])
    else:
        cost = tr("Result: %n byte(s) in {time}", "", event.bytes, time=duration_ms(event.ms))
        yield Note("heading", cost, brief=True)
    for problem in event.schema_problems:
        yield Note("problem", tr("Output schema violated: {problem}", problem=problem), brief=True)
    for piece in event.content:
        yield from _content(piece, event.tool, tr)
    if event.structured is not None and not _is_sent(event):
        title = tr("Structured content")
        yield Note("heading", title)
        yield Note("json", value=event.structured, title=title, tool=event.tool)
    if event.sent and [piece.text for piece in event.content] != [event.sent]:
        title = tr("Message to the model")
        yield Note("heading", title)
        yield Note("text", event.sent, title=title, tool=event.tool)
    if event.waited_ms:
        waited = duration_ms(event.waited_ms)
        yield Note(
            "words", tr("The server asked you: the run waited {time}; no limit counts this.", time=waited)
        )


def _is_sent(event: events.ToolResult) -> bool:
    """Whether the message to the model is the structured content, or has it as a member."""
    try:
        sent = json.loads(event.sent) if len(event.sent) <= _MOST_COMPARED else None
    except (ValueError, RecursionError):
        return False
    return event.structured in (sent, *(sent.values() if isinstance(sent, dict) else ()))


def _content(piece: events.ToolContent, tool: str, tr: Translate) -> Iterator[Note]:
    if piece.kind == "text":
        yield Note("text", piece.text, title=tr("Result"), tool=tool)
        return
    name = piece.name or piece.uri or piece.mime or tr("without a name")
    kind = _kind_words(piece.kind, tr)
    yield Note("words", tr("{kind}: {name}, %n byte(s)", "", piece.size, kind=kind, name=name))
    if piece.kind == "image" and piece.data:
        yield Note("image", piece.text, piece.data, name, tool)
    elif piece.text:
        yield Note("text", piece.text, title=name, tool=tool)


def _question(event: events.QuestionAsked | events.QuestionAnswered, tr: Translate) -> EventRow:
    title = tr("Question")
    if isinstance(event, events.QuestionAsked):
        asks = tr("The model asks")
        notes = (Note("heading", asks), Note("text", event.question, title=asks))
        return EventRow(title, f"“{event.question}”", "waits", notes, of="question")
    heading = Note("heading", tr("The answer"))
    if event.answer is None:
        nothing = tr("no answer")
        notes = (heading, Note("words", tr("No answer.")))
        return EventRow(title, f"→ {nothing}", "impossible", notes, of="question", adds=True)
    notes = (heading, Note("text", event.answer, title=tr("The answer")))
    return EventRow(title, f"→ “{event.answer}”", "holds", notes, of="question", adds=True)


def _routed(event: events.Routed, tr: Translate) -> EventRow:
    match event.choice:
        case "call_tool":
            words, said = (
                tr("call {tool}", tool=event.tool),
                tr("The tool {tool} is called.", tool=event.tool),
            )
        case "clarify":
            words = tr("ask: “{question}”", question=excerpt(event.question))
            said = tr("The user is asked.")
        case "multi_intent":
            words, said = tr("several requests"), tr("The prompt has several requests: no tool is called.")
        case _:
            words, said = tr("no tool"), tr("No suitable tool: none is called.")
    question = (Note("text", event.question, title=tr("Question")),) if event.question else ()
    return EventRow(tr("Routed"), words, notes=(Note("words", said), *question))


def deferred_words(event: events.ToolsDeferred, tr: Translate = english) -> str:
    """`400 tools deferred to search_tools: all tools would take 29,402 tokens of 4,096`."""
    words = tr("%n tool(s) deferred to {search}", "", event.deferred, search=event.search)
    if not event.context:
        return words
    cost = tr(
        "all tools would take {tokens:,} tokens of {context:,}", tokens=event.tokens, context=event.context
    )
    return f"{words}: {cost}"


def _deferred(event: events.ToolsDeferred, tr: Translate) -> EventRow:
    words = deferred_words(event, tr)
    loaded = tr("In the prompt: {tools}.", tools=", ".join((event.search, *event.loaded)))
    return EventRow(tr("Tools"), words, notes=(Note("words", f"{words}."), Note("words", loaded)))


def _searched(event: events.ToolsSearched, tr: Translate) -> EventRow:
    title, sent = tr("Tool search"), tr("Message to the model")
    said = (Note("heading", sent), Note("text", event.sent, title=sent))
    asked = f"“{excerpt(event.query)}”"
    if event.problem:
        return EventRow(title, asked, "impossible", (Note("problem", event.problem, brief=True), *said))
    loaded = [name for name in event.found if name in event.loaded]
    found = and_more(list(map(excerpt, loaded)), _MOST_NAMED) if loaded else tr("no tool")
    notes = [Note("words", tr("%n tool(s) match.", "", event.matches))]
    if event.left_off:
        notes.append(Note("problem", tr("No room for: {tools}", tools=", ".join(event.left_off)), brief=True))
    if event.unloaded:
        notes.append(
            Note("words", tr("No longer loaded: {tools}", tools=", ".join(event.unloaded)), brief=True)
        )
    notes.append(Note("words", tr("In the prompt now: {tools}", tools=", ".join(event.loaded) or tr("none"))))
    return EventRow(title, f"{asked} → {found}", "holds" if loaded else "impossible", (*notes, *said))


def _candidate_notes(event: events.CandidatesFound, tr: Translate) -> Iterator[Note]:
    yield Note("heading", tr("Known names found in the prompt"))
    if event.library:
        yield Note("words", tr("Compared with {library}; 100 is identical.", library=event.library))
    for found in event.candidates:
        words = tr(
            "“{text}” at {start}–{end}, {score:.0f}",
            text=found.text,
            start=found.start,
            end=found.end,
            score=found.score,
        )
        yield Note("words", f"• {found.name} ({found.kind}): {words}")
    if not event.candidates:
        yield Note("words", tr("None found."))


def _extracted_notes(event: events.Extracted, tr: Translate) -> Iterator[Note]:
    yield Note("heading", tr("Changes made to extract the call"))
    for change in event.changes:
        words = tr("• at character {char}: {change}", char=change.char, change=change.what)
        yield Note("words", words, brief=True)
    yield Note("difference", value=(event.before, event.after), brief=True)


def _repair_words(event: events.RepairTried, tr: Translate) -> str:
    """`CONSTRAINT_MAX at character 46: now valid`, or the error's new place."""
    was = tr("{code} at character {char}", code=event.code, char=event.char)
    if event.now_code is None:
        return tr("{was}: now valid", was=was)
    if event.now is None or (event.now == event.char and event.now_code == event.code):
        return tr("{was}: not fixed", was=was)
    if event.now > event.char:
        return tr("{was}: now {code}, later at {char}", was=was, code=event.now_code, char=event.now)
    if event.now < event.char:
        return tr("{was}: now {code}, earlier at {char}", was=was, code=event.now_code, char=event.now)
    return tr("{was}: now {code}, also at {char}", was=was, code=event.now_code, char=event.now)


def _repair_notes(event: events.RepairTried, words: str, tr: Translate) -> Iterator[Note]:
    yield Note(
        "heading",
        tr(
            "Attempt {attempt} of {attempts}, {tokens:,} tokens",
            attempt=event.attempt,
            attempts=event.attempts,
            tokens=event.tokens,
        ),
        brief=True,
    )
    yield Note("problem" if event.now_code else "words", words)
    message = tr("Message to the model")
    yield Note("heading", message)
    yield Note("text", event.message, title=message)
    yield Note("heading", tr("Changes"))
    yield Note("difference", value=(event.before, event.after), brief=True)
