"""The line of the run's verdict above its transcript: how it ended and what helps, what it cost, and the limits of its
strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from glyphscope.base.figures import count, duration, duration_ms, estimate
from glyphscope.base.shorten import capitalised
from glyphscope.base.visible import visible
from glyphscope.events import Aborted, ExpectedAnswer, LimitReached, QuestionAsked, RepairTried, RunStarted
from glyphscope.runs import RunState
from glyphscope.runs.answer_notes import answer_notes
from glyphscope.runs.endings import end_of
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, set_role, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, vbox
from glyphscope_gui.shared.verdict import END_VERDICTS
from glyphscope_gui.theme import theme, ui_font
from glyphscope_gui.theme.sizes import PAD, letters

_TITLES = {
    "max_tool_args_bytes": tr("Arguments"),
    "max_tool_output_bytes": tr("Result"),
    "max_tool_calls_per_turn": tr("Calls per turn"),
    "max_identical_calls": tr("Same call"),
    "max_invalid_turns": tr("Turns without progress"),
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
        tokens = sum(stage.token_count for stage in state.stages)
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
        return QSize(self._needed(self._budgets), self._metrics().height() + 5)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        metrics, colors = self._metrics(), theme()
        shown = self.in_sight()
        x = max(self.width() - self._needed(shown), 0)
        for budget in shown:
            words = self._words(budget)
            width = metrics.horizontalAdvance(words)
            painter.setPen(colors.color("impossible" if budget.fired else "text-muted"))
            painter.drawText(x, metrics.ascent(), words)
            share = min(budget.used / budget.most, 1.0) if budget.most else 0.0
            paint_share(painter, QRectF(x, metrics.height() + 1, width, 3), share, fired=budget.fired)
            x += width + BETWEEN

    def in_sight(self) -> tuple[LoopBudget, ...]:
        """The budgets for which there is room, above all those that were reached; the hint has the others."""
        shown = list(self._budgets)
        while shown and self._needed(shown) > self.width():
            shown.remove(next((budget for budget in reversed(shown) if not budget.fired), shown[-1]))
        return tuple(shown)

    def _needed(self, budgets: Sequence[LoopBudget]) -> int:
        metrics = self._metrics()
        widths = [metrics.horizontalAdvance(self._words(budget)) for budget in budgets]
        return sum(widths) + BETWEEN * max(len(widths) - 1, 0)

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


_WIDE, _LINKED = 760, 560
"""Pixels of width, at the usual text size, from which the cost and the expected answer are beside the verdict."""


def cost_of(run: RunState) -> str:
    """The cost of all stages so far, of tokens if they are counted: `141 tokens, 70 forced · 2 turns · 8.0 s`."""
    tokens, forced = run.counted_tokens, sum(stage.forced for stage in run.stages)
    if not run.token_count:
        return ""
    words = []
    if tokens is not None:
        words.append(
            tr("%n token(s)", "", tokens) + (tr(", {forced:,} forced", forced=forced) if forced else "")
        )
    turns = max(stage.turn for stage in run.stages)
    if turns > 1:
        words.append(tr("%n turn(s)", "", turns))
    worked = run.worked_ms
    words.append(duration_ms(max(run.now - run.waited, 0.0) * 1000 if worked is None else worked))
    return " · ".join(words)


class VerdictLine(FollowsSize, QFrame):
    """Hidden until a run is shown. `button` is what helps: it continues an aborted run, or does what `offer` named."""

    def __init__(self, parent: QWidget | None = None, *, actions: tuple[QWidget, ...] = ()) -> None:
        super().__init__(parent)
        named(self, "verdictLine", tr("Verdict of the run"))
        self.title = named(PlainLabel(self, wordWrap=True), role="title")
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.figures = PlainLabel(self, role="muted")
        self.figures.setAccessibleName(tr("Cost of the run"))
        self.details = PlainLabel(self, role="muted", wordWrap=True)
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.gauges = BudgetGauges(self)
        tip = tr("Follow the run: always show the current stage")
        self.follow_link = link(tr("Follow"), tip, self, name="followLink")
        tip = tr("Set the right answer to this prompt: a valid answer that differs is then marked")
        self.expected_link = link(
            tr("Expected…"), tip, self, name="expectedLink", spoken=tr("Expected answer")
        )
        self.button = push_button("", self, name="verdictButton", clicked=self._act)
        self._continue: Callable[[], None] = lambda: None
        self._then: Callable[[], None] = self._continue
        self._once = False
        self._run = RunState()
        self._started: RunStarted | None = None
        self._aborted: Aborted | None = None
        self._end = self._help = self._difference = self._saving = self._notes = ""
        self._is_over = False
        links = (self.expected_link, self.follow_link, *actions)
        self._first = hbox((self.title, 1), self.figures, self.button, *links, spacing=10)
        self._second = hbox(STRETCH, self.gauges, spacing=10)
        items = (self._first, self.details, self._second)
        self._lines = vbox(*items, parent=self, margins=(PAD, 4, 8, 4), spacing=2)
        for widget in (self, self.figures, self.follow_link, self.button, self.details, self.gauges):
            widget.hide()

    def _fit(self) -> None:
        """Show the figures, the button and the expected answer beside the verdict, or below it in a narrow page."""
        filled = {self._first: 1, self._second: 1}
        for widget, least in ((self.figures, _WIDE), (self.button, _WIDE), (self.expected_link, _LINKED)):
            line = self._first if self.width() >= least * letters(self) else self._second
            if line.indexOf(widget) != filled[line]:
                line.insertWidget(filled[line], widget)
            filled[line] += 1

    def when_continued(self, do: Callable[[], None]) -> None:
        """Set what continues an aborted run."""
        self._continue = do

    # -- the run -----------------------------------------------------------------------------------------------

    def show_run(self, shown: ShownRun, budgets: tuple[LoopBudget, ...] = ()) -> None:
        """Show what is new of the run, or another one."""
        run = shown.run
        if run is not self._run or run.started is not self._started:
            self._run, self._started, self._aborted, self._is_over = run, run.started, None, False
            self.title.setText("")
            self._help = self._saving = self._difference = ""
            self.button.hide()
            self._show_details()
        self.setVisible(run.started is not None)
        if run.started is None:
            return
        show_words(self.figures, cost_of(run))
        if self.figures.width() < self.figures.sizeHint().width():
            self._lines.activate()  # Qt may paint a frame before, with the last letters cut
        self.gauges.show_budgets(budgets)
        self.gauges.setVisible(bool(budgets))
        aborted = run.present.aborted
        if shown.over != self._is_over or aborted is not self._aborted or not self.title.text():
            self._is_over, self._aborted = shown.over, aborted
            self._show_title(shown)

    def _show_title(self, shown: ShownRun) -> None:
        run, aborted = shown.run, self._aborted
        end = end_of(run, tr)
        status, sign = end.status, END_VERDICTS[end.status].sign
        words = capitalised(end.words)
        self._end = ""
        self._notes = " ".join(dict.fromkeys(answer_notes(run, tr))) if shown.over else ""
        if aborted is not None and end.outcome.startswith("aborted"):
            words = tr(
                "Stopped at character {char}: {message}",
                char=aborted.char,
                message=aborted.message.rstrip("."),
            )
            self._end = _abort_words(aborted)
            request = shown.request
            if request is None or (request.strategy == "direct" and not request.repair.attempts):
                tip = tr("Continue in the background to measure the tokens that stopping saved")
                self._show_button(tr("Continue aborted run"), self._continue, tip)
        elif not shown.over:
            words, status, sign = tr("Running"), "open", END_VERDICTS["open"].sign
        self.title.setText(f"{sign} {words}")
        self.setAccessibleDescription(visible(words, lines=True))
        set_role(self, status, key="verdict")
        set_role(self.title, f"verdict-{status}")
        self._show_details()

    def offer(self, words: str, button: str = "", then: Callable[[], None] | None = None) -> None:
        """Show what can be done after such an end, with a button that does it."""
        self._help = words
        if then is not None:
            self._show_button(button, then, once=True)
        self._show_details()

    def show_difference(self, words: str) -> None:
        """Show the settings of the run that are not those of the next run."""
        self._difference = words
        self._show_details()

    def show_expected(self, expected: ExpectedAnswer | None) -> None:
        """Name the expected answer of the run."""
        words = "" if expected is None else tr("Expected: {answer}", answer=expected)
        self.expected_link.setAccessibleDescription(visible(words))

    def show_continuing(self) -> None:
        self.button.setEnabled(False)
        self._saving = tr("continuing in the background…")
        self._show_details()

    def show_stopped(self) -> None:
        """Show that the continuation was stopped, so that no saving was measured."""
        self.button.setEnabled(True)
        self._saving = tr("saved tokens not counted, as the continued run was stopped")
        self._show_details()

    def show_saving(self, saving: Saving) -> None:
        saved = saving.whole - saving.decoded
        self._saving = tr("{saved:,} of {whole:,} tokens saved", saved=saved, whole=saving.whole)
        self._saving += tr(", measured by continuing the run in the background")
        self.button.hide()
        self._show_details()

    def _show_button(
        self, words: str, then: Callable[[], None], tip: str = "", *, once: bool = False
    ) -> None:
        self._then, self._once = then, once
        self.button.setText(words)
        self.button.setToolTip(tip)
        self.button.setEnabled(True)
        self.button.show()

    def _show_details(self) -> None:
        words = " · ".join(
            part for part in (self._end, self._notes, self._saving, self._help, self._difference) if part
        )
        self.details.setText(words)
        self.details.setVisible(bool(words))

    def _act(self) -> None:
        self.button.setVisible(not self._once)
        self._then()


def _abort_words(aborted: Aborted) -> str:
    """The error's code, its place, and what would have been possible there."""
    words = tr("{code}, token {token}", code=aborted.code, token=aborted.token)
    if aborted.viable:
        words += " · " + tr("Still possible: {continuations}", continuations=aborted.viable.rstrip("."))
    return words
