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
    Keyword("minimum", tr("Minimum"), "number", _NUMBERS, tr("The smallest allowed number (minimum).")),
    Keyword("maximum", tr("Maximum"), "number", _NUMBERS, tr("The largest allowed number (maximum).")),
    Keyword("minLength", tr("Min length"), "count", ("string",), tr("The minimum number of characters (minLength).")),
    Keyword("maxLength", tr("Max length"), "count", ("string",), tr("The maximum number of characters (maxLength).")),
    Keyword(
        "pattern", tr("Pattern"), "text", ("string",),
        tr("A regular expression that must match in the text; anchor it with ^ and $ (pattern)."), "^https?://",
    ),
    Keyword(
        "format", tr("Format"), "format", ("string",),
        tr("A predefined format of the text, such as a date (format)."),
    ),
    Keyword("items", tr("Items"), "items", ("array",), tr("The type of every item (items).")),
    Keyword("minItems", tr("Min items"), "count", ("array",), tr("The minimum number of items (minItems).")),
    Keyword("maxItems", tr("Max items"), "count", ("array",), tr("The maximum number of items (maxItems).")),
    Keyword("uniqueItems", tr("Unique items"), "flag", ("array",), tr("All items must be different (uniqueItems).")),
    Keyword(
        "enum", tr("Enum"), "values", ("string", *_NUMBERS, ""),
        tr("The allowed values, separated by commas (enum)."), tr("low, high"),
    ),
)  # fmt: skip


def offered(kind: str, keyword: Keyword) -> bool:
    """Whether an argument of type `kind` can have the keyword."""
    return kind in keyword.types
