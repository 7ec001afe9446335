"""Small gauges side by side: the use of each of a run's budgets."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope_gui.playground.timeline_budgets import Budget
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import theme, ui_font

BETWEEN = 18
"""Pixels between two gauges."""
FIRED = "✕ "


class BudgetGauges(QWidget):
    """One painted line; the words and a bar below them for each. A budget that was reached has a sign and its
    colour.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("budgetGauges")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._budgets: tuple[Budget, ...] = ()

    def show_budgets(self, budgets: tuple[Budget, ...]) -> None:
        if budgets == self._budgets:
            return
        self._budgets = budgets
        words = "; ".join(tr("{budget}, reached", budget=b.words) if b.fired else b.words for b in budgets)
        named(self, "", words, tip=words)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self._metrics()
        widths = [metrics.horizontalAdvance(self._words(budget)) for budget in self._budgets]
        return QSize(sum(widths) + BETWEEN * max(len(widths) - 1, 0), metrics.height() + 5)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        metrics, colors = self._metrics(), theme()
        x = max(self.width() - self.sizeHint().width(), 0)
        for budget in self._budgets:
            words = self._words(budget)
            width = metrics.horizontalAdvance(words)
            if x + width > self.width():  # hidden ones are in the tooltip
                break
            painter.setPen(colors.color("impossible" if budget.fired else "text-muted"))
            painter.drawText(x, metrics.ascent(), words)
            share = min(budget.used / budget.most, 1.0) if budget.most else 0.0
            paint_share(painter, QRectF(x, metrics.height() + 1, width, 3), share, fired=budget.fired)
            x += width + BETWEEN

    def _words(self, budget: Budget) -> str:
        return f"{FIRED if budget.fired else ''}{budget.words}"

    def _font(self) -> QFont:
        return ui_font(-1)

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._font())


def paint_share(painter: QPainter, box: QRectF, share: float, *, fired: bool = False) -> None:
    """A thin bar, `share` (0 to 1) of it filled."""
    colors = theme()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colors.color("chart-faint"))
    painter.drawRoundedRect(box, 1.5, 1.5)
    filled = QRectF(box)
    filled.setWidth(box.width() * min(share, 1.0))
    if filled.width() >= 1:  # less would look like a speck
        painter.setBrush(colors.color("impossible-line" if fired or share > 1 else "accent"))
        painter.drawRoundedRect(filled, 1.5, 1.5)
    painter.restore()
