"""The constraints that the argument form offers: for which types, in which words, and what each means."""

from __future__ import annotations

from typing import Literal, NamedTuple

from glyphscope_gui.shared.language import tr

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
    Keyword("minimum", tr("Minimum"), "number", _NUMBERS, tr("The smallest number allowed.")),
    Keyword("maximum", tr("Maximum"), "number", _NUMBERS, tr("The largest number allowed.")),
    Keyword("minLength", tr("Shortest"), "count", ("string",), tr("The fewest characters (minLength).")),
    Keyword("maxLength", tr("Longest"), "count", ("string",), tr("The most characters (maxLength).")),
    Keyword(
        "pattern", tr("Pattern"), "text", ("string",),
        tr("A regular expression that must be found in the text; anchor it with ^ and $."), "^https?://",
    ),
    Keyword("format", tr("Format"), "format", ("string",), tr("A kind of text with its own rules, such as a date.")),
    Keyword("items", tr("Items"), "items", ("array",), tr("The type of every item.")),
    Keyword("minItems", tr("Fewest"), "count", ("array",), tr("The fewest items (minItems).")),
    Keyword("maxItems", tr("Most"), "count", ("array",), tr("The most items (maxItems).")),
    Keyword("uniqueItems", tr("Unique"), "flag", ("array",), tr("No two items may be equal.")),
    Keyword(
        "enum", tr("One of"), "values", ("string", *_NUMBERS, ""),
        tr("The only values allowed, with commas between them."), tr("low, high"),
    ),
)  # fmt: skip


def offered(kind: str, keyword: Keyword) -> bool:
    """Whether an argument of type `kind` can have the keyword."""
    return kind in keyword.types
