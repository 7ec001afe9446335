"""The selected part of the prompt: edited in place, or explained where it cannot be edited here."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope_gui.prompt.places import PartPlace
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit

_LINES = 4


class PartEditor(QWidget):
    """`edited` carries the text as the user typed it. The link leads to where the part comes from."""

    edited = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._showing = False
        self._place: PartPlace | None = None
        self.title = ElidedLabel(self, role="title")
        self.link = named(ElidedLink(self), "promptPartLink")
        self.edit = named(GrowingEdit(_LINES, self), "promptPartEdit")
        self.edit.bar_when_full()
        self.words = words_label(parent=self)
        top = hbox((self.title, 1), self.link, spacing=8)
        vbox(top, self.edit, self.words, parent=self, spacing=6)
        self.edit.textChanged.connect(self._notify)
        self.show_place(None)

    def show_place(self, place: PartPlace | None) -> None:
        """Show another part, or the same after an edit: a text being typed stays unchanged."""
        self.setVisible(place is not None)
        if place is None:
            self._place = None
            return
        self.title.setText(place.title)
        self.title.setAccessibleName(place.title)
        self.edit.setVisible(bool(place.source))
        self.edit.setAccessibleName(tr("Edit: {title}", title=place.title))
        self.edit.setAccessibleDescription(tr("Control and Enter runs the prompt."))
        self.say(place.words)
        self.link.setVisible(bool(place.tool) or place.source in ("line", "user"))
        self.link.set_words(self._link_words(place))
        typing = self.edit.hasFocus() and self._place is not None and self._place.identity == place.identity
        self._place = place
        if place.text != self.edit.toPlainText() and not typing:
            self._showing = True
            self.edit.setPlainText(place.text)
            self._showing = False

    def say(self, words: str) -> None:
        """Show a text below the field."""
        show_words(self.words, words)

    def _link_words(self, place: PartPlace) -> str:
        if place.tool:
            return tr("Show in Tools")
        return tr("Show in Template") if place.source == "line" else tr("Go to the prompt")

    def _notify(self) -> None:
        if not self._showing:
            self.edited.emit(self.edit.toPlainText())
