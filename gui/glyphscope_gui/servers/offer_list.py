"""The list of a server's resources or prompts, with a filter."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.servers.filtered_list import FilteredList
from glyphscope_gui.shared.labels import named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.table_model import FilteredModel
from glyphscope_gui.theme.sizes import PAD

NAME, ADDRESS, TYPE = range(3)
"""The columns."""


class OfferModel(FilteredModel[Offer]):
    key = "address"
    titles = (tr("Name"), tr("URI"), tr("Type"))
    tips = (
        tr("The title from the server"),
        tr("The URI, or the URI template"),
        tr("The declared MIME type"),
    )

    def show(self, offers: Sequence[Offer]) -> None:
        self._show_all(tuple(offers))

    def words(self, row: Offer, column: int) -> str:
        return (row.title or row.address, row.address, _type(row))[column]

    def tip(self, row: Offer, column: int) -> str:
        return f"{row.address}\n{row.description[:600]}".strip()

    def color(self, row: Offer, column: int) -> str:
        return "text" if column == NAME else "text-muted"

    def searched(self, row: Offer) -> str:
        return f"{row.address}\n{row.title}\n{row.description}"


class PromptModel(OfferModel):
    titles = (tr("Title"), tr("Name"), tr("Arguments"))
    tips = (
        tr("The title from the server"),
        tr("The name of the prompt"),
        tr("The arguments; * marks required ones"),
    )


def _type(offer: Offer) -> str:
    if offer.kind != "prompt":
        return offer.mime or (tr("template") if offer.kind == "template" else "")
    return ", ".join(f"{each.name}*" if each.required else each.name for each in offer.arguments)


WIDE = 470
"""Width in pixels from which there is room for the address beside the name."""


class OfferList(FilteredList[Offer]):
    """`chosen` carries an Offer, or None."""

    model: OfferModel

    def __init__(self, model: OfferModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(model, tr("Filter"), parent)
        self.filter_edit.setAccessibleName(tr("Filter: {list}", list=name))
        named(self.table, "offerTable", name)
        self.problem = words_label(role="problem", parent=self)
        column = vbox(parent=self, margins=(0, 0, 0, 4), spacing=4)
        for widget in (self.filter_edit, self.problem):
            inside = vbox(widget, margins=(PAD - 5, 6, PAD - 5, 0))
            column.addLayout(inside)
        column.addWidget(self.table, 1)
        column.addWidget(self.empty, 1)
        self.show_words("", "")

    def _fit(self) -> None:
        wide = self.width() >= WIDE
        self.table.setColumnHidden(ADDRESS, not wide)
        self.table.setColumnWidth(ADDRESS, self.width() // 3)
        self.table.fit_column(TYPE, "application/json")
