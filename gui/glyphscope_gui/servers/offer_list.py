"""The list of a server's resources or prompts, with a filter."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.servers.offer_model import ADDRESS, NAME, TYPE, OfferModel
from glyphscope_gui.shared.labels import PlainLabel, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import PAD

FILTER_FROM = 13
WIDE = 470
"""Pixels from which on there is room for the address beside the name."""


class OfferList(QWidget):
    """`chosen` carries the Offer that is shown beside, or None."""

    chosen = Signal(object)

    def __init__(self, model: OfferModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._address = ""
        self.filter_edit = LineEdit(self, placeholderText=tr("Filter"), clearButtonEnabled=True)
        self.filter_edit.setAccessibleName(tr("Filter: {list}", list=name))
        self.table = PlainTable(model, NAME, self)
        self.table.setObjectName("offerTable")
        self.table.setAccessibleName(name)
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
        index = self.table.currentIndex()
        return self.model.offer(index.row()) if index.isValid() else None

    def choose(self, address: str) -> None:
        row = self.model.row_of(address)
        if row >= 0:
            self.table.setCurrentIndex(self.model.index(row, NAME))

    def show_words(self, empty: str, problem: str) -> None:
        """The text in place of an empty list, and the problems of the list."""
        self.empty.setText(empty)
        self.empty.setVisible(self.model.total == 0)
        self.table.setVisible(self.model.total > 0)
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.filter_edit.setVisible(self.model.total >= FILTER_FROM)

    def forget(self) -> None:
        """Another server: the choice and the filter of the one before are dropped."""
        self._address = ""
        self.filter_edit.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= WIDE
        self.table.setColumnHidden(ADDRESS, not wide)
        self.table.setColumnWidth(ADDRESS, self.width() // 3)
        self.table.fit_column(TYPE, "application/json")

    # -- inside ------------------------------------------------------------------------------------------------

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        offer = self.model.offer(current.row()) if current.isValid() else None
        if offer is not None:
            self._address = offer.address
            self.chosen.emit(offer)

    def _keep(self) -> None:
        """The same entry in another list; the first one where there was none."""
        row = self.model.row_of(self._address) if self._address else 0
        offer: Offer | None = self.model.offer(row)
        if offer is None:
            self.chosen.emit(None)
        else:
            self.table.setCurrentIndex(self.model.index(row, NAME))
