"""The result of a manual call: the verdict on it, and its stacked pieces, each limited in height."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QWidget

from glyphscope.visible import visible
from glyphscope_gui.servers.call_outcome import CallView, Piece
from glyphscope_gui.shared.labels import PlainLabel, link, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, replace_content, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import ReadBox
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.shared.whole_text import show_whole

MAX_LINES = 16
"""Number of lines beyond which a piece's text scrolls."""


class CallResult(QWidget):
    """Nothing in it is opened, loaded or followed: a link is shown as text. `saveRequested` carries a BinaryFile."""

    saveRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "callResult", tr("Result of the call"))
        self.view: CallView | None = None
        self.pill = Pill(self)
        self.figures = PlainLabel(self, role="hint")
        self._scroll = named(QScrollArea(self, widgetResizable=True), "", tr("Result"))
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        head = hbox(self.pill, self.figures, STRETCH, spacing=10)
        vbox(head, (self._scroll, 1), parent=self, margins=(0, 2, 0, 0), spacing=6)
        self.show_view(None)

    @property
    def text(self) -> str:
        """All shown content as text."""
        pieces = self.view.pieces if self.view else ()
        return "\n".join(f"{piece.title}\n{piece.text}" for piece in pieces)

    def show_view(self, view: CallView | None) -> None:
        """Show a result; None clears it."""
        self.view = view
        self._scroll.setVisible(view is not None)  # without a result, the arguments get its height
        self.pill.set_words(
            view.words if view else "", view.role if view else "open", view.tip if view else ""
        )
        self.figures.setText(view.figures if view else "")
        box = QWidget()
        column = vbox(parent=box, margins=(0, 0, 6, 0), spacing=4)
        for piece in view.pieces if view else ():
            column.addLayout(self._heading(piece))
            if piece.image is not None:
                column.addWidget(_picture(piece))
            elif piece.text or piece.kind in ("text", "json"):
                column.addWidget(_text(piece))
            column.addSpacing(6)
        column.addStretch(1)
        replace_content(self._scroll, box)

    def say(self, words: str) -> None:
        """Add words to the figures of the shown result."""
        if self.view is not None:
            self.figures.setText(f"{self.view.figures} · {words}")

    def _heading(self, piece: Piece) -> QHBoxLayout:
        row = hbox((_title(piece), 1), spacing=12)
        if (file := piece.file) is not None:
            tip = tr("Save the binary content to a file")
            save_link = link(tr("Save as…"), tip, name="saveContentButton")
            save_link.clicked.connect(lambda: self.saveRequested.emit(file))
            row.addWidget(save_link)
        if (whole := piece.whole) is not None:
            tip = tr("Show the whole text, with search, Copy and Save as")
            open_link = link(tr("Open"), tip, name="openWholeButton")
            open_link.clicked.connect(lambda: show_whole(whole, self))
            row.addWidget(open_link)
        return row


def _title(piece: Piece) -> QLabel:
    return PlainLabel(visible(piece.title[:120]), role="section")


def _picture(piece: Piece) -> QLabel:
    label = PlainLabel()
    assert piece.image is not None
    label.setPixmap(QPixmap.fromImage(piece.image))
    named(label, words=f"{piece.title}, {piece.text}", tip=plain_tip(piece.text))
    return label


def _text(piece: Piece) -> QWidget:
    if piece.kind in ("note", "problem"):
        role = "problem" if piece.kind == "problem" else "muted"
        return words_label(piece.text[:4000], role, selectable=True)
    return ReadBox(MAX_LINES, piece.title, piece.text)
