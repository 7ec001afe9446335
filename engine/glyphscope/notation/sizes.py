"""What a call costs in each style: characters, bytes, and tokens of a given model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from glyphscope.events import Shape
from glyphscope.notation.write import STYLES, Style, write_call


class Sizes(msgspec.Struct, frozen=True):
    """The size of one text: code points, UTF-8 bytes, and tokens where a tokenizer was given."""

    style: Style
    characters: int
    bytes: int
    tokens: int | None = None


def text_sizes(text: str, style: Style, count_tokens: Callable[[str], int] | None = None) -> Sizes:
    """The size of a text that was written in `style`."""
    return Sizes(style, len(text), len(text.encode()), count_tokens(text) if count_tokens else None)


def call_sizes(
    tool: str, arguments: Mapping[str, Any], shape: Shape, count_tokens: Callable[[str], int] | None = None
) -> list[Sizes]:
    """The same call in every style, in the order of `STYLES`. Raises NotationError as `write_call` does."""
    return [
        text_sizes(write_call(tool, arguments, style=style, shape=shape), style, count_tokens)
        for style in STYLES
    ]


def sum_of(calls: Iterable[Sequence[Sizes]]) -> tuple[Sizes, ...]:
    """The sizes of several calls together, of which each has the same styles; tokens only where all have them."""
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
