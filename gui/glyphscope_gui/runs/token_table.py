"""The token table: a row for each decoding step, with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.figures import UNKNOWN, count, percent, plain_ms
from glyphscope.events import Token, TokenStep
from glyphscope.explain.retokenization import TokenBoundaries, boundary_diff_words
from glyphscope.explain.segments import part_of
from glyphscope.runs import StageState
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_rules import TokenRule
from glyphscope_gui.shared.cells import paint_selection
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.run_words import NO_TOKENS, numbered, step_text
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import mono_font, theme

STEP_ROLE = Qt.ItemDataRole.UserRole
CUT_ROLE = Qt.ItemDataRole.UserRole + 1
"""The stretch of text at this token that is not in the model's own tokens, or None."""


class _Column(NamedTuple):
    """`show` returns the cell's text, except in RULE and PART; `widest` is the longest text that is expected."""

    title: str
    tip: str
    show: Callable[[TokenStep], str]
    widest: str


def raw(step: TokenStep) -> float | None:
    """The model's own probability of the token, before mask and sampler."""
    return step.raw


def final(step: TokenStep) -> float | None:
    """The probability with which the token was sampled; None if it was kept or inserted, and not sampled."""
    return step.probability if step.origin == "model" else None


def _entropy(step: TokenStep) -> str:
    return UNKNOWN if step.entropy is None else f"{step.entropy:.2f}"


COLUMNS = (
    _Column("#", tr("The token's number, from 0"), lambda s: str(s.index), "00000"),
    _Column(
        tr("token"),
        tr("The token's text: · is a space, ⏎ a line end, ⟨E2 80⟩ part of a character"),
        step_text,
        "",
    ),
    _Column(
        tr("rule"),
        tr(
            "The grammar rule that matched the token; – if none did. Double-click to show it on "
            "the Grammar page"
        ),
        lambda _s: UNKNOWN,
        "search-args-max-results",
    ),
    _Column(
        tr("part"),
        tr("The part of the answer: reasoning, text, a call, or a marker"),
        lambda _s: UNKNOWN,
        tr("reasoning"),
    ),
    _Column(
        tr("raw p"),
        tr("The model’s own probability, before mask and sampling parameters"),
        lambda s: percent(raw(s)),
        ">99.9%",
    ),
    _Column(
        tr("final p"),
        tr("The probability with which the token was sampled; – for one that was kept or inserted"),
        lambda s: percent(final(s)),
        ">99.9%",
    ),
    _Column(
        tr("rank"),
        tr("The position in the model’s own order; 0 is the most likely token"),
        lambda s: count(s.rank),
        "00 000",
    ),
    _Column(
        tr("allowed"),
        tr("Number of tokens that the constraint allows"),
        lambda s: count(s.allowed or None),
        "000 000",
    ),
    _Column(
        tr("feasible"),
        tr("The share of the raw probability that the allowed tokens have"),
        lambda s: percent(s.feasible),
        ">99.9%",
    ),
    _Column(
        tr("entropy"),
        tr("The uncertainty of the model’s own distribution, in bits"),
        _entropy,
        "00.00",
    ),
    _Column(
        tr("ms"),
        tr("Time of mask, sampling and decoding, in milliseconds"),
        lambda s: plain_ms(s.mask_ms + s.sample_ms + s.decode_ms),
        "000.0",
    ),
)
TOKEN, RULE, PART = 1, 2, 3
RANK, ALLOWED, FEASIBLE, ENTROPY, MS = range(6, 11)
_PARTS = {"reasoning": tr("reasoning"), "text": tr("text")}
ORIGINS = {
    "kept": tr("Kept from the run that was branched"),
    "written": tr("Inserted by hand, not sampled; the figures are the model's own"),
}


