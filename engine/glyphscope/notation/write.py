"""Write calls and values: JSON compact, spaced and in OpenAI's wrapper; GLYPH quoted and canonical."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from glyphscope.base.errors import NotationError
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.events import Shape
from glyphscope.notation.scalars import is_bare
from glyphscope.notation.shapes import call_document

Style: TypeAlias = Literal["json", "json-spaced", "openai", "glyph", "glyph-canonical"]
STYLES: tuple[Style, ...] = get_args(Style)

MAX_DEPTH = 256
"""The maximum nesting; deeper values are rejected before the interpreter's stack overflows."""

# Words that GLYPH does not read as a key or a string, or that glyph-py quotes.
RESERVED = frozenset({"t", "f", "true", "false", "null", "nil", "none", "NaN", "Inf"})
_BARE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def write_call(
    tool: str, arguments: Mapping[str, Any], *, style: Style = "glyph", shape: Shape = "flat"
) -> str:
    """The text of a call. Raises NotationError if the notation or the shape cannot express it."""
    if style == "openai":
        function = {"name": tool, "arguments": write_value(dict(arguments), "json")}
        return write_value({"type": "function", "function": function}, "json")
    return write_value(call_document(tool, arguments, shape), style)


def write_value(value: Any, style: Style) -> str:
    """The text of one value. The entries of a map keep their order in every style."""
    _check(value)
    if style in ("json", "openai"):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if style == "json-spaced":
        return json.dumps(value, ensure_ascii=False)
    if style == "glyph":
        return _write_glyph(value, glyph_key, glyph_scalar)
    return _write_glyph(value, _canonical_key, _canonical_scalar)


def glyph_key(key: str) -> str:
    """A map's key: bare if every GLYPH reader reads it as a word, otherwise quoted."""
    return key if _BARE_KEY.fullmatch(key) and key not in RESERVED else quote(key)


def quote(text: str) -> str:
    r"""A GLYPH string in quotes. Its escapes are \" \\ \n \r \t, and \uXXXX for other control characters."""
    return '"' + _ESCAPED.sub(lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def glyph_scalar(value: Any) -> str:
    """A scalar in the quoted style: quoted strings, `t f _`, and numbers as in JSON."""
    if value is None:
        return "_"
    if isinstance(value, bool):
        return "t" if value else "f"
    return quote(value) if isinstance(value, str) else json.dumps(value)


def _canonical_scalar(value: Any) -> str:
    import glyph  # imports asyncio, which no other style needs

    if isinstance(value, str) and not is_bare(value):
        return quote(value)  # like glyph-py, which is slow with long texts
    # glyph-py writes some values that it does not read back: words that begin with an underscore, and floats with
    # more digits than its exponent form keeps. These are written in the quoted style, which all readers accept.
    text: str = glyph.json_to_glyph(value)
    return text if _reads_back(text, value) else glyph_scalar(value)


def _canonical_key(key: str) -> str:
    text = _canonical_scalar(key)
    return text if _reads_back(f"{{{text}=1}}", {key: 1}) else quote(key)


def _reads_back(text: str, value: Any) -> bool:
    import glyph

    try:
        return bool(glyph.to_json(glyph.parse(text)) == value)
    except ValueError:
        return False


def _write_glyph(value: Any, write_key: Callable[[str], str], write_scalar: Callable[[Any], str]) -> str:
    if isinstance(value, Mapping):
        entries = (f"{write_key(k)}={_write_glyph(v, write_key, write_scalar)}" for k, v in value.items())
        return "{" + " ".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + " ".join(_write_items(value, write_key, write_scalar)) + "]"
    return write_scalar(value)


def _write_items(
    items: Sequence[Any], write_key: Callable[[str], str], write_scalar: Callable[[Any], str]
) -> Iterator[str]:
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else None
        if isinstance(item, str) and isinstance(following, Mapping):
            yield quote(item)  # a bare word before a brace is a struct's name, even with a space between
        else:
            yield _write_glyph(item, write_key, write_scalar)


def _check(root: Any) -> None:
    """Reject values that no notation can express; the error gives the place as a JSON Pointer."""
    open_values: list[tuple[Any, str, int]] = [(root, "", 0)]
    while open_values:
        value, pointer, depth = open_values.pop()
        if depth > MAX_DEPTH:
            raise NotationError(
                f"The value is nested more than {MAX_DEPTH} levels deep.", where=shorten(pointer, 80)
            )
        if isinstance(value, Mapping):
            for key, item in value.items():
                if not isinstance(key, str):
                    raise NotationError(f"A key must be a string, not {key!r}.", where=pointer)
                _check_scalar(key, pointer)
                open_values.append((item, pointer + to_pointer((key,)), depth + 1))
        elif isinstance(value, list | tuple):
            open_values += [(item, f"{pointer}/{i}", depth + 1) for i, item in enumerate(value)]
        else:
            _check_scalar(value, pointer)


def _check_scalar(value: Any, pointer: str) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotationError("Half a surrogate pair is not a character.", where=pointer) from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotationError(f"No notation can write the number {value}.", where=pointer)
    elif isinstance(value, int):
        if abs(value) >= 10**4000:  # Python itself reads and writes integers of up to 4,300 digits
            raise NotationError("The integer has more than 4,000 digits.", where=pointer)
    elif value is not None:
        raise NotationError(f"A {type(value).__name__} is not a value of a call.", where=pointer)


class Sizes(msgspec.Struct, frozen=True):
    """The size of one text: code points, UTF-8 bytes, and tokens if a tokenizer is given."""

    style: Style
    characters: int
    bytes: int
    tokens: int | None = None


def text_sizes(text: str, style: Style, count_tokens: Callable[[str], int] | None = None) -> Sizes:
    """The size of a text written in `style`."""
    return Sizes(style, len(text), len(text.encode()), count_tokens(text) if count_tokens else None)


def call_sizes(
    tool: str, arguments: Mapping[str, Any], shape: Shape, count_tokens: Callable[[str], int] | None = None
) -> list[Sizes]:
    """The sizes of a call in every style, in the order of `STYLES`. Raises NotationError like `write_call`."""
    return [
        text_sizes(write_call(tool, arguments, style=style, shape=shape), style, count_tokens)
        for style in STYLES
    ]


def value_sizes(value: Any, count_tokens: Callable[[str], int] | None = None) -> list[Sizes]:
    """The sizes of a value in every style, in the order of `STYLES`. Raises NotationError like `write_value`."""
    return [text_sizes(write_value(value, style), style, count_tokens) for style in STYLES]


def sum_of(calls: Iterable[Sequence[Sizes]]) -> tuple[Sizes, ...]:
    """The total sizes of several calls, each in the same styles; tokens only if all calls have them."""
    sums = []
    for sizes in zip(*calls, strict=True):
        tokens = [size.tokens for size in sizes if size.tokens is not None]
        sums.append(
            Sizes(
                sizes[0].style,
                sum(size.characters for size in sizes),
                sum(size.bytes for size in sizes),
                sum(tokens) if len(tokens) == len(sizes) else None,
            )
        )
    return tuple(sums)
