"""The output of commands: answers on stdout, everything about the answers on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from glyphscope.base.errors import DocumentError, GlyphscopeError, PlacedProblem, problem_words
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import escaped, visible
from glyphscope.events import Status

if TYPE_CHECKING:  # most commands do without registries
    from glyphscope.registry.saving import Unused

STATUS_MARKS: dict[Status, tuple[str, str]] = {
    "open": ("…", "yellow"),
    "holds": ("✓", "green"),
    "impossible": ("✗", "bold red"),
}
"""The mark and colour of each verdict; colour is never the only sign."""
SEVERITY_MARKS = {"error": ("✗", "bold red"), "warning": ("!", "yellow"), "hint": ("·", "cyan")}
"""The same of each severity of a problem."""


_MAX_POINTER = 60
PIPE_WIDTH = 200
"""The width of tables, in columns, in a file or pipe, where other lines are never wrapped."""


class PlainConsole(Console):
    """Never prints an invisible character, whatever the text.

    `visible` shows each one by number; a character that was not passed through it becomes a single U+FFFD here.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, lines=True, single=True), segment.style)


def console() -> Console:
    """The console for answers to users. Created for each use, because tests and pipes change stdout."""
    return _console(stderr=False)


def diagnostics() -> Console:
    """The console for progress, warnings and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return PlainConsole(
        stderr=stderr,
        highlight=False,
        markup=False,  # texts from files, models and servers must not format the output
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else PIPE_WIDTH,
    )


def print_text(text: str = "", style: str = "", *, lines: bool = False) -> None:
    """Print a line of an answer, with invisible characters made visible. `lines`: line feeds are kept."""
    console().print(Text(visible(text, lines=lines), style))


def print_note(text: str, style: str = "", *, lines: bool = False) -> None:
    """Print a line about an answer on stderr; otherwise like `print_text`."""
    diagnostics().print(Text(visible(text, lines=lines), style))


_UNUSED = 100


def print_unused(found: Sequence[Unused], words: str = "Not used here:") -> None:
    """List on stderr the parts of a file that are not used, if there are any."""
    if not found:
        return
    print_note(f"! {words}", "yellow")
    for each in found[:_UNUSED]:
        print_note(f"  {each}")
    if len(found) > _UNUSED:
        print_note(f"  … and {len(found) - _UNUSED} more")


class TextTable(Table):
    """A table without rules, with invisible characters made visible. `right` and `wrapped`: titles of columns that are
    right-aligned, or wrapped instead of cut.
    """

    def __init__(
        self, *titles: str, right: Collection[str] = (), wrapped: Collection[str] = (), **more: Any
    ) -> None:
        super().__init__(box=None, **{"pad_edge": False, **more})
        for title in titles:
            self.add_column(
                visible(title),
                justify="right" if title in right else "left",
                overflow="fold" if title in wrapped else "ellipsis",
            )

    def add_row(self, *cells: RenderableType | None, **more: Any) -> None:
        super().add_row(*(visible(cell) if isinstance(cell, str) else cell for cell in cells), **more)


def facts_table(rows: Iterable[tuple[str, ...]]) -> TextTable:
    """A table without titles: each row is a name, in bold, and its facts."""
    table = TextTable(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    for column in table.columns[1:]:
        column.overflow = "fold"
    return table


def print_json(value: Any) -> None:
    """Print one line of JSON on stdout."""
    print_line(to_json(value))


def print_line(line: bytes | Iterable[bytes]) -> None:
    """Print one line on stdout, whole or in parts, in UTF-8 regardless of the locale, and flush it, as someone may be
    following.
    """
    sys.stdout.flush()
    for part in [line] if isinstance(line, bytes) else line:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def to_json(value: Any) -> bytes:
    """The JSON of a struct or of plain data, without a line end; invisible characters are escaped."""
    try:
        return seen_json(msgspec.json.encode(value))
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape but UTF-8 cannot encode
        return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def seen_json(line: bytes) -> bytes:
    """JSON with the same values and escaped invisible characters, which is safe to print on a terminal."""
    return line if line.isascii() else escaped(line.decode()).encode()


def print_error(error: GlyphscopeError) -> None:
    """Print message, place and hint on stderr; never a traceback."""
    line = Text("error: ", style="bold red")
    line.append(visible(error.message, lines=True), style="default")
    out = diagnostics()
    out.print(line)
    if error.where:
        out.print(Text(f"  in: {visible(error.where, lines=True)}"))
    problems = error.problems if isinstance(error, DocumentError) else ()
    for problem in problems[:20]:
        out.print(Text(f"  {visible(problem_words(problem), lines=True)}"))
    if len(problems) > 20:
        out.print(Text(f"  … and {len(problems) - 20} more"))
    if error.hint:
        out.print(Text(f"  do: {visible(error.hint, lines=True)}"))


def print_line_error(error: GlyphscopeError, place: str) -> None:
    """Answer a line whose input is bad: the error as JSON on stdout, with the line's place, and in words on stderr."""
    inner = "" if error.where in ("", place) else error.where
    error.where = f"{place}: {inner}" if inner else place
    problems = error.problems if isinstance(error, DocumentError) else ()
    answer = {"message": error.message, "where": error.where, "hint": error.hint}
    print_json({"error": answer | {"problems": [problem_words(problem) for problem in problems]}})
    print_error(error)


def print_problems(error: DocumentError[PlacedProblem], *, as_json: bool) -> None:
    """Print the problems of a checked document, which are the answer. Without any, the error is raised again."""
    if not error.problems:
        raise error  # not a document: the file is missing, or it is not text
    if as_json:
        print_json({"ok": False, "problems": [problem._asdict() for problem in error.problems]})
        return
    out = console()
    out.print(Text(f"✗ {visible(error.where)}: {visible(error.message)}", style="bold red"))
    for problem in error.problems:
        out.print(Text(f"  {visible(problem_words(problem))}"))


def status_text(status: Status) -> Text:
    """A verdict with its mark and its colour."""
    mark, colour = STATUS_MARKS[status]
    return Text(f"{mark} {'valid' if status == 'holds' else status}", style=colour)


def short_pointer(path: str) -> str:
    """A JSON Pointer; the middle of a very long one is omitted."""
    if len(path) <= _MAX_POINTER:
        return path
    return f"{shorten(path, _MAX_POINTER, keep='ends')} ({path.count('/')} levels)"


def marked(text: str, deciding: int | None, width: int) -> Text:
    """The text around the deciding character, which is marked by colour and by a caret below it.

    If `deciding` is the length of the text, the end is marked. `width`: columns of the screen.
    """
    room = width - 2  # an ellipsis at each end
    start = max(0, (deciding or 0) - (room // 2 if len(text) > room else len(text)))
    end = min(len(text), start + room)
    before = ("…" if start else "") + visible(text[start : deciding or start])
    at = start if deciding is None else deciding
    first, after = visible(text[at : at + 1]), visible(text[at + 1 : end]) + ("…" if end < len(text) else "")
    if deciding is None:
        return Text(before + first + after)
    return Text.assemble(
        before,
        (first or "∎", "reverse bold red"),
        after,
        "\n",
        " " * cell_len(before),
        ("▲", "bold red"),
    )