class TokenTableModel(TableModel[Token]):
    """Reads the stage's tokens in place, without a copy."""

    titles = tuple(column.title for column in COLUMNS)
    tips = tuple(column.tip for column in COLUMNS)
    figures = frozenset(range(len(COLUMNS))) - {TOKEN, RULE, PART}

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rules: list[TokenRule] = []
        self._parted: tuple[int, int | None] = (0, None)
        self._begin(StageState())

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        if shown.stage is not self._stage:
            self._begin(shown.stage)
        self._insert(len(self._rows), shown.stage.tokens[len(self._rows) :])
        if shown.stage.parted != self._parted:  # a part began or ended, perhaps some tokens ago
            self._parted = shown.stage.parted
            self._changed(column=PART)

    def _begin(self, stage: StageState) -> None:
        self._stage, self._rules, self._parted = stage, [], (0, None)
        self._cut = TokenBoundaries(unknown=tr("not compared"))
        self.show_rows([])

    def set_rules(self, first: int, rules: Sequence[TokenRule]) -> None:
        """Set the rules of the tokens from `first` on: they arrive in order, before or after their tokens."""
        self._rules[first:] = rules
        self._changed(first, min(first + len(rules), len(self._rows)), RULE)

    @property
    def has_parts(self) -> bool:
        """Whether the answer has several parts (reasoning, text, calls) and is not a single call."""
        return bool(self._stage.segments)

    def set_boundaries(self, cut: TokenBoundaries) -> None:
        """Set which of the tokens are not the model's own."""
        self._cut = cut
        self._changed(column=TOKEN)

    def rule(self, row: int) -> TokenRule | None:
        """The rule of a token; None while it is not known."""
        return self._rules[row] if row < len(self._rules) else None

    def words(self, row: Token, column: int) -> str:
        if column == RULE:
            rule = self.rule(row.step.index)
            return (rule.rule if rule is not None else "") or UNKNOWN
        if column == PART:
            part = part_of(self._stage, row)
            if part is None:
                return tr("marker")
            return _PARTS.get(part.kind) or tr("call {number}", number=part.call_index + 1)
        return COLUMNS[column].show(row.step)

    def spoken(self, row: Token, column: int) -> str:
        words, step = self.titled(row, column), row.step
        if column != TOKEN:
            return words
        forced = tr(", forced") if step.forced else ""
        whose = {"kept": tr(", kept"), "written": tr(", written")}.get(step.origin, "")
        cut = tr(", not the model's own token") if self._cut.at(step.index) is not None else ""
        return f"{words}{forced}{whose}{cut}"

    def tip(self, row: Token, column: int) -> str:
        if column == RULE:
            rule = self.rule(row.step.index)
            return "\n".join(part for part in (rule.rule, rule.words) if part) if rule is not None else ""
        if column == PART:
            return self.words(row, column)
        return _tip(row.step) + cut_words(self._cut, row.step) if column == TOKEN else ""

    def color(self, row: Token, column: int) -> str:
        if column == RULE:
            return "text-faint" if self.words(row, RULE) == UNKNOWN else "text-muted"
        if column == PART:
            return "text-faint" if part_of(self._stage, row) is None else "text-muted"
        return "text-faint" if row.step.forced and column != TOKEN else "text"

    def extra(self, row: Token, column: int, role: int) -> Any:
        if role == STEP_ROLE:
            return row.step
        return self._cut.at(row.step.index) if role == CUT_ROLE else None


def cut_words(cut: TokenBoundaries, step: TokenStep) -> str:
    """A further line for the hint on a token that is not the model's own; otherwise ""."""
    other = cut.at(step.index)
    if other is None:
        return ""
    return "\n" + tr("Not the model's own tokens: {tokens}", tokens=boundary_diff_words(other))


def _tip(step: TokenStep) -> str:
    lines = [
        tr(
            "{token}, bytes {bytes}",
            token=numbered(step.id, piece=step.piece),
            bytes=step.data.hex(" ").upper() or tr("none"),
        )
    ]
    lines.append(tr("Rank {rank}, entropy {entropy} bits", rank=count(step.rank), entropy=_entropy(step)))
    if step.forced:
        lines.append(tr("Forced: the only token the grammar allowed"))
    if step.origin != "model":
        lines.append(ORIGINS[step.origin])
    return "\n".join(lines)


LEAST = (ENTROPY, RANK, FEASIBLE, MS)
HIDDEN = (
    (),
    LEAST[:1],
    LEAST[:2],
    *((RULE, *LEAST[:count]) for count in range(len(LEAST) + 1)),
    (RULE, PART, *LEAST),
    (RULE, PART, *LEAST, ALLOWED),
)
"""Columns that are hidden for lack of room; the alternatives beside the table show their values too."""
MIN_TOKEN = 12
"""The minimum width of the token column in characters."""


