"""The constraints that the argument form offers: for which types, in which words, and what each means."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["text", "number", "count", "values", "flag", "format", "items"]


class Keyword(NamedTuple):
    """`name` is the keyword of JSON Schema; `types` are the types that can have it, empty for all."""

    name: str
    label: str
    kind: Kind
    types: tuple[str, ...]
    hint: str
    example: str = ""


_NUMBERS = ("integer", "number")

KEYWORDS = (
    Keyword("minimum", "Minimum", "number", _NUMBERS, "The smallest number allowed."),
    Keyword("maximum", "Maximum", "number", _NUMBERS, "The largest number allowed."),
    Keyword("minLength", "Shortest", "count", ("string",), "The fewest characters (minLength)."),
    Keyword("maxLength", "Longest", "count", ("string",), "The most characters (maxLength)."),
    Keyword(
        "pattern", "Pattern", "text", ("string",),
        "A regular expression that must be found in the text; anchor it with ^ and $.", "^https?://",
    ),
    Keyword("format", "Format", "format", ("string",), "A kind of text with its own rules, such as a date."),
    Keyword("items", "Items", "items", ("array",), "The type of every item."),
    Keyword("minItems", "Fewest", "count", ("array",), "The fewest items (minItems)."),
    Keyword("maxItems", "Most", "count", ("array",), "The most items (maxItems)."),
    Keyword("uniqueItems", "Unique", "flag", ("array",), "No two items may be equal."),
    Keyword(
        "enum", "One of", "values", ("string", *_NUMBERS, ""),
        "The only values allowed, with commas between them.", "low, high",
    ),
)  # fmt: skip


def offered(kind: str, keyword: Keyword) -> bool:
    """Whether an argument of type `kind` can have the keyword."""
    return kind in keyword.types
