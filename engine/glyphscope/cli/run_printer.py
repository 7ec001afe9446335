"""A run for users of a terminal: the stream with its verdicts, while it grows and after its end."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from glyphscope.base.figures import duration, duration_ms, pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.output import STATUS_MARKS, TextTable, short_pointer, status_text
from glyphscope.events import AnyEvent, ConstraintReady
from glyphscope.explain.segments import reasoning_tokens
from glyphscope.notation.write import write_call
from glyphscope.runs import CallState, FieldState, RunState, StageState
from glyphscope.runs.answer_notes import answer_notes
from glyphscope.runs.endings import EndStatus, RunEnd, end_of, is_unexpected
from glyphscope.runs.event_rows import Mark, Note, describe, json_text
from glyphscope.runs.stage_words import narrowed_words, prompt_tokens

MIN_WAIT = 0.1
"""The minimum wait for the user's answer, in seconds, that is reported: a rule or a pipe answers faster."""
MAX_CALLS = 50
"""The maximum number of calls of one answer that are listed one by one."""


_SIGNS: dict[EndStatus, tuple[str, str]] = {
    "holds": ("✓", "bold green"),
    "differs": ("≠", "bold yellow"),
    "open": ("•", "bold yellow"),
    "impossible": ("✗", "bold red"),
}
"""The sign and the style of an ending without a call."""

_MARKS: dict[Mark, tuple[str, str]] = {
    "running": ("▸", ""),
    "holds": ("✓", "green"),
    "differs": ("≠", "yellow"),
    "impossible": ("✗", "bold red"),
    "waits": ("?", "bold yellow"),
    "note": ("·", "dim"),
}
"""The sign and the style of the row of an event."""
_MAX_LENGTH = 400
"""The maximum characters shown of a value; the record has all of it."""


class RunView:
    """The view of a `RunState`; rich renders it again at every refresh."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __rich__(self) -> RenderableType:
        state = self._state
        parts: list[RenderableType] = []
        for stage in state.stages:
            parts += _stage(stage, titled=len(state.stages) > 1, violations_below=stage is state.present)
        parts += _ending(state) if state.outcome != "running" else [_progress(state)]
        return Group(*parts)


def _stage(stage: StageState, *, titled: bool, violations_below: bool) -> list[RenderableType]:
    """A stage's text with its fields, and the strategy's steps in it; `titled` if there are several stages.

    The violations of the current stage are shown below, with the end of the run.
    """
    parts: list[RenderableType] = []
    if titled:
        parts.append(Text(visible(stage.title), style="bold blue"))
    first = stage.tokens[0].t if stage.tokens else math.inf
    for event in stage.outline:
        if event.t <= first:
            parts += _event(event)
    if stage.tokens or not titled:
        parts.append(_stream(stage))
    if stage.segments:
        parts += _calls(stage)
    elif stage.fields:
        parts.append(_fields(stage.text, stage.written[0]))
    parts += [Text(words, style="dim") for words in narrowed_words(stage)]
    if (stop := stage.stop_string) is not None:
        words = f"the stop string {json.dumps(stop.text, ensure_ascii=False)} ended the answer"
        parts.append(Text(visible(words), style="dim"))
    if not violations_below:
        for violation in stage.violations[:1]:
            parts.append(Text(f"✗ {violation.code}: {visible(violation.message)}", style="bold red"))
    for event in stage.outline:
        if event.t > first:
            parts += _event(event)
    if stage.waited >= MIN_WAIT:
        parts.append(Text(f"waited {duration(stage.waited)} for you, which no limit counts", style="dim"))
    if titled and (finished := stage.finished) is not None and finished.tokens:
        source = "restored from disk" if stage.prompt is not None and stage.prompt.restored else "cached"
        read, cached = prompt_tokens(stage)
        prompt = f"prompt {pluralize(read, 'token')} ({cached:,} {source}), " if read else ""
        parts.append(
            Text(
                f"{pluralize(finished.tokens, 'token')} ({finished.forced:,} forced), "
                f"{prompt}{duration_ms(finished.ms)}{_made(stage.constraint)}",
                style="dim",
            )
        )
    return parts


def _event(event: AnyEvent) -> Iterator[Text]:
    """The row of an event, and below it its brief notes."""
    row = describe(event)
    if row is None:
        return
    sign, style = _MARKS[row.mark]
    yield Text(visible(f"{sign} {row.title}: {row.words}"), style=style)
    yield from (_note(note) for note in row.notes if note.brief)


def _note(note: Note) -> Text:
    if note.kind == "difference":
        return _difference(*note.value)
    text = json_text(note.value) if note.kind == "json" else note.text
    style = "yellow" if note.kind == "problem" else "dim"
    return Text(f"    {visible(shorten(text, _MAX_LENGTH, length=True))}", style=style)


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


def _made(ready: ConstraintReady | None) -> str:
    """The cost of the stage's constraint, if the model compiled one."""
    if ready is None:
        return ""
    return (
        ", constraint kept"
        if ready.hit
        else f", constraint made in {duration_ms(ready.build_ms + ready.compile_ms)}"
    )


