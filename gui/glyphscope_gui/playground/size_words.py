"""The sizes of a call in words, and the legends of the charts; without the charts' library, which loads slowly."""

from __future__ import annotations

from glyphscope.events import Notation
from glyphscope.notation.write import Sizes
from glyphscope_gui.shared.language import tr

STYLES: dict[str, tuple[str, str]] = {
    "openai": (tr("OpenAI wrapper"), "chart-faint"),
    "json-spaced": (tr("JSON spaced"), "chart-soft"),
    "json": (tr("JSON compact"), "chart-other"),
    "glyph": ("GLYPH", "chart-main"),
    "glyph-canonical": (tr("GLYPH canonical"), "chart-main-soft"),
}
"""The name and the colour role of each style in which a call is measured."""
SAVED = ((tr("without stopping"), "chart-other"), (tr("with early abort"), "chart-main"))
"""The name and the colour role of each bar of a saving."""


def summary(sizes: tuple[Sizes, ...], instructions: dict[Notation, int]) -> str:
    """Compare GLYPH with the smallest JSON, and state the cost of instructing the model in the notation."""
    by_style = {size.style: size for size in sizes}
    glyph, json_ = by_style["glyph"], by_style["json"]
    lines = []
    if glyph.tokens is not None and json_.tokens is not None:
        lines.append(
            tr(
                "Compared with compact JSON, GLYPH needs {bytes} and {tokens} of this model.",
                bytes=_bytes(glyph.bytes, json_.bytes),
                tokens=_tokens(glyph.tokens, json_.tokens),
            )
        )
    else:
        lines.append(
            tr(
                "Compared with compact JSON, GLYPH needs {bytes}. Open the model of the run to count tokens.",
                bytes=_bytes(glyph.bytes, json_.bytes),
            )
        )
    if instructions:
        lines.append(
            tr(
                "Instructions cost {glyph:,} tokens in GLYPH, {json:,} in JSON.",
                glyph=instructions["glyph"],
                json=instructions["json"],
            )
        )
    return " ".join(lines)


def _bytes(ours: int, theirs: int) -> str:
    if ours == theirs:
        return tr("the same number of bytes")
    by = abs(ours - theirs)
    return tr("%n byte(s) fewer", "", by) if ours < theirs else tr("%n byte(s) more", "", by)


def _tokens(ours: int, theirs: int) -> str:
    if ours == theirs:
        return tr("the same number of tokens")
    by = abs(ours - theirs)
    return tr("%n token(s) fewer", "", by) if ours < theirs else tr("%n token(s) more", "", by)
