"""A run as people read it in a terminal: the stream with its verdicts, while it grows and when it has ended."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from glyphscope.calling import FieldState, RunState, StageState
from glyphscope.cli.outline import lines
from glyphscope.cli.output import STATUS_MARKS, short_pointer, status_text, visible, visible_lines
from glyphscope.events import ConstraintReady, EndReason, RunFinished
from glyphscope.notation import write_call

_ENDINGS: dict[EndReason, str] = {
    "answered": "answered",
    "no-tool": "no tool was chosen",
    "unanswered": "the model's question was not answered",
    "limit": "a limit ended the run",
    "cancelled": "stopped",
    "refused": "what the run was held to did not come about",
}


class RunView:
    """What is shown of a `RunState`; rich asks for it again at every refresh."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __rich__(self) -> RenderableType:
        state = self._state
        parts: list[RenderableType] = []
        for stage in state.stages:
            parts += _stage(stage, titled=len(state.stages) > 1, told_later=stage is state.present)
        parts += _ending(state) if state.outcome != "running" else [_progress(state)]
        return Group(*parts)


def _stage(stage: StageState, *, titled: bool, told_later: bool) -> list[RenderableType]:
    """A stage's text with its fields, and what the strategy did in it; `titled` where there are several.

    What the text of the present one breaks is told below, with the run's end.
    """
    parts: list[RenderableType] = []
    if titled:
        parts.append(Text(visible(stage.title), style="bold blue"))
    first = stage.tokens[0].t if stage.tokens else math.inf
    for event in stage.outline:
        if event.t <= first:
            parts += lines(event)
    if stage.tokens or not titled:
        parts.append(_stream(stage))
    if stage.fields:
        parts.append(_fields(stage))
    if not told_later:
        for violation in stage.violations[:1]:
            parts.append(Text(f"✗ {violation.code}: {visible(violation.message)}", style="bold red"))
    for event in stage.outline:
        if event.t > first:
            parts += lines(event)
    if titled and (finished := stage.finished) is not None and finished.tokens:
        parts.append(
            Text(
                f"{finished.tokens} tokens ({finished.forced} forced), prompt {finished.prompt_tokens} tokens "
                f"({finished.cached} cached), {finished.ms:.0f} ms{_made(stage.constraint)}",
                style="dim",
            )
        )
    return parts


def _made(ready: ConstraintReady | None) -> str:
    """What the stage's constraint cost, where the model had one to make."""
    if ready is None:
        return ""
    return (
        ", constraint kept"
        if ready.hit
        else f", constraint made in {ready.build_ms + ready.compile_ms:.1f} ms"
    )


def _stream(state: StageState) -> Text:
    """The text so far: fields in their verdict's colour with its mark behind them; forced characters in italics, and
    those that somebody wrote bold.
    """
    text = state.text
    stream = Text(visible(text))
    for token in state.tokens:
        if token.step.forced:
            stream.stylize("italic dim", token.start, token.end)
        if token.step.origin == "written":
            stream.stylize("bold", token.start, token.end)
    fields = _leaves(state)
    for field in fields:
        stream.stylize(f"underline {STATUS_MARKS[field.status][1]}", field.start or 0, field.end)
    marks = {field.end: STATUS_MARKS[field.status] for field in fields}
    if state.violations:
        char = state.violations[0].char
        stream.stylize("reverse bold red", char, char + 1)
        marks[min(char + 1, len(text))] = ("⏹" if state.aborted else "✗", "bold red")
    return _with_marks(stream, marks)


def _with_marks(stream: Text, marks: dict[int, tuple[str, str]]) -> Text:
    """The text with each mark written after the characters before its place."""
    places = sorted(place for place in marks if place <= len(stream))
    result = Text()
    for piece, place in zip(stream.divide(places), [*places, None]):
        result.append_text(piece)
        if place is not None:
            mark, colour = marks[place]
            result.append(mark, style=colour)
    return result


def _leaves(state: StageState) -> list[FieldState]:
    """The fields that hold no other field: a whole object's colour would hide those of its parts."""
    paths = list(state.fields)
    return [
        field
        for path, field in state.fields.items()
        if not any(other.startswith(path + "/") for other in paths)
    ]


def _fields(state: StageState) -> Table:
    text = state.text
    table = Table("field", "value", "verdict", box=None, header_style="bold", pad_edge=False)
    for field in _leaves(state):
        table.add_row(
            visible(short_pointer(field.path)),
            Text(visible(text[field.start or 0 : field.end])),
            status_text(field.status),
        )
    return table


def _progress(state: RunState) -> Text:
    if state.tokens:
        return Text(f"… {len(state.tokens)} tokens", style="dim")
    if state.evaluated is not None and not state.evaluated.total:
        return Text("… waiting for the endpoint", style="dim")
    if state.evaluated is not None:
        return Text(f"… prompt {state.evaluated.done} of {state.evaluated.total} tokens", style="dim")
    return Text("… loading", style="dim")


def _ending(state: RunState) -> list[RenderableType]:
    """Why the run ended, what came of it, and what it cost."""
    told: list[RenderableType] = []
    if state.prompt is not None and state.prompt.note:
        told.append(Text(f"! {visible(state.prompt.note)}", style="yellow"))
    if (failed := state.failed) is not None:
        told.append(Text(f"✗ {failed.code}: {visible_lines(failed.message)}", style="bold red"))
        told += [Text(f"  {visible_lines(part)}") for part in (failed.hint, failed.detail) if part]
        return told
    for violation in state.violations[:1] if state.aborted else state.violations:
        what = "⏹ stopped" if state.aborted else "✗ violation"
        where = f"character {violation.char}, token {violation.token}"
        told.append(
            Text(f"{what} at {where}: {violation.code}: {visible(violation.message)}", style="bold red")
        )
        if violation.viable:
            told.append(Text(f"  still possible: {visible(violation.viable)}"))
    finished, call = state.finished, state.call
    assert finished is not None
    if call is not None and finished.reason not in _ENDINGS:
        written = write_call(call.tool, call.arguments, style="json", shape="name-arguments")
        told.append(Text.assemble(("✓ ", "bold green"), visible(written)))
    elif state.aborted is None:
        told.append(_other_end(finished))
    told.append(
        Text(
            f"{finished.tokens} tokens ({finished.forced} forced{_begun(state)}), prompt {finished.prompt_ms:.0f} ms, "
            f"first token after {finished.first_token_ms:.0f} ms, all {finished.total_ms:.0f} ms",
            style="dim",
        )
    )
    return told


def _begun(state: RunState) -> str:
    """How much of a branch was there before the model went on."""
    count = sum(token.step.origin != "model" for token in state.stages[0].tokens)
    return f", {count} kept or written" if count else ""


def _other_end(finished: RunFinished) -> Text:
    """How a run ended other than by a call: well, where that is what the strategy came to."""
    words = _ENDINGS.get(finished.reason, f"no valid call ({finished.reason})")
    return Text(
        f"{'✓' if finished.valid else '✗'} {words}", style="bold green" if finished.valid else "bold red"
    )
