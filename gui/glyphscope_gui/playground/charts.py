"""The charts of a run: its steps (allowed tokens, feasible mass, or time), a call's sizes in GLYPH and JSON, and
the tokens that early aborts saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent
from PySide6.QtWidgets import QWidget

from glyphscope.base.figures import duration_ms, percent
from glyphscope.events import Token
from glyphscope.notation.write import Sizes
from glyphscope_gui.playground.evidence_words import SAVED, STYLES
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.shared.chart import BarChart, Chart, Series
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import NOT_ASKED, step_text
from glyphscope_gui.theme import theme

Measure = Literal["allowed", "feasible", "ms"]
REDRAW_MS = 120
"""Milliseconds between updates while tokens stream in; a chart that changes faster cannot be read."""
MIN_SLOT = 3
"""Pixels of a bar with its gap. If steps have less, a bar shows several: whether a bar narrower than a
pixel is painted depends on its edges, which would leave false gaps.
"""
_GAPS_FROM = 2 * MIN_SLOT
"""Width in pixels from which bars have gaps: narrower bars would be rounded to stripes of different widths."""
MIN_HEIGHT = 2
"""Pixels of height of a known value, so that a forced step, or one that took no time, differs from a gap."""
_MAX_MS = 1e12
"""The largest value that the axis can show; a record from elsewhere may contain larger ones."""
_WIDTHS = {False: 0.8, True: 0.4}
"""Shares of a bar's room. Bars of forced steps are slim, as colour alone does not distinguish them."""


class Bars(NamedTuple):
    """A height for each bar (NaN: unknown), for its sampled and its forced steps, and the number of steps in a bar: bar
    `n` has the steps from `n * step` on.
    """

    sampled: np.ndarray
    forced: np.ndarray
    step: int