def _stream(state: StageState) -> Text:
    """The text so far: fields in their verdict's colour, followed by its mark; forced characters in italics, and those
    that the user wrote in bold. Reasoning is dim and keeps its lines, like all of an answer with several parts.
    """
    text = state.text
    stream = Text(visible(text, lines=bool(state.segments), single=True))

    def inside(place: int) -> int:
        """The nearest place in the text: those of a damaged record can be anywhere, and rich counts up to them."""
        return min(max(place, 0), len(text))

    def stylize(style: str, start: int, end: int) -> None:
        stream.stylize(style, inside(start), inside(end))

    for part in state.segments:
        if part.kind == "reasoning":
            stylize("dim", part.start, len(text) if part.end is None else part.end)
    for token in state.tokens:
        if token.step.forced:
            stylize("italic dim", token.start, token.end)
        if token.step.origin == "written":
            stylize("bold", token.start, token.end)
    fields = [field for call in state.written.values() for field in _leaves(call)]
    for field in fields:
        stylize(f"underline {STATUS_MARKS[field.status][1]}", field.start or 0, field.end)
    marks = {inside(field.end): STATUS_MARKS[field.status] for field in fields}
    if state.violations:
        char = state.violations[0].char
        stylize("reverse bold red", char, char + 1)
        marks[inside(char + 1)] = ("⏹" if state.aborted else "✗", "bold red")
    return _with_marks(stream, marks)


def _with_marks(stream: Text, marks: dict[int, tuple[str, str]]) -> Text:
    """The text with each mark inserted at its place."""
    places = sorted(marks)
    result = Text()
    for piece, place in zip(stream.divide(places), [*places, None]):
        result.append_text(piece)
        if place is not None:
            mark, colour = marks[place]
            result.append(mark, style=colour)
    return result


def _leaves(call: CallState) -> list[FieldState]:
    """The fields without inner fields: the colour of a whole object would hide the colours of its parts."""
    paths = list(call.fields)
    return [
        field
        for path, field in call.fields.items()
        if not any(other.startswith(path + "/") for other in paths)
    ]


def _calls(stage: StageState) -> list[RenderableType]:
    """The calls of an answer: for each, a line with its verdict, and its fields."""
    parts: list[RenderableType] = []
    calls = [call for call in stage.written.values() if call.part is not None]
    for number, call in enumerate(calls[:MAX_CALLS], 1):
        mark, colour = STATUS_MARKS[call.status]
        words = f" call {number} of {len(calls)}"
        if call.tool is not None:
            words += f": {visible(call.tool.name)}"
        if call.violations:
            first = call.violations[0]
            words += f", {first.code}"
            words += "" if stage.aborted else f": {visible(first.message)}"  # an abort shows it
        parts.append(Text.assemble((mark, colour), words))
        if call.fields:
            parts.append(Padding(_fields(stage.text, call), (0, 0, 0, 2)))
    if len(calls) > MAX_CALLS:
        parts.append(Text(f"… and {len(calls) - MAX_CALLS} more calls", style="dim"))
    return parts