class TokenDelegate(QStyledItemDelegate):
    """The token as a chip: forced tokens on the grammar's background, sampled ones framed, the user's with a thick
    frame, tokens kept from another run with a dashed one. A dotted underline marks text that is not in the model's own
    tokens.
    """

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        step = index.data(STEP_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_selection(painter, option)
        font = mono_font(-0.5)
        painter.setFont(font)
        words = painter.fontMetrics().elidedText(
            step_text(step), Qt.TextElideMode.ElideRight, option.rect.width() - 20
        )
        width = painter.fontMetrics().horizontalAdvance(words) + 10
        box = QRectF(option.rect).adjusted(6.5, 3.5, 0, -3.5)
        box.setWidth(max(width, 14))
        painter.setPen(_frame(step))
        painter.setBrush(theme().color("forced-soft" if step.forced else "field"))
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(theme().color("forced" if step.forced else "text"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)
        if index.data(CUT_ROLE) is not None:
            painter.setPen(QPen(theme().color("impossible-line"), 2, Qt.PenStyle.DotLine))
            painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.restore()


def _frame(step: TokenStep) -> QPen:
    if step.origin == "written":
        return QPen(theme().color("accent"), 2)
    if step.origin == "kept":
        return QPen(theme().color("border-strong"), 1, Qt.PenStyle.DashLine)
    return QPen(Qt.PenStyle.NoPen) if step.forced else QPen(theme().color("border-strong"), 1)


class TokenTable(PlainTable):
    """`tokenChosen` carries the index of the row that became current, `ruleChosen` the rule that was double-clicked."""

    tokenChosen = Signal(object)
    ruleChosen = Signal(str)

    def __init__(self, model: TokenTableModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=TOKEN, parent=parent)
        self._tokens = model
        self._ruled = self._parted = False
        named(self, "tokenTable", tr("Tokens with their probabilities"))
        self.setAccessibleDescription(
            tr("Up and Down select a token; its alternatives are shown on the right.")
        )
        self.setItemDelegateForColumn(TOKEN, TokenDelegate(self))
        self.horizontalHeader().setMinimumSectionSize(36)
        for column, spec in enumerate(COLUMNS):
            if column != TOKEN:
                self.fit_column(column, spec.widest)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setColumnHidden(RULE, True)
        self.setColumnHidden(PART, True)
        self.doubleClicked.connect(self._double_clicked)
        self.offer_menus()
        self.selectionModel().currentRowChanged.connect(self._current_changed)

    def _fit(self) -> None:
        """Hide the least important columns if there is no room for all; the hint on the token shows their values."""
        if self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())
        self._fit_columns()

    def show_rules(self, shown: bool) -> None:
        """Set whether a grammar constrains the run: without one, no token has a rule."""
        self._ruled = shown
        self._fit_columns()

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, and its parts if it has any; the newest row stays visible while the view is
        scrolled to the end.
        """
        before = self._tokens.rowCount()
        self._tokens.show_stage(shown)
        self.show_nothing("" if shown.is_growing or shown.stage.tokens else NO_TOKENS)
        if self._parted != self._tokens.has_parts:
            self._parted = self._tokens.has_parts
            self._fit_columns()
        if self._tokens.rowCount() == before:
            return
        bar = self.verticalScrollBar()
        if not self.currentIndex().isValid() or bar.value() >= bar.maximum() - 4 * self.rowHeight(0):
            self.scrollToBottom()

    def choose(self, index: int) -> None:
        """Make a token's row the current one."""
        if 0 <= index < self._tokens.rowCount():
            self.setCurrentIndex(self._tokens.index(index, TOKEN))

    def _fit_columns(self) -> None:
        room = self.viewport().width()
        unused = {RULE: not self._ruled, PART: not self._parted}
        widths = {
            column: 0 if unused.get(column) else self.fitted_width(column)
            for column in range(len(COLUMNS))
            if column != TOKEN
        }
        need = MIN_TOKEN * self.fontMetrics().averageCharWidth() + sum(widths.values())
        hidden = next((h for h in HIDDEN if need - sum(widths[c] for c in h) <= room), HIDDEN[-1])
        for column in HIDDEN[-1]:
            self.setColumnHidden(column, column in hidden or unused.get(column, False))

    def _double_clicked(self, index: QModelIndex) -> None:
        rule = self._tokens.rule(index.row()) if index.column() == RULE else None
        if rule is not None and rule.rule:
            self.ruleChosen.emit(rule.rule)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        self.tokenChosen.emit(current.row() if current.isValid() else None)
