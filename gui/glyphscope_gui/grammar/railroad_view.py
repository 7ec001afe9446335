"""A rule as a railroad diagram: zoom, a click on a box goes to its rule, saved as SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6 import QtGui
from PySide6.QtCore import QBuffer, QByteArray, QEvent, QIODevice, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QToolTip, QWidget

from glyphscope.base.errors import StorageError
from glyphscope.store import atomic_write
from glyphscope_gui.grammar.railroad_drawing import RailroadBox, RailroadDrawing
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.theme import theme

MIN_ZOOM, MAX_ZOOM, STEP = 0.2, 4.0, 1.2
"""The bounds of the zoom, and its factor for each step."""
MIN_FIT = 0.7
"""The share of the window's text size to which a high diagram is shrunk to fit."""
LEAST = 0.62
"""The least scale to which a wide diagram is shrunk to fit, at which it can still be read."""
PNG_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""
MAX_PIXELS = 60_000_000
"""Largest size of a PNG; a larger diagram is scaled down."""
_FILTER = tr("SVG drawing (*.svg);;PNG picture (*.png)")


class _Canvas(QWidget):
    """The drawing itself, as large as its zoom makes it."""

    def __init__(self, view: RailroadView) -> None:
        super().__init__(view)
        self._view = view
        self.setMouseTracking(True)

    def paintEvent(self, _event: QtGui.QPaintEvent) -> None:
        self._view.paint(self)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        box = self._view.box_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if box and box.rule else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        event.accept()  # otherwise the release would go elsewhere
        self._view.setFocus(Qt.FocusReason.MouseFocusReason)

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        box = self._view.box_at(event.position())
        if box and box.rule and event.button() == Qt.MouseButton.LeftButton:
            self._view.ruleChosen.emit(box.rule)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QtGui.QHelpEvent):
            box = self._view.box_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), plain_tip(box.tip or box.words) if box else "", self)
            return True
        return super().event(event)


