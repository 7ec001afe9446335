"""The inputs of the bench: long calls for the validators, short prompts for the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glyphscope.events import Notation
from glyphscope.notation.write import write_call
from glyphscope.registry import ToolRegistry, default_registry, make_tool

TOKEN = 4
"""The number of characters in each token that is fed to a validator."""

PROMPTS = (
    "Search for AI news, 10 results",
    "What is 15 percent of 230?",
    "Open https://example.com and read it",
    "List the files in /tmp",
    "Read the file /tmp/notes.txt",
    "Write Hello to /tmp/test.txt",
    "Tell bob@example.com that the meeting is on Friday",
)
"""One prompt for each tool of the default registry, in its order."""

STORY = "Write a long story about the keeper of a lighthouse and a storm."
"""A prompt whose answer has more tokens than are ever timed."""


def many_tools(count: int, mark: str = "") -> ToolRegistry:
    """The default tools repeated under numbered names; with a new `mark`, they are in no cache."""
    kinds = default_registry().tools
    return ToolRegistry(
        tuple(
            replace(kinds[number % len(kinds)], name=f"{kinds[number % len(kinds)].name}{mark}_{number}")
            for number in range(count)
        )
    )


_PROSE = 'The keeper said: "No ship comes in tonight."\nThen the lamp went out.\n'
_PLAIN = "The keeper says that no ship comes in tonight. "

BOUND = ToolRegistry(
    (
        make_tool(
            "note",
            "Keep a note of plain words.",
            {
                "type": "object",
                "properties": {"text": {"type": "string", "pattern": "^([A-Za-z]+[ .]*)+$"}},
                "required": ["text"],
            },
        ),
    )
)
"""A string that a pattern decides, character by character."""

MEMBERS = ToolRegistry(
    (
        make_tool(
            "record",
            "Record readings by name.",
            {
                "type": "object",
                "properties": {"readings": {"type": "object", "additionalProperties": {"type": "integer"}}},
                "required": ["readings"],
            },
        ),
    )
)
"""An object with any number of members."""


def long_string(notation: Notation, size: int) -> str:
    """A call of write_file with `size` characters of content, some of them escaped."""
    return _write("write_file", {"path": "/tmp/log.txt", "content": _repeated(_PROSE, size)}, notation)


def bound_string(notation: Notation, size: int) -> str:
    """A call of the tool in `BOUND`."""
    return _write("note", {"text": _repeated(_PLAIN, size).strip()}, notation)


def many_members(notation: Notation, size: int) -> str:
    """A call of the tool in `MEMBERS`, with about `size` characters, 12 per member."""
    return _write("record", {"readings": {f"m{i:05d}": i % 100 for i in range(size // 12)}}, notation)


def head_form(size: int) -> str:
    """The long string in the only form that glyph-py's validator reads, without escapes: `write_file{path="…" …}`."""
    return f'write_file{{path="/tmp/log.txt" content="{_repeated(_PLAIN, size)}"}}'


def tokens(text: str) -> list[str]:
    """The text in pieces of `TOKEN` characters."""
    return [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]


def _write(tool: str, arguments: dict[str, Any], notation: Notation) -> str:
    return write_call(tool, arguments, style=notation)


def _repeated(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]
