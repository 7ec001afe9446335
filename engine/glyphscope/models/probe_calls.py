"""The functions of the grammar probe's process; llama.cpp is imported there only. They may raise any exception."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

ENGINE = "glyphscope.models.probe_child"
"""The module whose import takes the time of the process's start."""
FoundToken: TypeAlias = tuple[int, bytes]
"""A token's id and its bytes."""


class FoundTokens(NamedTuple):
    """The tokens of each text, and the tokens that end a generation."""

    texts: list[list[FoundToken]]
    ends: list[FoundToken]


def read_texts(model: str, gbnf: bytes, texts: list[bytes]) -> list[tuple[bool, int]]:
    """For each text (UTF-8), whether the grammar accepts it, and its viable prefix in bytes."""
    from glyphscope.models.probe_child import recogniser

    return recogniser(model, gbnf).read_all(texts)


def convert(schema: str) -> str:
    """The GBNF that llama-cpp-python makes from a JSON Schema."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    from glyphscope.events.encoding import whole_text

    return whole_text(json_schema_to_gbnf(schema))


def find_tokens(model: str, texts: list[bytes]) -> FoundTokens:
    """The tokens of the model's vocabulary that spell the texts (UTF-8)."""
    from glyphscope.models.probe_child import vocabulary_of

    vocabulary = vocabulary_of(model)
    return FoundTokens([list(vocabulary.tokens(text)) for text in texts], vocabulary.ends)
