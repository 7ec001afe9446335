"""A small flat button with a line drawing, in the colour of the quieter text."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import letters

SIZE = 16


def _lines(*strokes: tuple[tuple[float, float], ...]) -> QPainterPath:
    path = QPainterPath()
    for stroke in strokes:
        path.moveTo(QPointF(*stroke[0]))
        for point in stroke[1:]:
            path.lineTo(QPointF(*point))
    return path


def _duplicate() -> QPainterPath:
    path = _lines(((5.5, 10.5), (3.5, 10.5), (3.5, 3.5), (10.5, 3.5), (10.5, 5.5)))
    path.addRoundedRect(QRectF(5.5, 5.5, 7, 7), 1, 1)
    return path


def _more() -> QPainterPath:
    path = QPainterPath()
    for x in (3.5, 8.0, 12.5):
        path.addEllipse(QPointF(x, 8), 0.6, 0.6)
    return path


def _reset() -> QPainterPath:
    """An arrow that goes back around, counterclockwise."""
    path = QPainterPath()
    path.arcMoveTo(QRectF(3.5, 3.5, 9, 9), 150)
    path.arcTo(QRectF(3.5, 3.5, 9, 9), 150, -300)
    path.addPath(_lines(((3.2, 2.8), (4.1, 5.75), (7.1, 5.1))))
    return path


PATHS = {
    "add": _lines(((8, 3), (8, 13)), ((3, 8), (13, 8))),
    "add-below": _lines(((3, 3), (3, 9), (6, 9)), ((10.5, 6), (10.5, 12)), ((7.5, 9), (13.5, 9))),
    "duplicate": _duplicate(),
    "remove": _lines(((3, 8), (13, 8))),
    "up": _lines(((8, 13), (8, 3)), ((4, 7), (8, 3), (12, 7))),
    "down": _lines(((8, 3), (8, 13)), ((4, 9), (8, 13), (12, 9))),
    "back": _lines(((13, 8), (3, 8)), ((7, 4), (3, 8), (7, 12))),
    "forward": _lines(((3, 8), (13, 8)), ((9, 4), (13, 8), (9, 12))),
    "more": _more(),
    "reset": _reset(),
}


class IconButton(QToolButton):
    """Follows an action: its words, its shortcut, whether it is enabled. The drawing follows the theme."""

    def __init__(self, icon: str, action: QAction | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = PATHS[icon]
        self.setAutoRaise(True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if action is not None:
            self.setDefaultAction(action)
            self.setAccessibleName(action.text())

    def sizeHint(self) -> QSize:
        return QSize(28, 26) * letters(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self.isEnabled() and (self.underMouse() or self.isDown()):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("hover"))
            painter.drawRoundedRect(box, 4, 4)
        if self.hasFocus():
            painter.setPen(QPen(colors.color("accent"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, 4, 4)
        role = "text-muted" if self.isEnabled() else "text-disabled"
        pen = QPen(
            colors.color(role), 1.3, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
        )
        painter.setPen(pen)
        times = letters(self)
        painter.translate((self.width() - SIZE * times) / 2, (self.height() - SIZE * times) / 2)
        painter.scale(times, times)
        painter.drawPath(self._path)
