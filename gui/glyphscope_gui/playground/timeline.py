"""The run's timeline: stages and turns in order, each with its notes and its share of the budgets;
and above it gauges of the budgets of the whole run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.figures import count, duration, estimate
from glyphscope.events import LimitReached, QuestionAsked, RepairTried
from glyphscope.runs import RunState
from glyphscope.runs.event_rows import Mark
from glyphscope_gui.playground.timeline_model import (
    BYTES,
    PROMPT,
    ROW_ROLE,
    SPENT_ROLE,
    STAGE,
    TIME,
    TOKENS,
    WORDS,
    TimelineModel,
    TimelineRow,
)
from glyphscope_gui.shared.card import AROUND, Card
from glyphscope_gui.shared.cells import paint_selection, paint_words
from glyphscope_gui.shared.labels import link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import Index
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
class LoopBudget:
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
) -> tuple[LoopBudget, ...]:
    """The budgets of this run's strategy, and all limits that were reached; `now` is in seconds since the run started.

    The time spent waiting for the user does not count.
    """
    fired = fired or {}
    if state.started is None:
        return ()
    request = state.started.request
    found: list[LoopBudget] = []
    if request.strategy == "loop":
        limits = request.loop
        turns = max((stage.turn for stage in state.stages), default=0)
        tokens = sum(len(stage.tokens) for stage in state.stages)
        for name, title, used, most in (
            ("max_turns", tr("Turns"), turns, limits.max_turns),
            ("max_total_tokens", tr("Tokens"), tokens, limits.max_total_tokens),
            ("max_seconds", tr("Time"), max(now - state.waited, 0.0), limits.max_seconds),
        ):
            found.append(LoopBudget(name, title, used, most, name in fired))
    if request.repair.attempts:
        tried = sum(_count(stage.outline, RepairTried) for stage in state.stages)
        found.append(LoopBudget("attempts", tr("Repairs"), tried, request.repair.attempts))
    asked = sum(_count(stage.outline, QuestionAsked) for stage in state.stages)
    if asked and request.strategy == "route-execute":
        found.append(LoopBudget("max_questions", tr("Questions"), asked, request.router.max_questions))
    known = {budget.name for budget in found}
    for name, event in fired.items():
        if name not in known:
            found.append(LoopBudget(name, _TITLES.get(name, name), event.used, event.allowed, True))
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
        self._budgets: tuple[LoopBudget, ...] = ()

    def show_budgets(self, budgets: tuple[LoopBudget, ...]) -> None:
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

    def _words(self, budget: LoopBudget) -> str:
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


MARKS: dict[Mark, tuple[str, str]] = {
    "running": ("◌", "open"),
    "holds": ("✓", "holds"),
    "impossible": ("✕", "impossible"),
    "waits": ("?", "mark"),
    "note": ("•", "text-faint"),
}
"""The sign and the colour of each state, as colour alone is not enough."""
INDENT = 16
"""Pixels by which the notes of a stage are indented."""
ROWS_SHOWN = 6
"""Number of visible rows before the timeline scrolls."""
LETTERS = ((103, 29), (80, 22), (66, 18), (0, 14))
"""(letters of the table's width, letters of a stage's title): the first that fits."""
_WIDEST = {PROMPT: tr("0,000 of 0,000"), TOKENS: "00,000", BYTES: "000,000", TIME: "00 min 00 s"}


class TimelineDelegate(QStyledItemDelegate):
    """The stage's cell with its sign, and thin bars below figures that have a budget."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: TimelineRow = index.data(ROW_ROLE)
        painter.save()
        paint_selection(painter, option)
        box = option.rect.adjusted(9, 0, -9, 0)
        if index.column() == STAGE:
            self._paint_stage(painter, option.font, box, row)
        else:
            self._paint_words(painter, box, row, index)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(60, option.fontMetrics.height() + 8)

    def _paint_stage(self, painter: QPainter, font: QFont, box: QRect, row: TimelineRow) -> None:
        sign, role = MARKS[row.mark]
        box = box.adjusted(0 if row.is_stage else INDENT, 0, 0, 0)
        bold = QFont(font)
        bold.setWeight(QFont.Weight.Bold)
        painter.setFont(bold)
        painter.setPen(theme().color(role))
        painter.drawText(QRect(box.left(), box.top(), 14, box.height()), Qt.AlignmentFlag.AlignVCenter, sign)
        bold.setWeight(QFont.Weight.DemiBold if row.is_stage else QFont.Weight.Normal)
        role = "text" if row.is_stage else "text-muted"
        paint_words(painter, box.adjusted(18, 0, 0, 0), row.title, bold, role)

    def _paint_words(self, painter: QPainter, box: QRect, row: TimelineRow, index: Index) -> None:
        spent = index.data(SPENT_ROLE)
        share = spent.share if spent is not None else None
        right = index.column() != WORDS
        problem = row.mark == "impossible" and not right
        role = "impossible" if problem else "text" if row.is_stage else "text-muted"
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        words = str(index.data() or "") if right else row.words
        text = paint_words(painter, box, words, painter.font(), role, side)
        if row.detail and not right:
            width = painter.fontMetrics().horizontalAdvance(text)
            beside = box.adjusted(width + (12 if text else 0), 0, 0, 0)
            if beside.width() > painter.fontMetrics().horizontalAdvance("…") + 1:
                paint_words(painter, beside, row.detail, painter.font(), "text-faint")
        if share is not None:
            paint_share(painter, QRectF(box.left() + 8, box.bottom() - 2, box.width() - 8, 2), share)


