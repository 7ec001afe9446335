"""Reads the arguments of a request from the command line, and prints its result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer
from rich.text import Text

from glyphscope.base.figures import byte_size
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import schema_error_words, shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import STDIN, InputError, read_text
from glyphscope.cli.options import out_option
from glyphscope.cli.output import console, print_json, print_note, print_text
from glyphscope.events import ToolContent
from glyphscope.registry import Tool
from glyphscope.store.files import atomic_write
from glyphscope.tools import Outcome
from glyphscope.tools.mcp.content import content_bytes
from glyphscope.validation.checker import Checker

_MAX_VIOLATIONS = 10
_MAX_LINE = 100

ArgumentsOption: TypeAlias = Annotated[
    str, typer.Option("--arguments", "-a", metavar="JSON", help="An object; - reads it from standard input.")
]
OutOption: TypeAlias = Annotated[
    Path | None,
    out_option("Save the content to a file, several pieces to FILE, FILE-2 …", show_default=False),
]


def read_arguments(text: str) -> dict[str, Any]:
    """The object of --arguments. Raises InputError."""
    where = "standard input" if text == STDIN else "--arguments"
    try:
        value = json.loads(read_text(STDIN) if text == STDIN else text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Invalid JSON: {error}.", where=where) from None
    if not isinstance(value, dict):
        raise InputError("Arguments are one JSON object.", where=where, hint='For example {"city": "Rome"}.')
    return value


def first_line(description: str) -> str:
    """The first line of a server's description, for a list."""
    return visible(shorten(description.strip().partition("\n")[0], _MAX_LINE))


def violations(tool: Tool, arguments: dict[str, Any]) -> list[str]:
    """The first violations of the tool's schema, in words."""
    found = Checker(tool.parameters).errors(arguments, _MAX_VIOLATIONS)
    return [
        f"{to_pointer(tuple(error.absolute_path)) or '/'}: {schema_error_words(error)}" for error in found
    ]


def print_violations(tool: Tool, arguments: dict[str, Any]) -> None:
    for words in violations(tool, arguments):
        print_note(f"! {words}", "yellow")


def print_progress(done: float, total: float | None, message: str) -> None:
    of = "" if total is None else f" of {total:g}"
    print_note(f"… {done:g}{of} {visible(message)}".rstrip(), "dim")


def print_outcome(outcome: Outcome, *, as_json: bool, out: Path | None = None) -> None:
    """Print the result, or save its content to the file `out`; problems and errors go to standard error. Raises
    StorageError.
    """
    if out is not None and outcome.content:
        _save(outcome, out)
        outcome = replace(outcome, content=(), structured=None)
    if as_json:
        print_json({"ok": outcome.ok, **msgspec.to_builtins(outcome)})
        return
    shown = console()
    for number, content in enumerate(outcome.content):
        if number < len(outcome.roles):
            print_text(f"{outcome.roles[number]}:", "bold")
        shown.print(_shown(content), soft_wrap=True)
    if outcome.structured is not None and not outcome.content:
        shown.print(Text(json.dumps(outcome.structured, indent=2, ensure_ascii=False)), soft_wrap=True)
    for problem in outcome.schema_problems:
        print_note(f"! the result violates the output schema: {problem}", "yellow")
    for finding in outcome.findings:
        print_note(f"! {finding}", "yellow")
    if not outcome.ok:
        is_tool = outcome.fault == "tool"
        words = "the tool failed" if is_tool else f"{outcome.fault}: {visible(outcome.message)}"
        print_note(f"✗ {words}", "bold red")


def _save(outcome: Outcome, out: Path) -> None:
    """Save each piece to a file: the first to FILE.x, the second to FILE-2.x …"""
    for number, content in enumerate(outcome.content, 1):
        path = out if number == 1 else out.with_stem(f"{out.stem}-{number}")
        data = content_bytes(content)
        atomic_write(path, data)
        print_note(f"Saved {path!s} ({byte_size(len(data))})", "dim")


def _shown(content: ToolContent) -> Text:
    if content.kind == "text":
        return Text("\n".join(map(visible, content.text.split("\n"))))
    facts = (content.name, content.uri, content.mime, f"{content.size:,} bytes" if content.size else "")
    head = f"[{content.kind}: {', '.join(visible(fact) for fact in facts if fact)}]"
    lines = [head, *map(visible, content.text.split("\n"))] if content.text else [head]
    return Text("\n".join(lines))
