"""What the commands print: answers on stdout, everything about the answers on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from glyphscope.errors import DocumentError, GlyphscopeError, PlacedProblem, problem_words
from glyphscope.events import Status

STATUS_MARKS: dict[Status, tuple[str, str]] = {
    "open": ("…", "yellow"),
    "holds": ("✓", "green"),
    "impossible": ("✗", "bold red"),
}
"""Each verdict's mark and colour: never a colour alone."""


_LONGEST_POINTER = 60
PIPE_WIDTH = 200
"""Columns of tables that go to a file or a pipe; other lines are never wrapped there."""


def console() -> Console:
    """The console for answers that people read. Made anew each time: tests and pipes change stdout."""
    return _console(stderr=False)


def diagnostics() -> Console:
    """The console for progress, warnings and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,  # what is printed came from files, models and servers: it formats nothing
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else PIPE_WIDTH,
    )


def print_json(value: Any) -> None:
    """One line of JSON on stdout."""
    print_line(to_json(value))


def print_line(line: bytes) -> None:
    """One line on stdout, in UTF-8 whatever the locale is, and at once: somebody may be reading along."""
    sys.stdout.flush()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def to_json(value: Any) -> bytes:
    """The JSON of a struct or of plain data, without a line end."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape and UTF-8 cannot hold
        return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def print_error(error: GlyphscopeError) -> None:
    """Message, place and what to do about it, on stderr; never a traceback."""
    line = Text("error: ", style="bold red")
    line.append(visible_lines(error.message), style="default")
    out = diagnostics()
    out.print(line)
    if error.where:
        out.print(Text(f"  in: {visible_lines(error.where)}"))
    problems = error.problems if isinstance(error, DocumentError) else ()
    for problem in problems[:20]:
        out.print(Text(f"  {visible_lines(problem_words(problem))}"))
    if len(problems) > 20:
        out.print(Text(f"  … and {len(problems) - 20} more"))
    if error.hint:
        out.print(Text(f"  do: {visible_lines(error.hint)}"))


def print_problems(error: DocumentError[PlacedProblem], *, as_json: bool) -> None:
    """The mistakes of a document that was looked at for mistakes: they are the answer, and no failure."""
    if as_json:
        print_json({"ok": False, "problems": [problem._asdict() for problem in error.problems]})
        return
    out = console()
    out.print(Text(f"✗ {error.where}: {error.message}", style="bold red"))
    for problem in error.problems:
        out.print(Text(f"  {visible(problem_words(problem))}"))


def status_text(status: Status) -> Text:
    """A verdict with its mark and its colour."""
    mark, colour = STATUS_MARKS[status]
    return Text(f"{mark} {status}", style=colour)


def short_pointer(path: str) -> str:
    """A JSON Pointer, with the middle of a very long one left out."""
    if len(path) <= _LONGEST_POINTER:
        return path
    return f"{path[: _LONGEST_POINTER // 2]}…{path[-_LONGEST_POINTER // 2 :]} ({path.count('/')} levels)"


def visible(text: str) -> str:
    """The text with control characters shown as what they are, one character for each.

    Those without a picture, which steer a terminal, turn a line round or are not seen at all, are shown as U+FFFD.
    """
    return text.translate(_VISIBLE)


def visible_lines(text: str) -> str:
    """The same, but line ends stay what they are."""
    return "\n".join(map(visible, text.split("\n")))


_VISIBLE = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_VISIBLE |= dict.fromkeys(
    [
        *range(0x80, 0xA0),
        *(0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    ],
    0xFFFD,
)
