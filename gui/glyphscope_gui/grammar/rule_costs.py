"""Mask cost by rule, in the last run: measured, not estimated."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.text.figures import duration_ms, plain_ms
from glyphscope_gui.runs.token_rules import RuleCost
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel

EMPTY = tr("Run the model to see the cost of each rule.")
FREE = tr("The last run computed no masks.")
RULE, SUM, MEAN = range(3)
_COLUMNS = (
    (tr("rule"), tr("The rule that the tokens belong to. Click to show it.")),
    (tr("mask ms"), tr("Total time of the masks for its tokens, in milliseconds")),
    (tr("per token"), tr("Mean time per mask, in milliseconds. Forced tokens need no mask.")),
)


class _Costs(TableModel[RuleCost]):
    titles = tuple(title for title, _ in _COLUMNS)
    tips = tuple(tip for _, tip in _COLUMNS)
    figures = frozenset({SUM, MEAN})

    def words(self, row: RuleCost, column: int) -> str:
        return (row.rule, plain_ms(row.ms), plain_ms(row.ms / row.masks))[column]

    def tip(self, row: RuleCost, column: int) -> str:
        masks = tr("%n mask(s)", "", row.masks)
        return tr("{rule}: {masks}, {time} together", rule=row.rule, masks=masks, time=duration_ms(row.ms))

    def color(self, row: RuleCost, column: int) -> str:
        return "" if column == RULE else "text-muted"


class RuleCosts(QWidget):
    """A short table, or a sentence where there is nothing. `ruleChosen` carries a rule's name."""

    ruleChosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = _Costs(self)
        self.table = named(PlainTable(self._model, stretch=RULE, parent=self), "ruleCosts")
        self.table.setAccessibleName(tr("Mask cost by rule"))
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        for column, widest in ((SUM, "00 000.00"), (MEAN, "000.00")):
            self.table.fit_column(column, widest)
        self.words = PlainLabel(EMPTY, self, role="hint", wordWrap=True)
        self.words.setContentsMargins(8, 4, 8, 4)
        layout = vbox(self.words, (self.table, 1), parent=self)
        layout.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.table.hide()
        for signal in (self.table.clicked, self.table.activated):
            signal.connect(lambda index: self.ruleChosen.emit(index.siblingAtColumn(RULE).data()))

    def show_costs(self, costs: tuple[RuleCost, ...] | None) -> None:
        """Show the costs, the highest first; None while no run was measured."""
        self._model.show_rows(costs or ())
        self.table.setVisible(bool(costs))
        self.words.setVisible(not costs)
        self.words.setText(EMPTY if costs is None else FREE)
