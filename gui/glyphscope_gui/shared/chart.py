"""The base of all charts: the theme's colours, a readout on hover, and export; no zooming by accident. And charts of
groups of bars.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6 import QtGui
from PySide6.QtCore import SIGNAL, SLOT, QBuffer, QIODevice, QObject, QPointF, QSize, Qt
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.store import atomic_write
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.chart_roles import edge_role
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, LeavesWheel
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.theme import FollowsLooks, theme, ui_font

_LEAST = 60
"""Pixels of the height that a chart which fills its place has at least."""


class Chart(FollowsLooks, LeavesWheel, pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """`table` returns the figures of the chart, `describe` the figures at a place of it; `draw` repaints it.

    It is `height` pixels high, at the usual text size, or as high as its place if it `fills` that.
    """

    fills = False

    def __init__(self, name: str, words: str, height: int, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None, enableMenu=False)
        named(self, name, words)
        self._lines = height / 15
        self._height = height
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.setMouseTracking(True)
        self.getViewBox().setDefaultPadding(0.02)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent; border: none;")
        # otherwise Qt repaints the whole window at once for each change of a scene
        QObject.connect(self.scene(), SIGNAL("changed(QList<QRectF>)"), self.viewport(), SLOT("update()"))
        self._dress_axes()

    def sizeHint(self) -> QSize:
        return QSize(200, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(140, self.minimumHeight())

    # -- for the charts ----------------------------------------------------------------------------------------

    def draw(self) -> None:
        raise NotImplementedError

    def table(self) -> list[Sequence[Any]]:
        """Return the titles, then the rows."""
        raise NotImplementedError

    def describe(self, place: QPointF) -> str:
        """Describe a place in the chart's coordinates; "" where nothing is drawn."""
        raise NotImplementedError

    # -- looks -------------------------------------------------------------------------------------------------

    def _dress_axes(self) -> None:
        self._height = round(self._lines * max(QtGui.QFontMetrics(ui_font()).height(), 15))
        if self.fills:
            self.setMinimumHeight(_LEAST)
        else:
            self.setFixedHeight(self._height)
        for name in ("left", "bottom"):
            axis = self.getAxis(name)
            axis.setPen(pg.mkPen(theme().color("chart-grid")))
            axis.setTextPen(pg.mkPen(theme().color("text-muted")))
            axis.setStyle(tickFont=ui_font(-1.5), tickTextOffset=5, tickLength=0)

    def _restyle(self) -> None:
        self._dress_axes()
        self.draw()

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        place = self.getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
        QToolTip.showText(event.globalPosition().toPoint(), plain_tip(self.describe(place)), self)

    # -- export ------------------------------------------------------------------------------------------------

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        pop_up(
            QMenu(self),
            event.globalPos(),
            (tr("Figures as CSV…"), lambda: self._ask("csv")),
            (tr("Picture as PNG…"), lambda: self._ask("png")),
            (tr("Drawing as SVG…"), lambda: self._ask("svg")),
        )
        event.accept()

    def export(self, path: Path) -> None:
        """Write the figures or the picture, depending on the file extension. Raises StorageError."""
        ending = path.suffix.lower()
        if ending == ".svg":
            data = self._svg()
        elif ending == ".png":
            data = self._png()
        else:
            out = io.StringIO()
            csv.writer(out).writerows(self.table())
            data = out.getvalue().encode()
        atomic_write(path, data)

    def _svg(self) -> bytes:
        """Written by Qt itself, as pyqtgraph's exporter cannot read the output of Qt 6.11."""
        buffer = QBuffer()
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(self.size())
        generator.setViewBox(self.rect())
        generator.setTitle(self.accessibleName())
        self._paint_on(generator)
        return bytes(buffer.data().data())

    def _paint_on(self, device: QtGui.QPaintDevice) -> None:
        painter = QtGui.QPainter(device)
        pg.PlotWidget.render(self, painter)
        painter.end()

    def _png(self) -> bytes:
        scale = 2
        image = QtGui.QImage(self.size() * scale, QtGui.QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        image.fill(theme().color("panel"))
        self._paint_on(image)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QtGui.QImageWriter(buffer, b"PNG").write(image)
        return bytes(buffer.data().data())

    def _ask(self, ending: str) -> None:
        start = f"{self.objectName()}.{ending}"
        ask_where_to_save(
            self.window(), tr("Export the chart"), self._export_to, f"*.{ending}", start=start, suffix=ending
        )

    def _export_to(self, path: Path) -> None:
        try:
            self.export(Path(path))
        except GlyphscopeError as error:
            show_error(self.window(), error)


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
        self._drawn_height = 0
        """The height for which they are drawn."""
        super().__init__(name, words, height, parent)
        self.hideAxis("left")

    def show_series(self, groups: Sequence[str], series: Sequence[Series]) -> None:
        self._groups, self._series = groups, series
        self.setAccessibleDescription("; ".join(self._row_words(row) for row in self.table()[1:]))
        self._upright = None
        self._fit()

    def showEvent(self, event: QtGui.QShowEvent) -> None:
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
        for index, series in enumerate(self._series):
            known = [(g, v) for g, v in enumerate(series.values) if v is not None]
            x = np.array([self._x(g, index) for g, _ in known], dtype=float)
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
        metrics = QtGui.QFontMetrics(ui_font(-2))
        figure = (
            max(map(metrics.horizontalAdvance, self._figures))
            if self._upright and self._figures
            else metrics.height()
        )
        self._drawn_height = self.height()
        room = max(self._drawn_height - self.getAxis("bottom").height(), figure + 20)
        self.setYRange(0, top * max(1.3 if self._upright else 1.16, room / (room - figure - 2)), padding=0)

    def _fit(self) -> None:
        if not self._groups or not self.isVisible():
            return
        if self._upright is not (not self._fits()) or self._drawn_height != self.height():
            self.draw()

    def _fits(self) -> bool:
        """Whether each figure is narrower than its bar's room; otherwise they are written upright."""
        widest = max(map(QtGui.QFontMetrics(ui_font(-2)).horizontalAdvance, self._figures), default=0)
        room: float = _GROUP * self.width() / (len(self._groups) * len(self._series))
        return widest + 2 <= room

    @property
    def _figures(self) -> list[str]:
        return [f"{v:,}" for s in self._series for v in s.values if v is not None]

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

    def _x(self, group: int, index: int) -> float:
        width = _GROUP / len(self._series)
        return group - _GROUP / 2 + width * (index + 0.5)

    def _row_words(self, row: Sequence[Any]) -> str:
        return f"{row[0]}: " + ", ".join(f"{value} {name}" for name, value in zip(self._groups, row[1:]))