class RailroadView(QScrollArea):
    """`ruleChosen` carries the rule of a box that is clicked, or chosen with the arrow keys and Enter."""

    ruleChosen = Signal(str)
    failed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "railroadView", tr("Railroad diagram of the rule"))
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.drawing: RailroadDrawing | None = None
        self._renderer = QSvgRenderer(self)
        self._zoom = 0.0
        """0 if the diagram is fitted to the view."""
        self._chosen = -1
        """The index in `_links` of the box that was chosen by keys."""
        self._corner: QFrame | None = None
        self._canvas = _Canvas(self)
        self.setWidget(self._canvas)

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_drawing(self, drawing: RailroadDrawing | None) -> None:
        """Show a rule's diagram; None if there is none."""
        other = drawing is None or self.drawing is None or drawing.rule != self.drawing.rule
        self.drawing = drawing
        if other:
            self._chosen = -1
            self.horizontalScrollBar().setValue(0)
            self.verticalScrollBar().setValue(0)
        if drawing is not None:
            self._renderer.load(QByteArray(drawing.svg))
            words = ", ".join(box.words for box in drawing.boxes[:40])
            self.setAccessibleDescription(tr("Rule {rule}: {boxes}", rule=drawing.rule, boxes=words))
        self._fit()

    def set_corner(self, parts: Sequence[QWidget]) -> None:
        """Put these buttons below the drawing, at the right."""
        self._corner = named(QFrame(self), "railroadCorner")
        hbox(*parts, parent=self._corner, margins=(4, 2), spacing=2)
        self._place_corner()

    @property
    def zoom(self) -> float:
        """The scale of the diagram; 1 is its original size."""
        if self._zoom:
            return self._zoom
        if self.drawing is None:
            return 1.0
        room = self.viewport().size()
        fitting = min(room.width() / self.drawing.width, room.height() / max(self.drawing.height, 1))
        usual, bar = self._usual(), self.verticalScrollBar().sizeHint().width()
        beside = (room.width() - bar) / self.drawing.width  # as wide as the view, beside its scroll bar
        return min(max(fitting, min(MIN_FIT * usual, beside), LEAST), usual)

    def set_zoom(self, zoom: float) -> None:
        """Set the scale; 0 fits the diagram to the view."""
        self._zoom = min(max(zoom, MIN_ZOOM), MAX_ZOOM) if zoom else 0.0
        self._fit()

    def zoom_in(self) -> None:
        self.set_zoom(self.zoom * STEP)

    def zoom_out(self) -> None:
        self.set_zoom(self.zoom / STEP)

    def zoom_fit(self) -> None:
        self.set_zoom(0)

    def box_at(self, place: QPointF) -> RailroadBox | None:
        """The box at a place of the canvas."""
        if self.drawing is None:
            return None
        x, y = place.x() / self.zoom, place.y() / self.zoom
        for box in self.drawing.boxes:
            if box.x <= x <= box.x + box.width and box.y <= y <= box.y + box.height:
                return box
        return None

    def paint(self, canvas: QWidget) -> None:
        painter = QtGui.QPainter(canvas)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        painter.fillRect(canvas.rect(), theme().color("panel"))
        if self.drawing is None:
            return
        zoom = self.zoom
        self._renderer.render(painter, QRectF(0, 0, self.drawing.width * zoom, self.drawing.height * zoom))
        links = self._links()
        if self.hasFocus() and 0 <= self._chosen < len(links):
            box = links[self._chosen]
            painter.setPen(QtGui.QPen(theme().color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            frame = QRectF(box.x * zoom, box.y * zoom, box.width * zoom, box.height * zoom)
            painter.drawRoundedRect(frame.adjusted(-3, -3, 4, 4), 6, 6)

    # -- to a file ---------------------------------------------------------------------------------------------

    def ask_where_to_save(self) -> None:
        """Ask for a file; its extension decides between SVG and PNG."""
        if self.drawing is None:
            return
        start, name = f"{self.drawing.rule}.svg", "saveRailroadDialog"
        ask_where_to_save(
            self, tr("Save the diagram"), self.save, _FILTER, start=start, suffix="svg", name=name
        )

    def save(self, path: Path) -> None:
        """Write the diagram; `failed` carries a StorageError."""
        if self.drawing is None:
            return
        data = self._png() if path.suffix.lower() == ".png" else self.drawing.svg
        try:
            atomic_write(path, data)
        except StorageError as error:
            self.failed.emit(error)

    def _png(self) -> bytes:
        assert self.drawing is not None
        wide, high = self.drawing.width, self.drawing.height
        scale = min(PNG_SCALE, (MAX_PIXELS / (wide * high)) ** 0.5)
        image = QtGui.QImage(
            QSize(round(wide * scale), round(high * scale)), QtGui.QImage.Format.Format_ARGB32
        )
        image.fill(theme().color("panel"))
        painter = QtGui.QPainter(image)
        self._renderer.render(painter)
        painter.end()
        return _png_bytes(image)

    # -- keys and mouse ----------------------------------------------------------------------------------------

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if event.angleDelta().y() > 0:
                self.zoom_in()
            elif event.angleDelta().y() < 0:
                self.zoom_out()
            event.accept()
            return
        super().wheelEvent(event)

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        links = self._links()
        key = event.key()
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if control and key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_in()
        elif control and key == Qt.Key.Key_Minus:
            self.zoom_out()
        elif control and key == Qt.Key.Key_0:
            self.zoom_fit()
        elif links and key in (Qt.Key.Key_Right, Qt.Key.Key_Left):
            self._chosen = (self._chosen + (1 if key == Qt.Key.Key_Right else -1)) % len(links)
            box = links[self._chosen]
            middle_x, middle_y = (box.x + box.width / 2) * self.zoom, (box.y + box.height / 2) * self.zoom
            self.ensureVisible(round(middle_x), round(middle_y), 120, 40)
            self._canvas.update()
        elif links and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self._chosen < len(links):
            self.ruleChosen.emit(links[self._chosen].rule)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        menu = QMenu(self)
        pop_up(
            menu,
            event.globalPos(),
            (tr("Larger"), self.zoom_in),
            (tr("Smaller"), self.zoom_out),
            (tr("Fit"), self.zoom_fit),
            None,
            (tr("Save the diagram…"), self.ask_where_to_save),
        )
        menu.actions()[-1].setEnabled(self.drawing is not None)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._place_corner()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _place_corner(self) -> None:
        if self._corner is not None:
            self._corner.adjustSize()
            self.setViewportMargins(0, 0, 0, self._corner.height())
            room = self.viewport().geometry()
            self._corner.move(room.right() - self._corner.width(), room.bottom() + 1)
            self._corner.raise_()

    def _usual(self) -> float:
        """The usual scale, which follows the window's font."""
        return max(self.fontMetrics().height() / 15, 0.8)

    def _links(self) -> list[RailroadBox]:
        return [box for box in self.drawing.boxes if box.rule] if self.drawing else []

    def _fit(self) -> None:
        if self.drawing is None:
            self._canvas.resize(0, 0)
            return
        zoom = self.zoom
        self._canvas.resize(round(self.drawing.width * zoom), round(self.drawing.height * zoom))
        self._canvas.update()


def _png_bytes(image: QtGui.QImage) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QtGui.QImageWriter(buffer, b"PNG").write(image)
    buffer.close()
    return bytes(data.data())