class TimelineTable(PlainTable):
    """`rowChosen` carries the TimelineRow that the user chose by mouse or keys; `show_row` does not emit it."""

    rowChosen = Signal(object)

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=WORDS, parent=parent)
        self._timeline = model
        self._announces = True
        """Whether a new current row is the user's choice: False while `show_row` sets it."""
        self._is_announcing = False
        """Whether `rowChosen` is being emitted."""
        self.following = True
        """Whether the end stays visible while rows are added."""
        named(self, "timelineTable", tr("Timeline of the run"))
        self.setAccessibleDescription(tr("Up and Down select a stage to show below."))
        self.setItemDelegate(TimelineDelegate(self))
        self.setColumnWidth(STAGE, self.fontMetrics().averageCharWidth() * 24)
        for column, widest in _WIDEST.items():
            self.fit_column(column, widest)
        self.give_way(PROMPT, BYTES, TIME)  # the hint on a stage shows the prompt's cost
        self.fit_rows(9)
        self.selectionModel().currentRowChanged.connect(self._current_changed)

    def show_row(self, index: int) -> None:
        """Make that row current without `rowChosen`; while that is being emitted, the user's row stays current."""
        known = 0 <= index < self._timeline.rowCount() and index != self.currentIndex().row()
        if known and not self._is_announcing:
            self._announces = False
            self.setCurrentIndex(self._timeline.index(index, STAGE))
            self._announces = True

    def sizeHint(self) -> QSize:
        return QSize(320, self.height_of(min(max(self._timeline.rowCount(), 2), ROWS_SHOWN)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.height_of(2))

    def _fit(self) -> None:
        if self.following:
            self.scrollToBottom()
        letter = self.fontMetrics().averageCharWidth()
        letters = next(stage for width, stage in LETTERS if self.width() >= width * letter)
        self.setColumnWidth(STAGE, letters * letter)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter chooses the current row again, which pins its stage."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._choose(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        if self._announces and current.isValid():
            self._choose(current.row())

    def _choose(self, index: int) -> None:
        self._is_announcing = True
        self.rowChosen.emit(self._timeline.row(index))
        self._is_announcing = False


class Timeline(Card):
    """The timeline's card, hidden until a run has more than the text of one stage.

    `rowChosen` as in TimelineTable; `appeared`: the card became visible, or has more rows.
    """

    rowChosen = Signal(object)
    appeared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self.model = TimelineModel()
        self.table = TimelineTable(self.model)
        self.gauges = BudgetGauges()
        tip = tr("Follow the run: always show the current stage")
        self.follow_link = link(tr("Follow"), tip, name="followLink")
        super().__init__(
            tr("Timeline"), self.table, actions=(self.gauges, self.follow_link), padded=False, parent=parent
        )
        self.model.setParent(self)
        self._run = RunState()
        self.follow_link.hide()
        self.table.rowChosen.connect(self.rowChosen)
        self.hide()

    def sizeHint(self) -> QSize:
        """The height of all rows, up to a limit; the inner layout would report the size before the rows were added."""
        height = self.heading.sizeHint().height() + self.table.sizeHint().height() + AROUND
        return QSize(340, height)

    def set_low(self, low: bool) -> None:
        """Hide the columns' titles in a low window; the cells' hints contain them."""
        self.table.horizontalHeader().setHidden(low)

    def show_run(self, state: RunState, *, over: bool) -> None:
        """Show what is new in the run, or all of another one; `over`: no part of it is still in progress."""
        if state is not self._run:
            self._run = state
            self.model.show_rows([])
            self.gauges.show_budgets(())
            self.hide()
        if not has_details(state):  # a plain run costs nothing here; later events are read from its beginning
            return
        before = self.model.rowCount()
        bar = self.table.verticalScrollBar()
        self.table.following = bar.value() >= bar.maximum() - 4
        self.model.show_run(state, over=over)
        self.gauges.show_budgets(budgets(state, state.now, self.model.limits))
        grown = self.model.rowCount() != before
        if self.isHidden() or grown:
            self.show()
            self.table.updateGeometry()
            self.appeared.emit()
        if grown and self.table.following:
            self.table.scrollToBottom()


def has_details(state: RunState) -> bool:
    """Whether a run has more than the text of one stage."""
    if len(state.stages) > 1:
        return True
    strategy = state.started.request.strategy if state.started is not None else "direct"
    return strategy != "direct" or bool(state.stages[0].outline)
