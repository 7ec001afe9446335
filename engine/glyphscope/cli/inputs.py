"""The inputs of commands: files, standard input, registries. Every error names its input."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import typer

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.shorten import json_excerpt, listed, shorten
from glyphscope.base.visible import visible
from glyphscope.cli.output import diagnostics, print_line_error, print_note
from glyphscope.events import Answer, RunRequest, Shape, described_answer
from glyphscope.grammar.shapes import fitting_shape, shape_note
from glyphscope.registry import (
    Tool,
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    default_registry,
    load_registry,
    parse_document,
)
from glyphscope.registry.saving import unused

STDIN = "-"
_HALF = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})")
"""Two halves of a character as JSON writes them, or a `half` alone."""


class InputError(GlyphscopeError):
    """An input that a command cannot use."""


def read_text(source: str) -> str:
    """The text of a file, or of standard input for `-`, with unchanged line ends.

    A byte order mark at the beginning is written by editors, and is not part of the text.
    """
    where = shown_source(source)
    return utf8_text(read_bytes(source), where, hint="Give a text file in UTF-8.", error=InputError)


ANSWER_METAVAR = "call|schema:FILE|regex:PATTERN|choice:A|B|FILE.gbnf|FILE.lark"


def read_answer(text: str) -> Answer:
    """The answer that `--answer` describes, with the text of its file."""
    try:
        return described_answer(text, read_text)
    except InputError:
        raise
    except GlyphscopeError as error:
        hint = f"{error.hint} Answers to a router's questions are given by --reply."
        raise InputError(error.message, where=f"--answer {shorten(text, 60)}", hint=hint) from None


def shown_source(source: str) -> str:
    """The name of a source in messages."""
    return "standard input" if source == STDIN else source


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    return _read_stdin() if source == STDIN else read_file(Path(source), pipes=True, error=InputError)


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputError(
            "Standard input is closed.", where="standard input", hint="Give a file, or pipe something in."
        )
    return sys.stdin.buffer.read()


def read_json(source: str) -> Any:
    """The JSON value of a file, or of standard input for `-`; a duplicate key is an error, as in a registry."""
    where = shown_source(source)
    text = read_text(source)
    value = parse_json(text, where)

    def checked(pairs: list[tuple[str, Any]]) -> None:
        for key, times in Counter(key for key, _ in pairs).most_common(1):
            if times == 1:
                return
            shown = json_excerpt(key, 60)
            hint = "Remove one of them: readers of JSON differ in which one they take."
            raise InputError(f"Duplicate key {shown} in one object.", where=where, hint=hint)

    with suppress(
        ValueError, RecursionError
    ):  # Python's reader rejects more, such as numbers of 5,000 digits
        json.loads(text, object_pairs_hook=checked)
    return value


def parse_json(text: str, where: str) -> Any:
    """The JSON value of a text from `where`."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:  # also invalid UTF-8
        why = str(error)
        if "truncated" in why:  # msgspec says so of these too
            half = next(filter(None, (found["half"] for found in _HALF.finditer(text))), "")
            why = f"{half} is half a character" if half else why if text.strip() else "it is empty"
        raise InputError(f"Invalid JSON: {why}.", where=where) from None


def read_json_lines(source: str) -> Iterator[tuple[str, Any]]:
    """The values of a JSON Lines file, each with its place (`calls.jsonl, line 3`); blank lines are skipped."""
    for place, line in _lines(source):
        yield place, parse_json(line, place)


def answer_lines(source: str, answer: Callable[[str, str, dict[str, Any]], bool]) -> bool:
    """Answer each object with a "text" of a JSON Lines file, given its place, text and object.

    Returns whether all answers are true. A bad line, or one for which `answer` raises a GlyphscopeError, is answered
    by the error: the others are answered too, and the command ends with exit code 2. Raises InputError for a file
    without lines.
    """
    good, usable, found = True, True, False
    for place, line in _lines(source):
        found = True
        try:
            value = as_json_object(parse_json(line, place), place)
            if not isinstance(text := value.get("text"), str):
                raise InputError('Each line needs a "text", a string.', where=place)
            good = answer(place, text, value) and good
        except GlyphscopeError as error:
            print_line_error(error, place)
            usable = False
    if not found:
        hint = 'Give one {"text": …} per line.'
        raise InputError(
            "There is nothing to check: no line has a text.", where=shown_source(source), hint=hint
        )
    if not usable:
        raise typer.Exit(2)
    return good


def _lines(source: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_text(source).split("\n"), start=1):
        if line.strip():
            yield f"{shown_source(source)}, line {number}", line


def as_json_object(value: Any, place: str) -> dict[str, Any]:
    """The value of a line, which must be an object."""
    if not isinstance(value, dict):
        raise InputError("Each line must be a JSON object.", where=place)
    return value


def expecting(request: RunRequest, text: str | None) -> RunRequest:
    """The request with the right answer that `--expect` describes, if it is given. Raises InputError."""
    if text is None:
        return request
    from glyphscope.evals.suites.expected_text import (  # most commands have no need of it
        ExpectedTextError,
        read_expected,
    )
    from glyphscope.turns.form import read_form

    form = read_form(request.form) if request.native == "template" else None
    try:
        expected = read_expected(text, parse_document(request.registry), request.answer, form)
    except ExpectedTextError as error:
        raise InputError(error.message, where=f"--expect, {error.where}", hint=error.hint) from None
    return msgspec.structs.replace(request, expected=expected)


def in_shape(registry: ToolRegistry, shape: Shape) -> Shape:
    """The shape in which the registry's calls are written; on stderr, why it is not the requested one."""
    if note := shape_note(registry, shape):
        diagnostics().print(visible(note), soft_wrap=True)
    return fitting_shape(registry, shape)


def note_uncallable(tool: Tool | None, noted: set[str]) -> None:
    """Say on stderr that no call of the tool that an invalid call names can be written, if so; once for each schema."""
    key = "" if tool is None else json.dumps([tool.name, tool.parameters])
    if tool is None or key in noted:
        return
    noted.add(key)
    # a valid call needs no grammar
    from glyphscope.grammar.builder.uncallable import uncallable, uncallable_words

    if found := uncallable(ToolRegistry((tool,))):
        print_note(f"! No call can be written of {uncallable_words(found)}.", "yellow")


def note_unenforced(request: RunRequest) -> None:
    """Say on stderr which keywords of its tools the request's constraint does not enforce, if any."""
    # most commands make no grammar
    from glyphscope.runs.prepared import prepare
    from glyphscope.runs.strategies.constraints import unenforced, unenforced_words

    with suppress(GlyphscopeError):  # the run itself reports it
        if words := unenforced_words(unenforced(prepare(request)), request.constraint):
            print_note(f"! {words}", "yellow")


def read_registry(path: Path | None) -> ToolRegistry:
    """The registry in that file or, if there is no such file, the bundled registry of that name."""
    if path is None:
        return default_registry()
    if str(path) in bundled_registries() and not path.exists():
        return bundled_registry(str(path))
    registry = load_registry(path)
    if registry.kept and (found := unused(registry)):
        names = listed([each.what for each in found], _UNUSED)
        print_note(
            f"! {path} has more than is used here: {names}. `glyphscope tools convert` lists it.", "yellow"
        )
    return registry


_UNUSED = 5
"""Facts that a note on a file of tools names."""
