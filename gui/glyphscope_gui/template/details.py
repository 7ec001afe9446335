"""What is known beside the slots: thinking, what of a conversation is kept, notes, and the values of the proof."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import stack
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.template.tables import HistoryModel, NotesModel, RowsTable, ThinkingModel, ValuesModel

VIEWS = (
    ("thinking", tr("Thinking"), tr("End of the prompt with thinking on, off and not set")),
    ("history", tr("Kept"), tr("Parts of a conversation that the template keeps and drops")),
    ("notes", tr("Notes"), tr("Warnings, and the corrections that apply, with their reasons")),
    ("values", tr("Values"), tr("Values of arguments that survive a round trip")),
)


class Details(Card):
    """One of four tables."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.thinking = RowsTable(
            ThinkingModel(), tr("Prompt by thinking setting"), (0, 2, 1), mono=frozenset({1})
        )
        self.history = RowsTable(HistoryModel(), tr("Kept and dropped parts"), (1, 1), pills=frozenset({1}))
        self.notes = RowsTable(NotesModel(), tr("Warnings and corrections"), (0, 1), pills=frozenset({0}))
        self.values = RowsTable(
            ValuesModel(), tr("Round trip of values"), (1, 0, 1), mono=frozenset({2}), pills=frozenset({1})
        )
        self.stack = stack(self.thinking, self.history, self.notes, self.values)
        self.views = Segmented(VIEWS, small=True)
        self.views.setAccessibleName(tr("Thinking, kept, notes or values"))
        super().__init__(tr("Thinking"), self.stack, actions=(self.views,), padded=False, parent=parent)
        self.views.chosen.connect(self.show_view)

    def show_view(self, name: str) -> None:
        """The table of that name."""
        place = next(number for number, view in enumerate(VIEWS) if view[0] == name)
        self.stack.setCurrentIndex(place)
        self.heading.set_title(VIEWS[place][1])
        self.views.set_value(name)
