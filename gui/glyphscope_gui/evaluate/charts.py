"""Charts of a result: success with intervals, size in tokens, time, and the savings of early aborts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetrics, QShowEvent
from PySide6.QtWidgets import QWidget

from glyphscope.evals.results.figures import ArmFigures, Summary
from glyphscope.evals.statistics import Share
from glyphscope.text.figures import percent
from glyphscope.text.shorten import shorten
from glyphscope_gui.shared.card import Heading
from glyphscope_gui.shared.chart import BarChart, Chart, Series
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import ScrollArea, vbox
from glyphscope_gui.theme import theme, ui_font

MAX_ARMS = 12
"""Arms that can be distinguished in a chart this wide; the table has all."""
MIN_HEIGHT, EACH = 34, 24
"""Pixels of a chart of shares without arms, and of each arm, at the usual text size."""
_NAMES, _FIGURES = 0.4, 0.5
"""Largest shares of a chart's width: for names on the left, and, of the rest, for figures on the right."""


class ShareChart(Chart):
    """A line for each arm: a dot at its share, its 95% interval as a bar, the figure on the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("evalShareChart", tr("Success of each arm with its 95% interval"), 150, parent)
        self._rows: list[tuple[str, Share]] = []
        self.getViewBox().sigResized.connect(self.draw)

    def show_shares(self, rows: Sequence[tuple[str, Share]]) -> None:
        self._rows = list(rows)
        self._lines = (MIN_HEIGHT + EACH * max(len(rows), 1)) / 15
        self.setAccessibleDescription("; ".join(f"{name}: {_share_words(share)}" for name, share in rows))
        self._dress_axes()
        self.draw()

    def draw(self, _resized: object = None) -> None:
        if not hasattr(self, "_rows"):
            return
        self.clear()
        if not self._rows:
            return
        count = len(self._rows)
        y = np.arange(count, 0, -1, dtype=float)
        shares = np.array([share.share for _name, share in self._rows])
        low = np.array([share.low for _name, share in self._rows])
        high = np.array([share.high for _name, share in self._rows])
        main = theme().color("chart-main")
        bars = pg.BarGraphItem(
            x0=low, x1=high, y=y, height=0.34, brush=theme().color("chart-main-soft"), pen=pg.mkPen(None)
        )
        self.addItem(bars)
        self.addItem(
            pg.ScatterPlotItem(
                x=shares, y=y, size=9, brush=main, pen=pg.mkPen(theme().color("panel"), width=1.5)
            )
        )
        figures, end = self._figures()
        for place, words in zip(y, figures):
            label = pg.TextItem(words, color=theme().color("text-muted"), anchor=(0, 0.5))
            label.setFont(ui_font(-1.5))
            label.setPos(1.03, place)
            self.addItem(label, ignoreBounds=True)
        metrics, left = QFontMetrics(ui_font(-1.5)), self.getAxis("left")
        most = round(self.width() * _NAMES)
        names = [metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, most) for name, _share in self._rows]
        left.setTicks([list(zip(y, names))])
        left.setWidth(max(map(metrics.horizontalAdvance, names)) + 10)
        self.getAxis("bottom").setTicks([[(0, "0"), (0.25, ""), (0.5, "50%"), (0.75, ""), (1, "100%")]])
        self.setXRange(0, end, padding=0)
        self.setYRange(0.4, count + 0.6, padding=0)

    def _figures(self) -> tuple[list[str], float]:
        """The words on the right of each row, shorter if there is little room, and the end of the axis behind them."""
        metrics, room = QFontMetrics(ui_font(-1.5)), max(self.getViewBox().width(), 1)
        for form in ("{share}  n {n:,}", "{share}"):
            words = [form.format(share=percent(share.share, 0), n=share.n) for _name, share in self._rows]
            need = max(map(metrics.horizontalAdvance, words)) + 12
            if need <= room * _FIGURES:
                break
        return words, 1.03 / (1 - min(need / room, _FIGURES))

    def table(self) -> list[Sequence[Any]]:
        head = ("arm", "correct", "n", "share", "low", "high", "effective n")
        return [
            head,
            *((name, s.correct, s.n, s.share, s.low, s.high, s.effective) for name, s in self._rows),
        ]

    def describe(self, place: QPointF) -> str:
        row = len(self._rows) - round(place.y())
        if not 0 <= row < len(self._rows):
            return ""
        name, share = self._rows[row]
        return f"{name}\n{_share_words(share)}"


class EvalCharts(ScrollArea):
    """Stacked charts; the menu of each writes it to a file.

    They are made when they are first shown, as they cost more than the rest of the page together.
    """

    success: ShareChart
    sizes: BarChart
    times: BarChart
    savings: BarChart

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._headings: dict[Chart, Heading] = {}
        self._waiting: tuple[Summary | None, dict[str, str]] | None = None

    def show_summary(self, summary: Summary | None, labels: dict[str, str]) -> None:
        """Set the summary; the charts are drawn once visible."""
        self._waiting = (summary, labels)
        if self.isVisible():
            self._draw()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def _make(self) -> None:
        self.success = ShareChart(self)
        self.sizes = BarChart("evalSizeChart", tr("Tokens of each arm"), 165, self)
        self.times = BarChart("evalTimeChart", tr("Time of each arm in milliseconds"), 165, self)
        self.savings = BarChart("evalSavingsChart", tr("Tokens saved by early aborts"), 165, self)
        inside = QWidget(self)
        inside.setObjectName("right")
        column = vbox(parent=inside, margins=10, spacing=6)
        for chart, title, hint in (
            (self.success, tr("Success"), tr("all correct, 95% interval")),
            (self.sizes, tr("Size"), tr("tokens: decoded (median), instructions")),
            (self.times, tr("Time"), tr("median ms: first token, total")),
            (self.savings, tr("Saved by early abort"), tr("tokens, measured runs only")),
        ):
            heading = Heading(title, hint, parent=inside)
            self._headings[chart] = heading
            column.addWidget(heading)
            column.addWidget(chart)
            column.addSpacing(8)
        column.addStretch(1)
        self.setWidget(inside)

    def _draw(self) -> None:
        if self._waiting is None:
            return
        if not self._headings:
            self._make()
        summary, labels = self._waiting
        self._waiting = None
        arms = [arm for arm in summary.arms if arm.tools.answered][:MAX_ARMS] if summary is not None else []
        names = [labels.get(arm.arm, arm.arm) for arm in arms]
        self.success.show_shares([(name, arm.tools.ok) for name, arm in zip(names, arms)])
        short = [_lines(name) for name in names]
        lines = max((name.count("\n") + 1 for name in short), default=1)
        for chart in (self.sizes, self.times, self.savings):
            chart.getAxis("bottom").setHeight(lines * QFontMetrics(ui_font(-1.5)).height() + 8)
        decoded = [_median(arm.tools.decoded) for arm in arms]
        instructions = [round(arm.tools.instructions) for arm in arms]
        self.sizes.show_series(
            short,
            [
                Series(tr("decoded"), "chart-main", decoded),
                Series(tr("instructions"), "chart-other", instructions),
            ],
        )
        first = [_median(arm.tools.first_token_ms) for arm in arms]
        total = [_median(arm.tools.total_ms) for arm in arms]
        self.times.show_series(
            short, [Series(tr("first token"), "chart-other", first), Series(tr("total"), "chart-main", total)]
        )
        self._show_savings(arms, short)

    def _show_savings(self, arms: Sequence[ArmFigures], names: Sequence[str]) -> None:
        known = [(name, arm.tools.saving) for name, arm in zip(names, arms) if arm.tools.saving.measured]
        self.savings.show_series(
            [name for name, _saving in known],
            [
                Series(tr("without stopping"), "chart-other", [saving.would_have for _name, saving in known]),
                Series(tr("with early abort"), "chart-main", [saving.decoded for _name, saving in known]),
            ],
        )
        for part in (self.savings, self._headings[self.savings]):
            part.setVisible(bool(known))


def _median(spread: Any) -> int | None:
    return None if spread is None else round(spread.p50)


def _share_words(share: Share) -> str:
    return tr(
        "{correct:,} of {samples:,}, {share}, 95% interval {low} to {high}",
        correct=share.correct,
        samples=share.n,
        share=percent(share.share, 0),
        low=percent(share.low, 0),
        high=percent(share.high, 0),
    )


def _lines(name: str) -> str:
    """The parts of an arm's name, one per line."""
    return "\n".join(shorten(part, 14) for part in name.split(" · "))
