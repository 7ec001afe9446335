"""Groups of bars with their figures above: the base of the size chart and the savings chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFontMetrics, QShowEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.chart import Chart
from glyphscope_gui.shared.chart_roles import edge_role
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.theme import theme, ui_font

_GROUP = 0.84
"""The share of a group's room that its bars take."""


class Series(NamedTuple):
    """The bars of one colour: a value for each group, None if it is unknown."""

    name: str
    role: str
    values: Sequence[int | None]


class BarChart(FollowsSize, Chart):
    """Bars from zero with their figures above; the only axis has the names of the groups. Drawn only while visible."""

    def __init__(self, name: str, words: str, height: int, parent: QWidget | None = None) -> None:
        self._groups: Sequence[str] = ()  # pyqtgraph resizes the chart during construction
        self._series: Sequence[Series] = ()
        self._upright: bool | None = None
        """Whether the drawn figures are written upright; None if these bars are not drawn."""
        super().__init__(name, words, height, parent)
        self.hideAxis("left")

    def show_series(self, groups: Sequence[str], series: Sequence[Series]) -> None:
        self._groups, self._series = groups, series
        self.setAccessibleDescription("; ".join(self._row_words(row) for row in self.table()[1:]))
        self._upright = None
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def draw(self) -> None:
        self.clear()
        self._upright = None
        if not self._groups or not self.isVisible():
            return
        self._upright = not self._fits()
        width = _GROUP / len(self._series)
        top = max((v for s in self._series for v in s.values if v is not None), default=1) or 1
        for place, series in enumerate(self._series):
            known = [(g, v) for g, v in enumerate(series.values) if v is not None]
            x = np.array([self._x(g, place) for g, _ in known], dtype=float)
            heights = np.array([v for _, v in known], dtype=float)
            brush, pen = (
                pg.mkBrush(theme().color(series.role)),
                pg.mkPen(theme().color(edge_role(series.role))),
            )
            self.addItem(pg.BarGraphItem(x=x, height=heights, width=width * 0.86, brush=brush, pen=pen))
            for at, value in zip(x, heights):
                label = pg.TextItem(
                    f"{value:,.0f}",
                    color=theme().color("text-muted"),
                    anchor=(-0.05, 0.5) if self._upright else (0.5, 0.9),
                    angle=90 if self._upright else 0,
                )
                label.setFont(ui_font(-2))
                label.setPos(at, value)
                self.addItem(label, ignoreBounds=True)
        self.getAxis("bottom").setTicks([list(enumerate(self._groups))])
        self.setXRange(-0.5, len(self._groups) - 0.5, padding=0)
        self.setYRange(0, top * (1.3 if self._upright else 1.16), padding=0)

    def _fit(self) -> None:
        if self._groups and self.isVisible() and self._upright is not (not self._fits()):
            self.draw()

    def _fits(self) -> bool:
        """Whether each figure is narrower than its bar's room; otherwise they are written upright."""
        figures = [f"{v:,}" for s in self._series for v in s.values if v is not None]
        widest = max(map(QFontMetrics(ui_font(-2)).horizontalAdvance, figures), default=0)
        room: float = _GROUP * self.width() / (len(self._groups) * len(self._series))
        return widest + 2 <= room

    def table(self) -> list[Sequence[Any]]:
        return [
            ("", *self._groups),
            *((s.name, *("" if v is None else v for v in s.values)) for s in self._series),
        ]

    def describe(self, place: QPointF) -> str:
        group = round(place.x())
        if not 0 <= group < len(self._groups):
            return ""
        lines = [f"{s.name}: {s.values[group]:,}" for s in self._series if s.values[group] is not None]
        return "\n".join([self._groups[group], *lines])

    def _x(self, group: int, place: int) -> float:
        width = _GROUP / len(self._series)
        return group - _GROUP / 2 + width * (place + 0.5)

    def _row_words(self, row: Sequence[Any]) -> str:
        return f"{row[0]}: " + ", ".join(f"{value} {name}" for name, value in zip(self._groups, row[1:]))