def _fields(text: str, call: CallState) -> TextTable:
    table = TextTable("field", "value", "verdict")
    for field in _leaves(call):
        value = text[field.start or 0 : field.end]
        table.add_row(short_pointer(field.path), value, status_text(field.status))
    return table


def _progress(state: RunState) -> Text:
    if state.tokens:
        return Text(f"… {pluralize(len(state.tokens), 'token')}", style="dim")
    if state.evaluated is not None and not state.evaluated.total:
        return Text("… waiting for the endpoint", style="dim")
    if state.evaluated is not None:
        return Text(
            f"… prompt {state.evaluated.done:,} of {pluralize(state.evaluated.total, 'token')}", style="dim"
        )
    return Text("… loading", style="dim")


def _ending(state: RunState) -> list[RenderableType]:
    """The reason for the end of the run, its outcome, and its cost."""
    parts: list[RenderableType] = []
    parts += [Text(f"! {visible(note)}", style="yellow") for note in (*state.notes, *answer_notes(state))]
    if (failed := state.failed) is not None:
        parts.append(Text(f"✗ {failed.code}: {visible(failed.message, lines=True)}", style="bold red"))
        parts += [Text(f"  {visible(part, lines=True)}") for part in (failed.hint, failed.detail) if part]
        return parts
    for violation in state.violations[:1] if state.aborted else state.violations:
        what = "⏹ stopped" if state.aborted else "✗ violation"
        where = f"character {violation.char}, token {violation.token}"
        parts.append(
            Text(f"{what} at {where}: {violation.code}: {visible(violation.message)}", style="bold red")
        )
        if violation.viable:
            parts.append(Text(f"  still possible: {visible(violation.viable)}"))
    finished, call = state.finished, state.call
    assert finished is not None
    end = end_of(state)
    kind = end.outcome.partition(" ")[0]
    if call is not None and kind in ("valid", "aborted"):
        calls = state.present.calls if state.segments else []
        sign, style = _SIGNS["differs" if is_unexpected(end.outcome) else "holds"]
        for each in calls[:MAX_CALLS] or [call]:
            written = write_call(each.tool, each.arguments, style="json", shape="name-arguments")
            parts.append(Text.assemble((f"{sign} ", style), visible(written)))
    shown = kind == "aborted" or (kind == "valid" and call is not None)
    if not shown or is_unexpected(end.outcome):
        parts += _end_lines(end)
    of_these = f"{_reasoned(state)}{finished.forced:,} forced{_begun(state)}"
    parts.append(
        Text(
            f"{pluralize(finished.tokens, 'token')} ({of_these}), prompt {duration_ms(finished.prompt_ms)}, "
            f"first token after {duration_ms(finished.first_token_ms)}, "
            f"all {duration_ms(finished.total_ms)}{_waited(state)}",
            style="dim",
        )
    )
    return parts


def _reasoned(state: RunState) -> str:
    """The number of reasoning tokens of all stages, in words."""
    count = sum(reasoning_tokens(stage) for stage in state.stages)
    return f"{count} of reasoning, " if count else ""


def _waited(state: RunState) -> str:
    """The part of the time that was spent waiting for the user, in words."""
    return f" ({duration(state.waited)} of it waiting for you)" if state.waited >= MIN_WAIT else ""


def _begun(state: RunState) -> str:
    """The part of a branch before the model continued."""
    count = sum(token.step.origin != "model" for token in state.stages[0].tokens)
    return f", {count} kept or written" if count else ""


def _end_lines(end: RunEnd) -> list[Text]:
    """How a run ended, if not with a call, and the hint."""
    sign, style = _SIGNS[end.status]
    parts = [Text(f"{sign} {visible(end.words)}", style=style)]
    return [*parts, Text(f"  {end.hint}")] if end.hint else parts
