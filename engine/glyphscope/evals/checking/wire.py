"""The messages of the process that evaluates JSONPath and Python functions: one answer to each question.

Documents are JSON. Sources of Python files are text.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Question(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class ReadPath(_Question, frozen=True):
    """Is it a valid JSONPath (RFC 9535)?"""

    path: str


class Select(_Question, frozen=True):
    """Which values of the document does the path select?"""

    path: str
    document: bytes


class ReadFunctions(_Question, frozen=True):
    """Request the names of the functions at the top level of a source, which is not run."""

    source: str


class CallFunction(_Question, frozen=True):
    """Run the source, and call its function of that name with the document. `file` is for messages."""

    source: str
    file: str
    name: str
    document: bytes


Question: TypeAlias = ReadPath | Select | ReadFunctions | CallFunction


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    body: Question


class Answer(msgspec.Struct, frozen=True):
    """`error`: why there is no answer; `at`: the character of the path, -1 if unknown.

    `nodes` are the first selected values with their normalised paths, as JSON (`[[path, value], …]`); `count` is the
    number of all selected values. `functions` are names. `passed` and `reason` are a function's verdict.
    """

    error: str = ""
    at: int = -1
    nodes: bytes = b"[]"
    count: int = 0
    functions: tuple[str, ...] = ()
    passed: bool = False
    reason: str = ""
