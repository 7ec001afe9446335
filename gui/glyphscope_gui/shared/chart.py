"""The base of all charts: the theme's colours, a readout on hover, and export; no zooming by accident."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import SIGNAL, SLOT, QBuffer, QIODevice, QObject, QPointF, QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetrics,
    QImage,
    QImageWriter,
    QMouseEvent,
    QPaintDevice,
    QPainter,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.sessions import atomic_write
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import LeavesWheel
from glyphscope_gui.shared.menus import pop_up
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.theme import FollowsLooks, theme, ui_font


class Chart(FollowsLooks, LeavesWheel, pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """`table` returns the figures of the chart, `describe` the figures at a place of it; `draw` repaints it."""

    def __init__(self, name: str, words: str, height: int, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        named(self, name, words)
        self._lines = height / 15
        self._height = height
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseEnabled(x=False, y=False)
        self.setMenuEnabled(False)
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
        return QSize(140, self._height)

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
        self._height = round(self._lines * max(QFontMetrics(ui_font()).height(), 15))
        self.setFixedHeight(self._height)
        for name in ("left", "bottom"):
            axis = self.getAxis(name)
            axis.setPen(pg.mkPen(theme().color("chart-grid")))
            axis.setTextPen(pg.mkPen(theme().color("text-muted")))
            axis.setStyle(tickFont=ui_font(-1.5), tickTextOffset=5, tickLength=0)

    def _restyle(self) -> None:
        self._dress_axes()
        self.draw()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        place = self.getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
        QToolTip.showText(event.globalPosition().toPoint(), plain_tip(self.describe(place)), self)

    # -- export ------------------------------------------------------------------------------------------------

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
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

    def _paint_on(self, device: QPaintDevice) -> None:
        painter = QPainter(device)
        pg.PlotWidget.render(self, painter)
        painter.end()

    def _png(self) -> bytes:
        scale = 2
        image = QImage(self.size() * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        image.fill(theme().color("panel"))
        self._paint_on(image)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, b"PNG").write(image)
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
