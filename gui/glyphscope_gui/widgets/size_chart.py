"""What the call costs in GLYPH and in JSON, by every measure and against every baseline that people use."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from glyphscope.events import Notation
from glyphscope.notation import Sizes
from glyphscope_gui.widgets.bars import BarChart, Series

_STYLES = {
    "openai": ("OpenAI wrapper", "chart-faint"),
    "json-spaced": ("JSON spaced", "chart-soft"),
    "json": ("JSON compact", "chart-other"),
    "glyph": ("GLYPH", "chart-main"),
    "glyph-canonical": ("GLYPH canonical", "chart-main-soft"),
}
LEGEND = [(words, role) for words, role in _STYLES.values()]


class SizeChart(BarChart):
    """`show_sizes` takes the sizes of one call in every style."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sizeChart", "Size of this call in GLYPH and JSON", 150, parent)

    def show_sizes(self, sizes: tuple[Sizes, ...]) -> None:
        by_style = {size.style: size for size in sizes}
        with_tokens = all(size.tokens is not None for size in sizes)
        groups = ("characters", "bytes", "tokens") if with_tokens else ("characters", "bytes")
        series = [
            Series(words, role, tuple(getattr(by_style[style], measure) for measure in groups))
            for style, (words, role) in _STYLES.items()
            if style in by_style
        ]
        self.show_series(groups, series)


def summary(sizes: tuple[Sizes, ...], instructions: dict[Notation, int]) -> str:
    """GLYPH against the smallest JSON, and what telling the model about the notation costs."""
    by_style = {size.style: size for size in sizes}
    glyph, json_ = by_style["glyph"], by_style["json"]
    lines = []
    if glyph.tokens is not None and json_.tokens is not None:
        lines.append(
            f"Against compact JSON, GLYPH takes {_difference(glyph.bytes, json_.bytes, 'byte')} and "
            f"{_difference(glyph.tokens, json_.tokens, 'token')} of this model."
        )
    else:
        lines.append(
            f"Against compact JSON, GLYPH takes {_difference(glyph.bytes, json_.bytes, 'byte')}. "
            "Tokens can be counted while the model that wrote it is open."
        )
    if instructions:
        lines.append(
            f"Instructions cost {instructions['glyph']:,} tokens in GLYPH, {instructions['json']:,} in JSON."
        )
    return " ".join(lines)


def _difference(ours: int, theirs: int, unit: str) -> str:
    if ours == theirs:
        return f"as many {unit}s"
    by = abs(ours - theirs)
    return f"{by:,} {unit}{'' if by == 1 else 's'} {'fewer' if ours < theirs else 'more'}"
