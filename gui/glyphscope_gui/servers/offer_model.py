"""The resources or the prompts of a server, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import theme

NAME, ADDRESS, TYPE = range(3)


class OfferModel(TableModel):
    """Replaced as a whole; `set_filter` narrows the rows."""

    titles = (tr("Name"), tr("Address"), tr("Type"))
    tips = (
        tr("The title from the server"),
        tr("The URI, the URI template, or the name of the prompt"),
        tr("The declared MIME type, or the arguments; * marks required ones"),
    )
    figures = frozenset()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: tuple[Offer, ...] = ()
        self._filter = ""
        self._rows: list[Offer] = []

    def show(self, offers: Sequence[Offer]) -> None:
        self.beginResetModel()
        self._all = tuple(offers)
        self._rows = self._found()
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        self.beginResetModel()
        self._filter = text.strip().lower()
        self._rows = self._found()
        self.endResetModel()

    @property
    def total(self) -> int:
        return len(self._all)

    def offer(self, row: int) -> Offer | None:
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def row_of(self, address: str) -> int:
        return next((row for row, offer in enumerate(self._rows) if offer.address == address), -1)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        offer, column = self._rows[index.row()], index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (offer.title or offer.address, offer.address, _type(offer))[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text" if column == NAME else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{offer.address}\n{offer.description[:600]}".strip())
        return None

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
