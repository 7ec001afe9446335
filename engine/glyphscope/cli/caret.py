"""A text on one line, with the character that decided marked below it."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from glyphscope.visible import visible


def marked(text: str, deciding: int | None, width: int) -> Text:
    """The text around the deciding character, which is marked by colour and by a caret below it.

    The length of the text as `deciding` is its end. `width`: columns of the screen.
    """
    room = width - 2  # an ellipsis at each end
    start = max(0, (deciding or 0) - (room // 2 if len(text) > room else len(text)))
    end = min(len(text), start + room)
    before = ("…" if start else "") + visible(text[start : deciding or start])
    at = start if deciding is None else deciding
    first, after = visible(text[at : at + 1]), visible(text[at + 1 : end]) + ("…" if end < len(text) else "")
    if deciding is None:
        return Text(before + first + after)
    return Text.assemble(
        before,
        (first or "∎", "reverse bold red"),
        after,
        "\n",
        " " * cell_len(before),
        ("▲", "bold red"),
    )