class StepChart(Chart):
    """`tokenChosen` carries the index of the clicked step."""

    tokenChosen = Signal(object)
    fills = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stepChart", tr("Allowed tokens, feasible mass and time of each step"), 132, parent)
        self._measure: Measure = "allowed"
        self._tokens: Sequence[Token] = ()
        """The tokens of the shown stage, to which new ones are added."""
        self._values: dict[Measure, list[float]] = {"allowed": [], "feasible": [], "ms": []}
        self._was_forced: list[bool] = []
        self._bars = {forced: pg.BarGraphItem(x=[], height=[], width=0.8) for forced in (False, True)}
        self._chosen = pg.InfiniteLine(angle=90, movable=False)
        self._chosen.hide()
        for item in (*self._bars.values(), self._chosen):
            self.addItem(item, ignoreBounds=True)
        self._timer = QTimer(self, interval=REDRAW_MS, singleShot=True)
        self._timer.timeout.connect(self.draw)
        self.getViewBox().sigResized.connect(self._room_changed)

    def show_tokens(self, tokens: Sequence[Token], *, over: bool = False) -> None:
        """Show the new ones of a stage's tokens, or those of another stage; `over`: without delay."""
        if tokens is not self._tokens:
            self._tokens, self._was_forced = tokens, []
            for values in self._values.values():
                values.clear()
            self._chosen.hide()
        for token in tokens[len(self._was_forced) :]:
            step = token.step
            self._was_forced.append(step.forced)
            self._values["allowed"].append(math.log10(step.allowed) if step.allowed else math.nan)
            self._values["feasible"].append(math.nan if step.feasible is None else step.feasible)
            self._values["ms"].append(min(step.mask_ms + step.sample_ms + step.decode_ms, _MAX_MS))
        if over:
            self._timer.stop()
            self.draw()
        else:
            self._draw_soon()

    def set_measure(self, measure: Measure) -> None:
        self._measure = measure
        self.draw()

    def select(self, index: int | None) -> None:
        self._chosen.setVisible(index is not None)
        if index is not None:
            self._chosen.setPos(index)

    # -- Chart -------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        if not hasattr(self, "_bars"):
            return
        bars = self.bars()
        self._chosen.setPen(pg.mkPen(theme().color("mark"), width=2))
        least = MIN_HEIGHT * self._scale(bars) / max(self.getViewBox().height(), 1)
        middle = np.arange(len(bars.sampled)) * float(bars.step) + (bars.step - 1) / 2
        touch = self.getViewBox().width() < len(bars.sampled) * _GAPS_FROM
        for forced, heights, role in (
            (False, bars.sampled, "chart-main"),
            (True, bars.forced, "chart-forced"),
        ):
            known = ~np.isnan(heights)
            self._bars[forced].setOpts(
                x=middle[known],
                height=np.maximum(heights[known], least),
                width=(1.0 if touch and not forced else _WIDTHS[forced]) * bars.step,
                pen=pg.mkPen(None),
                brush=theme().color(role),
            )

    def bars(self) -> Bars:
        """The bars at the present width. A bar of several steps shows the largest value; for the feasible mass, the
        smallest.
        """
        values = np.array(self._values[self._measure], dtype=float)
        forced = np.array(self._was_forced, dtype=bool)
        room = max(int(self.getViewBox().width()), MIN_SLOT)
        step = -(-len(values) * MIN_SLOT // room) or 1
        padding = -len(values) % step
        values = np.pad(values, (0, padding), constant_values=math.nan).reshape(-1, step)
        forced = np.pad(forced, (0, padding)).reshape(-1, step)
        extreme = np.fmin if self._measure == "feasible" else np.fmax
        sampled_, forced_ = (
            extreme.reduce(np.where(kind, values, math.nan), axis=1) for kind in (~forced, forced)
        )
        return Bars(sampled_, forced_, step)

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
            "allowed": tr("%n token(s) allowed, forced", "", step.allowed)
            if step.forced
            else tr("%n token(s) allowed", "", step.allowed),
            "feasible": NOT_ASKED
            if step.feasible is None
            else tr(
                "the constraint kept {feasible} of the probability mass", feasible=percent(step.feasible)
            ),
            "ms": tr(
                "mask {mask}, sampling {sampling}, decoding {decoding}",
                mask=duration_ms(step.mask_ms),
                sampling=duration_ms(step.sample_ms),
                decoding=duration_ms(step.decode_ms),
            ),
        }[self._measure]
        words = tr("Token {index}  {text}\n{about}", index=index, text=step_text(step), about=figure)
        together = self.bars().step
        if together == 1:
            return words
        extreme = tr("the smallest") if self._measure == "feasible" else tr("the largest")
        return f"{words}\n" + tr(
            "Each bar shows {extreme} value of {count} tokens.", extreme=extreme, count=together
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        place = self.getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
        if 0 <= round(place.x()) < len(self._tokens):
            self.tokenChosen.emit(round(place.x()))

    def _draw_soon(self) -> None:
        """Draw later: Qt paints the whole window when a chart changes."""
        if not self._timer.isActive():
            self._timer.start()

    def _room_changed(self) -> None:
        if not self._timer.isActive():
            self.draw()

    def _scale(self, bars: Bars) -> float:
        """Fit the axes to the bars. Returns the value at the upper edge."""
        steps = max(len(self._tokens), 1)
        heights = np.concatenate((bars.sampled, bars.forced))
        known = heights[~np.isnan(heights)]
        top = float(known.max()) if len(known) else 1.0
        left = self.getAxis("left")
        ticks: Sequence[tuple[float, str]] = ()
        if self._measure == "allowed":
            top = max(int(np.ceil(top)), 1)
            ticks = tuple(enumerate(("1", "10", "100", "1k", "10k", "100k", "1M")))[: int(top) + 1]
        elif self._measure == "feasible":
            ticks = [(0, "0"), (0.5, "50%"), (1, "100%")]
            top = 1.0
        else:
            top = max(top, 1.0)
        every = max(1, round(steps / 5))
        self.getAxis("bottom").setTicks([[(n, str(n)) for n in range(0, steps, every)]])
        self.setXRange(-0.6, max(len(bars.sampled) * bars.step, 1) - 0.4, padding=0)
        letters = QFontMetrics(left.style["tickFont"])
        left.setWidth(letters.horizontalAdvance("100%") + 10)
        line = letters.height() / max(self.getViewBox().height(), 1)
        # room for the upper half of the highest tick's words
        edge: float = top * max(1.06, 1 / max(1 - line / 2, 0.5))
        apart = math.ceil(line * edge / top * (len(ticks) - 1)) or 1
        left.setTicks([list(ticks[::-apart])] if ticks else None)
        self.setYRange(0, edge, padding=0)
        return edge


NEWEST = 5
"""Number of measurements that fit side by side."""
_MEASURES = {"characters": tr("characters"), "bytes": tr("bytes"), "tokens": tr("tokens")}


class SizeChart(BarChart):
    """`show_sizes` takes the sizes of one call in every style."""

    fills = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sizeChart", tr("Size of this answer in GLYPH and JSON"), 150, parent)

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
