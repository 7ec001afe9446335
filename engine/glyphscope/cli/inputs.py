"""The inputs of commands: files, standard input, registries. Every error names its input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.inputs import read_file, utf8_text
from glyphscope.registry import (
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    default_registry,
    load_registry,
)

STDIN = "-"


class InputError(GlyphscopeError):
    """An input that a command cannot use."""


def read_text(source: str) -> str:
    """The text of a file, or of standard input for `-`, as it is: no line end is changed.

    A byte order mark at its very beginning is the editor's that wrote the file, and no character of the text.
    """
    where = "standard input" if source == STDIN else source
    return utf8_text(read_bytes(source), where, hint="Give a text file in UTF-8.", error=InputError)


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`, whatever they are."""
    return _read_stdin() if source == STDIN else read_file(Path(source), pipes=True, error=InputError)


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputError(
            "Standard input is closed.", where="standard input", hint="Give a file, or pipe something in."
        )
    return sys.stdin.buffer.read()


def read_json(source: str) -> Any:
    """The JSON value of a file, or of standard input for `-`."""
    try:
        return msgspec.json.decode(read_text(source))
    except (msgspec.DecodeError, RecursionError) as error:
        where = "standard input" if source == STDIN else source
        raise InputError(f"Invalid JSON: {error}.", where=where) from None


def read_json_lines(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its place (`calls.jsonl, line 3`); blank lines are passed over."""
    where = "standard input" if source == STDIN else source
    for number, line in enumerate(read_text(source).split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"Invalid JSON: {error}.", where=place) from None
        if not isinstance(value, dict):
            raise InputError("Each line must be a JSON object.", where=place)
        yield place, value


def read_registry(path: Path | None) -> ToolRegistry:
    """The registry of that file, or the bundled one of that name, where there is no such file."""
    if path is None:
        return default_registry()
    if str(path) in bundled_registries() and not path.exists():
        return bundled_registry(str(path))
    return load_registry(path)
