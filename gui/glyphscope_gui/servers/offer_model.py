"""The resources or the prompts of a server, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject

from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

NAME, ADDRESS, TYPE = range(3)


class OfferModel(TableModel[Offer]):
    """Replaced as a whole; `set_filter` narrows the rows."""

    titles = (tr("Name"), tr("Address"), tr("Type"))
    tips = (
        tr("The title from the server"),
        tr("The URI, the URI template, or the name of the prompt"),
        tr("The declared MIME type, or the arguments; * marks required ones"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: tuple[Offer, ...] = ()
        self._filter = ""

    def show(self, offers: Sequence[Offer]) -> None:
        self._all = tuple(offers)
        self.show_rows(self._found())

    def set_filter(self, text: str) -> None:
        self._filter = text.strip().lower()
        self.show_rows(self._found())

    @property
    def total(self) -> int:
        return len(self._all)

    def offer(self, row: int) -> Offer | None:
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def row_of(self, address: str) -> int:
        return next((row for row, offer in enumerate(self._rows) if offer.address == address), -1)

    def words(self, row: Offer, column: int) -> str:
        return (row.title or row.address, row.address, _type(row))[column]

    def tip(self, row: Offer, column: int) -> str:
        return f"{row.address}\n{row.description[:600]}".strip()

    def color(self, row: Offer, column: int) -> str:
        return "text" if column == NAME else "text-muted"

    def _found(self) -> list[Offer]:
        wanted = self._filter
        return [
            offer
            for offer in self._all
            if not wanted or wanted in f"{offer.address}\n{offer.title}\n{offer.description}".lower()
        ]


def _type(offer: Offer) -> str:
    if offer.kind != "prompt":
        return offer.mime or (tr("template") if offer.kind == "template" else "")
    return ", ".join(f"{each.name}*" if each.required else each.name for each in offer.arguments)
