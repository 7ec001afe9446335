"""The budgets of a whole run and their use so far, and the gauges that show them above its timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.events import LimitReached, QuestionAsked, RepairTried
from glyphscope.runs import RunState
from glyphscope.text.figures import count, duration, estimate
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import theme, ui_font

_TITLES = {
    "max_tool_args_bytes": tr("Arguments"),
    "max_tool_output_bytes": tr("Result"),
    "max_tool_calls_per_turn": tr("Calls per turn"),
    "max_identical_calls": tr("Same call"),
    "max_invalid_turns": tr("No-progress turns"),
    "fix_empty_final": tr("Empty answers"),
}
"""The titles of limits that are shown only once they are reached."""


@dataclass(frozen=True)
class Budget:
    """`used` of `most`, under the name of its setting; `fired` if the limit was reached."""

    name: str
    title: str
    used: float
    most: float
    fired: bool = False

    @property
    def words(self) -> str:
        """`Turns 3 of 8`."""
        if self.name == "max_seconds":
            used, most = estimate(self.used) if self.used >= 0.5 else "0 s", duration(self.most)
        else:
            used, most = count(round(self.used)), count(round(self.most))
        return tr("{title} {used} of {most}", title=self.title, used=used, most=most)


def budgets(
    state: RunState, now: float, fired: Mapping[str, LimitReached] | None = None
) -> tuple[Budget, ...]:
    """The budgets of this run's strategy, and all limits that were reached; `now` is in seconds since the run started.

    The time spent waiting for the user does not count.
    """
    fired = fired or {}
    if state.started is None:
        return ()
    request = state.started.request
    found: list[Budget] = []
    if request.strategy == "loop":
        limits = request.loop
        turns = max((stage.turn for stage in state.stages), default=0)
        tokens = sum(len(stage.tokens) for stage in state.stages)
        for name, title, used, most in (
            ("max_turns", tr("Turns"), turns, limits.max_turns),
            ("max_total_tokens", tr("Tokens"), tokens, limits.max_total_tokens),
            ("max_seconds", tr("Time"), max(now - state.waited, 0.0), limits.max_seconds),
        ):
            found.append(Budget(name, title, used, most, name in fired))
    if request.repair.attempts:
        tried = sum(_count(stage.outline, RepairTried) for stage in state.stages)
        found.append(Budget("attempts", tr("Repairs"), tried, request.repair.attempts))
    asked = sum(_count(stage.outline, QuestionAsked) for stage in state.stages)
    if asked and request.strategy == "route-execute":
        found.append(Budget("max_questions", tr("Questions"), asked, request.router.max_questions))
    known = {budget.name for budget in found}
    for name, event in fired.items():
        if name not in known:
            found.append(Budget(name, _TITLES.get(name, name), event.used, event.allowed, True))
    return tuple(found)


def _count(events: list, kind: type) -> int:  # type: ignore[type-arg]
    return sum(isinstance(event, kind) for event in events)


BETWEEN = 18
"""Pixels between two gauges."""
FIRED = "✕ "


class BudgetGauges(QWidget):
    """One painted line, with the words of each budget and a bar below them. A budget that was reached has a sign in its
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
            if x + width > self.width():  # the tooltip shows the hidden ones
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
    """Paint a thin bar that is filled to `share` (0 to 1)."""
    colors = theme()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colors.color("chart-faint"))
    painter.drawRoundedRect(box, 1.5, 1.5)
    filled = QRectF(box)
    filled.setWidth(box.width() * min(share, 1.0))
    if filled.width() >= 1:  # a narrower one would look like a speck
        painter.setBrush(colors.color("impossible-line" if fired or share > 1 else "accent"))
        painter.drawRoundedRect(filled, 1.5, 1.5)
    painter.restore()
