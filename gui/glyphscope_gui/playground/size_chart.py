"""The charts of a call's sizes in GLYPH and JSON, and of the tokens that early aborts saved."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from glyphscope.notation.write import Sizes
from glyphscope_gui.playground.evidence_words import SAVED, STYLES
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.shared.bars import BarChart, Series
from glyphscope_gui.shared.language import tr

NEWEST = 5
"""Number of measurements that fit side by side."""
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


class SavingsChart(BarChart):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("savingsChart", tr("Tokens saved by early abort"), 130, parent)

    def show_savings(self, savings: Sequence[Saving]) -> None:
        newest = savings[-NEWEST:]
        figures = ([saving.whole for saving in newest], [saving.decoded for saving in newest])
        series = [Series(*entry, values) for entry, values in zip(SAVED, figures, strict=True)]
        self.show_series([_short(saving.code) for saving in newest], series)


def _short(code: str) -> str:
    """The short name of a code: `max` for CONSTRAINT_MAX."""
    return code.removeprefix("CONSTRAINT_").replace("_", " ").lower()
