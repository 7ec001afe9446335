"""The messages of the compilers' process: one request, one answer, in turn.

Texts are bytes of UTF-8, in which lone surrogates pass.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Question(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class Compile(_Question, frozen=True):
    """Is it a grammar? In llguidance's Lark dialect, or a JSON Schema for its own compiler of those."""

    grammar: bytes
    is_schema: bool = False


class ReadTexts(_Question, frozen=True):
    """Which of the texts does the grammar accept?"""

    grammar: bytes
    is_schema: bool
    texts: list[bytes]


class FindText(_Question, frozen=True):
    """Is there any text in the Lark grammar?"""

    grammar: bytes


class Begin(_Question, frozen=True):
    """Does the linear-time engine take the language of strings, and what holds at the beginning of one?

    `language` is JSON: `patterns`, `min_length`, `max_length`.
    """

    language: bytes


class Feed(_Question, frozen=True):
    """How much of `text` may follow in the string of that number? `before` is all before it, where it is asked for.

    `ends`: and does the string match then?
    """

    language: bytes
    number: int
    text: bytes
    before: bytes | None = None
    ends: bool = False


class Search(_Question, frozen=True):
    """Is the pattern found in the text, by the engine that backtracks, within that time?"""

    pattern: bytes
    text: bytes
    seconds: float


Question: TypeAlias = Compile | ReadTexts | FindText | Begin | Feed | Search


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    body: Question


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """`refused`: why there is nothing else.

    `read`: for each text whether it is accepted, or why that is not known. `found`: None where that is not known.
    `fed`: how many characters of the text were possible; -1 where the string has to come from its beginning.
    `can_grow`, `matches`: of the string so far; both say nothing where `matches` is None, until `ends` asks for them.
    """

    refused: str = ""
    read: list[bool | str] = []
    found: bool | None = None
    fed: int = 0
    can_grow: bool = True
    matches: bool | None = None
