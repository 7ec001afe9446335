"""The messages of the compilers' process: one answer to each question, in order.

Texts are UTF-8 bytes; lone surrogates are encoded too.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Question(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class Compile(_Question, frozen=True):
    """Is the grammar valid? It is in llguidance's Lark dialect, or a JSON Schema for its own compiler."""

    grammar: bytes
    is_schema: bool = False


class ReadTexts(_Question, frozen=True):
    """Which of the texts does the grammar accept?"""

    grammar: bytes
    is_schema: bool
    texts: list[bytes]


class FindText(_Question, frozen=True):
    """Does the Lark grammar have any text?"""

    grammar: bytes


class Begin(_Question, frozen=True):
    """Does the linear-time engine support the language of strings, and what is the state at the beginning of one?

    `language` is JSON: `patterns`, `min_length`, `max_length`.
    """

    language: bytes


class Feed(_Question, frozen=True):
    """How much of `text` may follow in the string with that number? `before` is all text before it, if requested.

    `ends`: does the string match then?
    """

    language: bytes
    number: int
    text: bytes
    before: bytes | None = None
    ends: bool = False


class Search(_Question, frozen=True):
    """Does the backtracking engine find the pattern in the text within that time?"""

    pattern: bytes
    text: bytes
    seconds: float


Question: TypeAlias = Compile | ReadTexts | FindText | Begin | Feed | Search


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    body: Question


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """`refused`: why the other fields are empty.

    `read`: for each text, whether it is accepted, or why that is unknown. `found`: None if it is unknown.
    `fed`: the number of possible characters of the text; -1 if the string must be sent from its beginning.
    `can_grow`, `matches`: of the string so far; both are unknown if `matches` is None, until `ends` requests them.
    """

    refused: str = ""
    read: list[bool | str] = []
    found: bool | None = None
    fed: int = 0
    can_grow: bool = True
    matches: bool | None = None
