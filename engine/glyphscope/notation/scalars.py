"""Unquoted scalars: the value of a word, and the possible kinds of a prefix, in both notations.

Numbers follow RFC 8259 in both notations. GLYPH's bare words follow glyph-py 1.0.1's lexer (letters, digits,
`_ - . / @ +`, beginning with a letter, or a number that continues with letters). Words that begin with `_` are read as
keys, because canonical GLYPH writes them, but not as values: glyph-py would read `_x` as null and `x`.
"""

from __future__ import annotations

import math
import re

from glyphscope.events import Notation

# The kinds of value, as bits. An integer is written as an integer literal (see docs/decisions), so only the literal's
# form distinguishes INTEGER from DECIMAL.
NULL, BOOLEAN, INTEGER, DECIMAL, STRING, ARRAY, OBJECT = 1, 2, 4, 8, 16, 32, 64
NUMBER = INTEGER | DECIMAL
SCALAR = NULL | BOOLEAN | NUMBER | STRING
ANY_KIND = SCALAR | ARRAY | OBJECT

KIND_WORDS = {
    NULL: "null", BOOLEAN: "boolean", INTEGER: "integer", DECIMAL: "number", STRING: "string", ARRAY: "array",
    OBJECT: "object",
}  # fmt: skip

MAX_NUMBER_LENGTH = 4000  # Python reads integers of up to 4,300 digits

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_RAISED = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?[eE]\+?[0-9]+")  # more digits make it larger
_NUMBER_PREFIX = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?[eE][+-]?[0-9]*)?)?")
# A word that glyph-py's lexer reads as a number; it is a valid number or an error.
GLYPH_NUMBERISH = re.compile(r"-?[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")

_JSON_WORDS: dict[str, tuple[int, bool | None]] = {
    "true": (BOOLEAN, True),
    "false": (BOOLEAN, False),
    "null": (NULL, None),
}
_GLYPH_WORDS: dict[str, tuple[int, bool | None]] = {
    **_JSON_WORDS,
    "t": (BOOLEAN, True),
    "f": (BOOLEAN, False),
    "nil": (NULL, None),
    "_": (NULL, None),
    "∅": (NULL, None),
}
_WORDS: dict[Notation, dict[str, tuple[int, bool | None]]] = {"glyph": _GLYPH_WORDS, "json": _JSON_WORDS}
_FIRST_OF_WORDS = frozenset(word[0] for word in _GLYPH_WORDS)
_WORD = re.compile(r"[\w\-./@+]+")
_GLYPH_REFUSED = frozenset({"NaN", "Inf", "-Inf"})


def words(notation: Notation) -> dict[str, tuple[int, bool | None]]:
    """The notation's words that are not strings, by word: (kind, value)."""
    return _WORDS[notation]


def number_prefix(text: str) -> bool:
    """Whether `text` is, or can become, a number of RFC 8259."""
    return _NUMBER_PREFIX.fullmatch(text) is not None


def number_kind(text: str) -> int:
    """INTEGER or DECIMAL for a complete number literal, 0 for anything else, also if it is too large for a float."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return 0
    if match[1] is None and match[2] is None:
        return INTEGER
    return DECIMAL if math.isfinite(float(text)) else 0


def too_large(prefix: str) -> str:
    """Why no number begins like this: it is larger than any that a call can contain, however it continues. "" for any
    other text.
    """
    found = _RAISED.fullmatch(prefix)
    if found is None or math.isfinite(float(prefix)):
        return ""
    return f"'{prefix}' is too large: a number with an exponent is at most about 1.8e308"


def reachable_kinds(prefix: str, notation: Notation) -> int:
    """The kinds of value that continuations of the unquoted, nonempty `prefix` can have, as bits."""
    first = prefix[0]
    kinds = 0
    if first in "-0123456789":
        if number_prefix(prefix):
            kinds = NUMBER if prefix.lstrip("-").isdigit() or prefix == "-" else DECIMAL
        # a number becomes a bare string when a letter is added
        bare = notation == "glyph" and (GLYPH_NUMBERISH.fullmatch(prefix) or _runs_into_letters(prefix))
    else:
        bare = notation == "glyph" and first.isalpha()
        if first in _FIRST_OF_WORDS:
            for word, (kind, _) in words(notation).items():
                if word.startswith(prefix):
                    kinds |= kind
    return kinds | STRING if bare else kinds


def is_bare(text: str) -> bool:
    """Whether GLYPH reads the word `text`, unquoted, as the string `text`."""
    return _WORD.fullmatch(text) is not None and scalar_value(text, "glyph")[0] == STRING


def is_bare_key(text: str) -> bool:
    """Whether GLYPH reads the word `text`, unquoted, as a key."""
    return _WORD.fullmatch(text) is not None and is_key(text)


def is_key(word: str) -> bool:
    """Whether the word, whose characters GLYPH's words can have, is a key, not another value than a string."""
    return scalar_value(word, "glyph")[0] == STRING or (word[0] == "_" and len(word) > 1)


def scalar_value(text: str, notation: Notation) -> tuple[int, bool | int | float | str | None]:
    """Kind and value of a complete unquoted scalar; kind 0 if it is invalid (`01`, `1.`, `nul`, `NaN`, `1e999`)."""
    if text.isdigit() and text.isascii() and (text[0] != "0" or text == "0"):  # most numbers, in one step
        return INTEGER, int(text)
    known = _WORDS[notation].get(text)
    if known is not None:
        return known
    first = text[:1]
    kind = number_kind(text) if first in "-0123456789" else 0
    if kind == INTEGER:
        return INTEGER, int(text)
    if kind == DECIMAL:
        return DECIMAL, float(text)
    if notation == "json" or text in _GLYPH_REFUSED:
        return 0, None
    if first.isalpha() or (first in "-0123456789" and _runs_into_letters(text)):
        return STRING, text
    return 0, None


def _runs_into_letters(text: str) -> bool:
    match = GLYPH_NUMBERISH.match(text)
    if match is None or match.end() == len(text):
        return False
    following = text[match.end()]
    return following.isalpha() or following == "_"
