"""The messages of the grammar probe's process: one request, one answer, in turn."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Frame(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class ReadTexts(_Frame, frozen=True):
    """Which of the texts (UTF-8) does the grammar accept? GBNF in UTF-8, without U+0000."""

    gbnf: bytes
    texts: list[bytes]


class ConvertSchema(_Frame, frozen=True):
    """What does llama-cpp-python make of a JSON Schema, given as JSON?"""

    schema: str


class FindTokens(_Frame, frozen=True):
    """Which tokens of the model's vocabulary are these texts (UTF-8), and which tokens end a generation?"""

    texts: list[bytes]


Request: TypeAlias = ReadTexts | ConvertSchema | FindTokens
FoundToken: TypeAlias = tuple[int, bytes]
"""A token's id and its bytes."""


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    body: Request


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """`refused`: why there is nothing else. `matches`: accepted, and how many bytes of the text can be begun with.

    `tokens` are those of each text, `ends` those that end a generation.
    """

    refused: str = ""
    matches: list[tuple[bool, int]] = []
    gbnf: str = ""
    tokens: list[list[FoundToken]] = []
    ends: list[FoundToken] = []
