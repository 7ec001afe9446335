"""What stopping early saved, as it was measured: tokens of the stopped run beside those of the same run let go on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.shared.bars import BarChart, Series
from glyphscope_gui.shared.language import tr

NEWEST = 5
"""So many measurements fit side by side."""


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
    """Such as `max` for CONSTRAINT_MAX."""
    return code.removeprefix("CONSTRAINT_").replace("_", " ").lower()
