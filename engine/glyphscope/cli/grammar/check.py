"""`glyphscope grammar check`: all problems of a GBNF grammar, with their places and fixes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.text import Text

from glyphscope.cli.inputs import STDIN, InputError, read_bytes, shown_source
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, diagnostics, print_json, print_note
from glyphscope.grammar.gbnf import Diagnostic, GbnfCheck, apply_fixes, check_gbnf_bytes, print_gbnf
from glyphscope.sessions import atomic_write
from glyphscope.text.figures import pluralize
from glyphscope.text.lines import Lines
from glyphscope.visible import visible

_STYLES = {"error": ("✗", "bold red"), "warning": ("!", "yellow"), "hint": ("·", "cyan")}
"""The mark and colour of each severity; colour is never the only sign."""


def check(
    file: Annotated[str, typer.Argument(metavar="G.gbnf|-", help="The grammar; - reads standard input.")],
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply all unambiguous fixes to the file, then check it.")
    ] = False,
    laid_out: Annotated[
        bool, typer.Option("--print", help="Print the formatted grammar, and problems on standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a GBNF grammar. Exit code 1 if llama.cpp would reject it, crash or hang."""
    if laid_out and as_json:
        raise InputError("--print and --json exclude each other.", hint="Give one of them.")
    result = check_gbnf_bytes(read_bytes(file))
    if fix:
        result = _fix(file, result)
    if as_json:
        print_json(report(result))
    else:
        _report(file, result, aside=laid_out)
    if laid_out:
        typer.echo(print_gbnf(result.document).encode("utf-8", "surrogateescape"), nl=False)
    raise typer.Exit(0 if result.ok else 1)


def report(result: GbnfCheck) -> dict[str, Any]:
    """The JSON answer: lines and columns from 1, in code points; ends are exclusive."""
    lines = Lines(result.document.text)
    return {"ok": result.ok, "diagnostics": [_entry(diagnostic, lines) for diagnostic in result.diagnostics]}


def _entry(diagnostic: Diagnostic, lines: Lines) -> dict[str, Any]:
    fix = diagnostic.fix
    edits = [{**_span(start, end, lines), "text": text} for start, end, text in fix.edits] if fix else []
    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        **_span(diagnostic.start, diagnostic.end, lines),
        "fix": {"title": fix.title, "edits": edits} if fix else None,
    }


def _span(start: int, end: int, lines: Lines) -> dict[str, int]:
    line, column = lines.place(start)
    end_line, end_column = lines.place(end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


def _fix(file: str, result: GbnfCheck) -> GbnfCheck:
    if file == STDIN:
        raise InputError("--fix writes a file.", hint="Give a file, or use --print.")
    text, count = apply_fixes(result)
    if count:
        data = text.encode("utf-8", "surrogateescape")
        atomic_write(Path(file), data)
        result = check_gbnf_bytes(data)
    print_note(f"{pluralize(count, 'problem')} fixed in {file}")
    return result


def _report(file: str, result: GbnfCheck, *, aside: bool) -> None:
    out = diagnostics() if aside else console()
    lines = Lines(result.document.text)
    for diagnostic in result.diagnostics:
        for line in _lines(shown_source(file), diagnostic, lines, max(20, out.width - 4)):
            out.print(line)
    errors = sum(diagnostic.severity == "error" for diagnostic in result.diagnostics)
    others = len(result.diagnostics) - errors
    beside = f", {pluralize(others, 'other remark')}" if others else ""
    if result.ok:
        rules = pluralize(len(result.document.rules), "rule")
        out.print(Text(f"✓ llama.cpp accepts it: {rules}{beside}", style="bold green"))
    else:
        out.print(Text(f"✗ {pluralize(errors, 'error')}{beside}", style="bold red"))


def _lines(name: str, diagnostic: Diagnostic, lines: Lines, room: int) -> Iterator[Text]:
    """The message, the grammar's line with the place underlined, and the fix."""
    number, column = lines.place(diagnostic.start)
    end_line, end_column = lines.place(diagnostic.end)
    mark, style = _STYLES[diagnostic.severity]
    head = Text(f"{name}:{number}:{column}: ")
    head.append(f"{mark} {diagnostic.severity}", style=style)
    head.append(f": {visible(diagnostic.message)} [{diagnostic.code}]")
    yield head
    line = lines.line(number)
    first = max(0, column - 1 - room // 2) if len(line) > room else 0
    before = ("…" if first else "") + _shown(line[first : column - 1])
    last = end_column - 1 if end_line == number else len(line)
    marked = _shown(line[column - 1 : min(last, first + room)])
    after = _shown(line[column - 1 : first + room])
    yield Text(f"  {before}{after}")
    yield Text.assemble(" " * (2 + cell_len(before)), ("^" * max(1, cell_len(marked)), style))
    if diagnostic.fix:
        yield Text(f"  fix: {visible(diagnostic.fix.title)}")


def _shown(text: str) -> str:
    return visible(text, single=True)
