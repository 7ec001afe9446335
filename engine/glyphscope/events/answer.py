"""The answer of a run: a tool call, a value of a JSON Schema, a text of a pattern or grammar, or a listed text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import shorten
from glyphscope.events.setting import Choice

AnswerKind: TypeAlias = Literal["call", "schema", "regex", "choice", "gbnf", "lark"]

ANSWER_CHOICES = (
    Choice("call", "Tool call", "A call of one of the tools, as the notation has it", "tool call"),
    Choice("schema", "Schema", "A value of a JSON Schema, in JSON or GLYPH", "schema"),
    Choice("regex", "Pattern", "A text that a regular expression matches as a whole", "pattern"),
    Choice("choice", "Choice", "One of several texts, one per line", "choice"),
    Choice("gbnf", "GBNF", "A text of a grammar as llama.cpp reads it", "GBNF"),
    Choice("lark", "Lark", "A text of a grammar as llguidance reads it", "Lark"),
)
_SHOWN = 40
"""Characters of its text within a name."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`text` is the schema as JSON, the pattern, the listed texts (one per line), or the grammar; empty for a call.

    `relaxed` are the names of a grammar's rules in whose places any text is possible.
    """

    kind: AnswerKind = "call"
    text: str = ""
    relaxed: tuple[str, ...] = ()

    @property
    def is_call(self) -> bool:
        """Whether it is a call of the request's tools."""
        return self.kind == "call"

    @property
    def has_schema(self) -> bool:
        """Whether a schema constrains it: its own, or those of the tools."""
        return self.kind in ("call", "schema")

    @property
    def choices(self) -> tuple[str, ...]:
        """The listed texts."""
        return tuple(self.text.split("\n")) if self.kind == "choice" else ()

    @property
    def description(self) -> str:
        """The text that `described_answer` reads, with the answer in place of a file."""
        return "call" if self.is_call else f"{self.kind}:{'|'.join(self.choices) or self.text}"

    def __str__(self) -> str:
        """Its words within a name: `tool call`, `choice yes|no`, `pattern [0-9]+`."""
        words = next(choice.words for choice in ANSWER_CHOICES if choice.value == self.kind)
        text = "|".join(self.choices) if self.kind == "choice" else " ".join(self.text.split())
        return f"{words} {shorten(text, _SHOWN)}" if text else words


CALL = Answer()


def described_answer(text: str, read: Callable[[str], str]) -> Answer:
    """The answer that `--answer` and a suite describe; `read` returns the text of a file. Raises GlyphscopeError."""
    kind, colon, rest = text.partition(":")
    match kind:
        case "call" if not colon:
            return CALL
        case "schema" if colon:
            return Answer("schema", read(rest))
        case "regex" if colon:
            return Answer("regex", rest)
        case "choice" if colon:
            return Answer("choice", "\n".join(rest.split("|")))
        case "gbnf" | "lark" if colon:
            return Answer(kind, read(rest))
    if text.endswith((".gbnf", ".lark")):
        return Answer("gbnf" if text.endswith(".gbnf") else "lark", read(text))
    raise GlyphscopeError(
        "This does not describe an answer.",
        hint="Write call, schema:FILE, regex:PATTERN, choice:A|B, or the path of a .gbnf or .lark file.",
    )
