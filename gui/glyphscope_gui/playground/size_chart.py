"""An answer's size in words, and charts of its size in each notation and of the savings of early stops."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from glyphscope.events import Notation
from glyphscope.notation.write import Sizes
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.shared.bars import BarChart, Series
from glyphscope_gui.shared.language import tr

NEWEST = 5
"""Number of measurements that fit side by side."""


STYLES = {
    "openai": (tr("OpenAI wrapper"), "chart-faint"),
    "json-spaced": (tr("JSON spaced"), "chart-soft"),
    "json": (tr("JSON compact"), "chart-other"),
    "glyph": ("GLYPH", "chart-main"),
    "glyph-canonical": (tr("GLYPH canonical"), "chart-main-soft"),
}
LEGEND = [(words, role) for words, role in STYLES.values()]


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


class SavingsChart(BarChart):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("savingsChart", tr("Tokens saved by early abort"), 130, parent)

    def show_savings(self, savings: Sequence[Saving]) -> None:
        newest = savings[-NEWEST:]
        self.show_series(
            [_short(saving.code) for saving in newest],
            [
                Series(tr("without stopping"), "chart-other", [saving.whole for saving in newest]),
                Series(tr("with early abort"), "chart-main", [saving.decoded for saving in newest]),
            ],
        )


def _short(code: str) -> str:
    """The short name of a code: `max` for CONSTRAINT_MAX."""
    return code.removeprefix("CONSTRAINT_").replace("_", " ").lower()


_MEASURES = {"characters": tr("characters"), "bytes": tr("bytes"), "tokens": tr("tokens")}


class SizeChart(BarChart):
    """`show_sizes` takes the sizes of one call in every style."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sizeChart", tr("Size of this call in GLYPH and JSON"), 150, parent)

    def show_sizes(self, sizes: tuple[Sizes, ...]) -> None:
        by_style = {size.style: size for size in sizes}
        with_tokens = all(size.tokens is not None for size in sizes)
        measures = [measure for measure in _MEASURES if with_tokens or measure != "tokens"]
        series = [
            Series(words, role, tuple(getattr(by_style[style], measure) for measure in measures))
            for style, (words, role) in STYLES.items()
            if style in by_style
        ]
        self.show_series([_MEASURES[measure] for measure in measures], series)
