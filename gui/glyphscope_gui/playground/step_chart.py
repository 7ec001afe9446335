"""The run step by step: allowed tokens, feasible mass, or time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from glyphscope.events import Token
from glyphscope_gui.shared.chart import Chart
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.token_words import NOT_ASKED, count, milliseconds, percent, step_text
from glyphscope_gui.theme import theme

Measure = Literal["allowed", "feasible", "ms"]
REDRAW_MS = 120
"""While tokens stream in; a chart that is read need not be newer than that."""
MOST_BARS = 240
"""More steps are drawn a bar for several: the greatest of them, for time and for allowed tokens."""
_FLOOR = 0.12
"""The height of one allowed token on the log scale, so that a forced step is seen and not a gap."""


class StepChart(Chart):
    """`tokenChosen` carries the index of the step that was clicked."""

    tokenChosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stepChart", tr("Allowed tokens, feasible mass and time of each step"), 132, parent)
        self._measure: Measure = "allowed"
        self._tokens: list[Token] = []
        self._values: dict[Measure, list[float]] = {"allowed": [], "feasible": [], "ms": []}
        self._was_forced: list[bool] = []
        self._free = pg.BarGraphItem(x=[], height=[], width=0.8)
        self._forced = pg.BarGraphItem(x=[], height=[], width=0.8)
        self._chosen = pg.InfiniteLine(angle=90, movable=False)
        self._chosen.hide()
        for item in (self._free, self._forced, self._chosen):
            self.addItem(item, ignoreBounds=True)
        self.getAxis("left").setWidth(34)
        self._timer = QTimer(self, interval=REDRAW_MS, singleShot=True)
        self._timer.timeout.connect(self.draw)

    def begin(self) -> None:
        self._tokens = []
        self._was_forced = []
        for values in self._values.values():
            values.clear()
        self._chosen.hide()
        self.draw()

    def append(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            step = token.step
            self._tokens.append(token)
            self._was_forced.append(step.forced)
            self._values["allowed"].append(max(math.log10(max(step.allowed, 1)), _FLOOR))
            self._values["feasible"].append(math.nan if step.feasible is None else step.feasible)
            self._values["ms"].append(step.mask_ms + step.sample_ms + step.decode_ms)
        if not self._timer.isActive():
            self._timer.start()

    def finish(self) -> None:
        self._timer.stop()
        self.draw()

    def set_measure(self, measure: Measure) -> None:
        self._measure = measure
        self.draw()

    def select(self, index: int | None) -> None:
        self._chosen.setVisible(index is not None)
        if index is not None:
            self._chosen.setPos(index)

    # -- Chart -------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        if not hasattr(self, "_free"):
            return
        heights, forced, step = self._heights()
        x = np.arange(len(heights), dtype=float) * step
        none = pg.mkPen(None)
        self._chosen.setPen(pg.mkPen(theme().color("mark"), width=2))
        known = ~np.isnan(heights)
        for bars, shown, color, width in (
            (self._free, known & ~forced, "chart-main", 0.8),
            (self._forced, known & forced, "chart-forced", 0.4),  # slim: not told by colour alone
        ):
            bars.setOpts(
                x=x[shown], height=heights[shown], width=width * step, pen=none, brush=theme().color(color)
            )
        self._scale(heights[known])

    def table(self) -> list[Sequence[Any]]:
        head = ("step", "token", "allowed", "feasible", "forced", "mask_ms", "sample_ms", "decode_ms")
        rows = (
            (s.index, s.text, s.allowed, s.feasible, s.forced, s.mask_ms, s.sample_ms, s.decode_ms)
            for s in (token.step for token in self._tokens)
        )
        return [head, *rows]

    def describe(self, place: QPointF) -> str:
        index = round(place.x())
        if not 0 <= index < len(self._tokens):
            return ""
        step = self._tokens[index].step
        figure = {
            "allowed": tr("{allowed} tokens allowed, forced", allowed=count(step.allowed))
            if step.forced
            else tr("{allowed} tokens allowed", allowed=count(step.allowed)),
            "feasible": NOT_ASKED
            if step.feasible is None
            else tr(
                "the constraint left {feasible} of what the model wanted", feasible=percent(step.feasible)
            ),
            "ms": tr(
                "mask {mask}, sampling {sampling}, decoding {decoding} ms",
                mask=milliseconds(step.mask_ms),
                sampling=milliseconds(step.sample_ms),
                decoding=milliseconds(step.decode_ms),
            ),
        }[self._measure]
        return tr("Token {index}  {text}\n{about}", index=index, text=step_text(step), about=figure)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        place = self.getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
        if 0 <= round(place.x()) < len(self._tokens):
            self.tokenChosen.emit(round(place.x()))

    # -- inside ------------------------------------------------------------------------------------------------

    def _heights(self) -> tuple[np.ndarray, np.ndarray, int]:
        """A height for each bar (NaN: not measured), which of them are forced, and how many steps a bar stands for."""
        values = np.array(self._values[self._measure], dtype=float)
        forced = np.array(self._was_forced, dtype=bool)
        step = -(-len(values) // MOST_BARS) or 1
        if step > 1:
            padding = -len(values) % step
            values = np.pad(values, (0, padding), constant_values=math.nan).reshape(-1, step)
            values = np.fmax.reduce(values, axis=1)  # the largest that is known
            whole = np.pad(forced, (0, padding), constant_values=True).reshape(-1, step)
            forced = np.logical_and.reduce(whole, axis=1)
        return values, forced, step

    def _scale(self, heights: np.ndarray) -> None:
        steps = max(len(self._tokens), 1)
        top = float(heights.max()) if len(heights) else 1.0
        left = self.getAxis("left")
        if self._measure == "allowed":
            decades = max(int(np.ceil(top)), 1)
            names = ("1", "10", "100", "1k", "10k", "100k", "1M")
            left.setTicks([[(n, names[n]) for n in range(min(decades, 6) + 1)]])
            top = decades
        elif self._measure == "feasible":
            left.setTicks([[(0, "0"), (0.5, "50 %"), (1, "100 %")]])
            top = 1.0
        else:
            left.setTicks(None)
            top = max(top, 1.0)
        every = max(1, round(steps / 5))
        self.getAxis("bottom").setTicks([[(n, str(n)) for n in range(0, steps, every)]])
        self.setXRange(-0.6, steps - 0.4, padding=0)
        self.setYRange(0, top * 1.06, padding=0)
