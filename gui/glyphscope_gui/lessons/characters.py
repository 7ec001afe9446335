"""A text in which one character is chosen: by a click, or by the arrow keys."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.text.tokens import token_text
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.theme import mono_font, theme

_LARGER = 3
_GAP = 1.55
"""In multiples of a line's height."""


class CharacterLine(FollowsSize, QWidget):
    """`at` is the index of the chosen character, -1 for none. After `reveal`, no other can be chosen."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "lessonCharacters", tr("The text: choose a character"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._text = text
        self.at = -1
        self._right = -1
        self._notify()

    @property
    def is_revealed(self) -> bool:
        return self._right >= 0

    def choose(self, place: int) -> None:
        """Choose that character; does nothing once the correct one is shown."""
        if self.is_revealed or not self._text:
            return
        self.at = min(max(place, 0), len(self._text) - 1)
        self._notify()
        self.update()

    def reveal(self, right: int) -> None:
        self._right = right
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleDescription(
            tr("Character {place} decides: {character}", place=right, character=repr(self._text[right]))
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        a_line = self._a_line()
        steps: dict[int, int] = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -a_line,
            Qt.Key.Key_Down: a_line,
            Qt.Key.Key_Home: -len(self._text),
            Qt.Key.Key_End: len(self._text),
        }
        step = steps.get(event.key())
        if step is None or self.is_revealed:
            super().keyPressEvent(event)
            return
        self.choose(self.at + step if self.at >= 0 else 0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if place is not None:
            self.choose(place)
        super().mousePressEvent(event)

    def box(self, place: int) -> QRectF:
        """Return the box of a character."""
        metrics, a_line = self._metrics(), self._a_line()
        width, height = metrics.horizontalAdvance("m") + 1, metrics.height() * _GAP
        return QRectF(4 + place % a_line * width, 4 + place // a_line * height, width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(mono_font(_LARGER))
        colors = theme()
        for place, char in enumerate(self._text):
            box = self.box(place)
            if not box.intersects(QRectF(event.rect())):
                continue
            after = self.is_revealed and place > self._right
            role = "text-faint" if after or char.isspace() else "text"
            if place == self._right:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colors.color("impossible"))
                painter.drawRoundedRect(box, 3, 3)
                role = "on-impossible"
            elif place == self.at:
                painter.setPen(QPen(colors.color("accent"), 1.6))
                painter.setBrush(colors.color("accent-soft"))
                painter.drawRoundedRect(box, 3, 3)
                role = "text"
            painter.setPen(colors.color(role))
            shown = token_text(char.encode(errors="replace")) if char.isspace() else char
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, shown[:1])
        if self.hasFocus() and not self.is_revealed:
            painter.setPen(QPen(colors.color("accent"), 1.2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.8, 0.8, -0.8, -0.8), 5, 5)

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(mono_font(_LARGER))

    def _a_line(self) -> int:
        return max(int((self.width() - 8) // (self._metrics().horizontalAdvance("m") + 1)), 8)

    def _fit(self) -> None:
        lines = -(-max(len(self._text), 1) // self._a_line())
        height = round(8 + (lines - 1) * self._metrics().height() * _GAP + self._metrics().height() + 4)
        if height != self.height():
            self.setFixedHeight(height)

    def _place_at(self, point: QPoint) -> int | None:
        metrics, a_line = self._metrics(), self._a_line()
        column = int((point.x() - 4) // (metrics.horizontalAdvance("m") + 1))
        row = int(max(point.y() - 4, 0) // (metrics.height() * _GAP))
        place = row * a_line + column
        return place if 0 <= column < a_line and 0 <= place < len(self._text) else None

    def _notify(self) -> None:
        chosen = (
            tr("Character {place}: {character}", place=self.at, character=repr(self._text[self.at]))
            if self.at >= 0
            else tr("No character is chosen")
        )
        self.setAccessibleDescription(tr("{chosen}. The text: {text}", chosen=chosen, text=self._text[:200]))
