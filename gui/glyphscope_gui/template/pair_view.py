"""A pair of renderings side by side: what differs is marked in both, and the markers of the chosen slot."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from glyphscope.turns.pairs import Pair
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import holder, vbox
from glyphscope_gui.template.marked_text import MarkedText
from glyphscope_gui.theme.sizes import PAD

_MOST_MARKS = 20


class PairView(Card):
    """`moved` carries 1 or -1."""

    moved = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        words = tr("Previous pair")
        self.before_link = link("‹", words, spoken=words, clicked=lambda: self.moved.emit(-1))
        self.place = PlainLabel(role="hint")
        words = tr("Next pair")
        self.after_link = link("›", words, spoken=words, clicked=lambda: self.moved.emit(1))
        super().__init__(
            tr("Pair"),
            body,
            actions=(self.before_link, self.place, self.after_link),
            padded=False,
            parent=parent,
        )
        self.shows = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.names = (PlainLabel(body, role="title"), PlainLabel(body, role="title"))
        self.texts = (MarkedText(tr("First rendering"), body), MarkedText(tr("Second rendering"), body))
        self.sides = QSplitter(Qt.Orientation.Horizontal, body, childrenCollapsible=False)
        for name, text in zip(self.names, self.texts, strict=True):
            text.setToolTip(tr("Underlined: text only in this rendering. Dashed: the selected slot."))
            name.setIndent(7)
            side = holder(vbox(name, (text, 1), margins=(PAD - 6, 0, 4, 0), spacing=2), body)
            self.sides.addWidget(side)
        line = vbox(self.shows, margins=(PAD - 5, 0))
        vbox(line, (self.sides, 1), parent=body, margins=(0, 6, 0, 2), spacing=6)

    def show_pair(self, pair: Pair | None, number: int, count: int, markers: tuple[str, ...] = ()) -> None:
        """A pair by its number from 1, with every place of these markers in it."""
        self.before_link.setEnabled(number > 1)
        self.after_link.setEnabled(number < count)
        self.place.setText(tr("{number} of {count}", number=number, count=count) if count else "")
        lead = tr("Pair {number}", number=number) if count else tr("Pair")
        self.heading.set_title(f"{lead}: {pair.title}" if pair is not None else lead, upper=len(lead))
        same = tr("Both renderings are identical: the template ignores the difference.")
        self.shows.setText("" if pair is None else same if pair.same else pair.shows)
        for side, (name, text) in enumerate(zip(self.names, self.texts, strict=True)):
            if pair is None:
                name.setText("")
                text.show_text("")
                continue
            shown = pair.sides[side]
            name.setText(shown.name)
            text.show_text(shown.text, shown.marks, places_of(shown.text, markers))


def places_of(text: str, markers: tuple[str, ...]) -> list[tuple[int, int]]:
    """The places of markers, longer ones first, without overlaps. Single punctuation characters are not markers."""
    found: list[tuple[int, int]] = []
    for marker in sorted({each.strip() for each in markers if len(each.strip()) > 1}, key=len, reverse=True):
        at = text.find(marker)
        while at >= 0 and len(found) < _MOST_MARKS:
            end = at + len(marker)
            if all(end <= start or at >= stop for start, stop in found):
                found.append((at, end))
            at = text.find(marker, end)
    return sorted(found)
