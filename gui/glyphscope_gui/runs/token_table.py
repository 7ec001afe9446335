"""The token table: a row for each decoding step, with its evidence."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.events import TokenStep
from glyphscope_gui.runs.token_table_model import (
    ALLOWED,
    COLUMNS,
    CUT_ROLE,
    ENTROPY,
    FEASIBLE,
    MS,
    PART,
    RANK,
    RULE,
    STEP_ROLE,
    TOKEN,
    TokenTableModel,
)
from glyphscope_gui.shared.cells import paint_selection
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.shared.token_words import step_text
from glyphscope_gui.theme import mono_font, theme

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

    def show_parts(self) -> None:
        """Show the parts of the answer, if it has any, at their present places."""
        if self._parted != self._tokens.has_parts:
            self._parted = self._tokens.has_parts
            self._fit_columns()
        if self._parted:
            self._tokens.parts_changed()

    def follow(self) -> None:
        """Keep the newest row visible while the view is scrolled to the end."""
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
