"""The messages of the grammar probe's process: one answer to each request, in order."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Frame(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class ReadTexts(_Frame, frozen=True):
    """Which of the texts (UTF-8) does the grammar accept? The GBNF is UTF-8 without U+0000."""

    gbnf: bytes
    texts: list[bytes]


class ConvertSchema(_Frame, frozen=True):
    """Which GBNF does llama-cpp-python make from a JSON Schema, given as JSON?"""

    schema: str


class FindTokens(_Frame, frozen=True):
    """Which tokens of the model's vocabulary spell these texts (UTF-8), and which tokens end a generation?"""

    texts: list[bytes]


Request: TypeAlias = ReadTexts | ConvertSchema | FindTokens
FoundToken: TypeAlias = tuple[int, bytes]
"""A token's id and its bytes."""


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    body: Request


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """`refused`: why the other fields are empty. `matches`: whether a text is accepted, and its viable prefix in bytes.

    `tokens` are the tokens of each text, `ends` the tokens that end a generation.
    """

    refused: str = ""
    matches: list[tuple[bool, int]] = []
    gbnf: str = ""
    tokens: list[list[FoundToken]] = []
    ends: list[FoundToken] = []
