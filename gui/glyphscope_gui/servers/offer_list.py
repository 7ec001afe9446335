"""The list of a server's resources or prompts, with a filter."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.shared.labels import PlainLabel, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import FilteredModel
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import PAD

NAME, ADDRESS, TYPE = range(3)
"""The columns."""


class OfferModel(FilteredModel[Offer]):
    titles = (tr("Name"), tr("Address"), tr("Type"))
    tips = (
        tr("The title from the server"),
        tr("The URI, the URI template, or the name of the prompt"),
        tr("The declared MIME type, or the arguments; * marks required ones"),
    )

    def show(self, offers: Sequence[Offer]) -> None:
        self._show_all(tuple(offers))

    @property
    def total(self) -> int:
        return len(self._all)

    def row_of(self, address: str) -> int:
        return next((row for row, offer in enumerate(self._rows) if offer.address == address), -1)

    def words(self, row: Offer, column: int) -> str:
        return (row.title or row.address, row.address, _type(row))[column]

    def tip(self, row: Offer, column: int) -> str:
        return f"{row.address}\n{row.description[:600]}".strip()

    def color(self, row: Offer, column: int) -> str:
        return "text" if column == NAME else "text-muted"

    def searched(self, row: Offer) -> str:
        return f"{row.address}\n{row.title}\n{row.description}"


def _type(offer: Offer) -> str:
    if offer.kind != "prompt":
        return offer.mime or (tr("template") if offer.kind == "template" else "")
    return ", ".join(f"{each.name}*" if each.required else each.name for each in offer.arguments)


FILTER_FROM = 13
"""Entries from which on there is a filter."""
WIDE = 470
"""Pixels from which on there is room for the address beside the name."""


class OfferList(FollowsSize, QWidget):
    """`chosen` carries the Offer that is shown beside, or None."""

    chosen = Signal(object)

    def __init__(self, model: OfferModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._address = ""
        self.filter_edit = LineEdit(self, placeholderText=tr("Filter"), clearButtonEnabled=True)
        self.filter_edit.setAccessibleName(tr("Filter: {list}", list=name))
        self.table = named(PlainTable(model, NAME, self), "offerTable", name)
        self.table.fit_rows(11, least=3)
        self.empty = PlainLabel(self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.problem = words_label(role="problem", parent=self)
        column = vbox(parent=self, margins=(0, 0, 0, 4), spacing=4)
        for widget in (self.filter_edit, self.problem):
            inside = vbox(widget, margins=(PAD - 5, 6, PAD - 5, 0))
            column.addLayout(inside)
        column.addWidget(self.table, 1)
        column.addWidget(self.empty, 1)
        self.filter_edit.textChanged.connect(model.set_filter)
        self.table.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)
        self.show_words("", "")

    @property
    def current(self) -> Offer | None:
        """The entry that is shown beside."""
        return self.model.row(self.table.currentIndex().row())

    def choose(self, address: str) -> None:
        row = self.model.row_of(address)
        if row >= 0:
            self.table.setCurrentIndex(self.model.index(row, NAME))

    def show_words(self, empty: str, problem: str) -> None:
        """The text in place of an empty list, and the problems of the list."""
        self.empty.setText(empty)
        self.empty.setVisible(self.model.total == 0)
        self.table.setVisible(self.model.total > 0)
        show_words(self.problem, problem)
        self.filter_edit.setVisible(self.model.total >= FILTER_FROM)

    def forget(self) -> None:
        """Clear the choice and the filter, for another server."""
        self._address = ""
        self.filter_edit.clear()

    def _fit(self) -> None:
        wide = self.width() >= WIDE
        self.table.setColumnHidden(ADDRESS, not wide)
        self.table.setColumnWidth(ADDRESS, self.width() // 3)
        self.table.fit_column(TYPE, "application/json")

    # -- inside ------------------------------------------------------------------------------------------------

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        offer = self.model.row(current.row())
        if offer is not None:
            self._address = offer.address
            self.chosen.emit(offer)

    def _keep(self) -> None:
        """Select the same entry in another list; the first one where there was none."""
        row = self.model.row_of(self._address) if self._address else 0
        if self.model.row(row) is None:
            self.chosen.emit(None)
        else:
            self.table.setCurrentIndex(self.model.index(row, NAME))
