"""A sentence for the user, with one or two actions; not a dialog, so it blocks nothing."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QWidget

from glyphscope_gui.shared.labels import PlainLabel, push_button, set_role, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.plain_text import plain_tip

MIN_WIDTH = 200
"""The minimum width of the words in pixels, however long one of them is."""


class _Words(PlainLabel):
    """Cuts off a long word, such as an address or a path, so that it does not widen the page; the tip has it all."""

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setToolTip(plain_tip(self.text()))

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        return QSize(min(least.width(), MIN_WIDTH), least.height())


class NoticeBanner(QFrame):
    """Hidden while there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBanner")
        self.label = _Words(self, wordWrap=True)
        self.sign = PlainLabel("✕", self, role="verdict-impossible", accessibleName=tr("Error"))
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.action = push_button("", self, role="link", clicked=self._act)
        self.other = push_button("", self, role="link", clicked=self._act_otherwise)
        self.dismiss = push_button(tr("Close"), self, role="link", clicked=self.hide)
        self._then: Callable[[], None] | None = None
        self._or: Callable[[], None] | None = None
        parts = (self.sign, (self.label, 1), self.action, self.other, self.dismiss)
        hbox(*parts, parent=self, margins=(12, 8, 10, 8), spacing=10)
        self.hide()

    def show_words(
        self,
        words: str,
        action: str = "",
        then: Callable[[], None] | None = None,
        other: tuple[str, Callable[[], None]] | None = None,
        *,
        error: bool = False,
    ) -> None:
        """Show a sentence, with up to two actions; `error` styles it as an error."""
        self.label.setText(words)
        words = self.label.text()
        self.setAccessibleName(tr("Error: {words}", words=words) if error else words)
        self.sign.setVisible(error)
        set_role(self, error, key="error")
        show_words(self.action, action)
        self._then = then
        title, self._or = other or ("", None)
        self.other.setText(title)
        self.other.setVisible(other is not None)
        self.show()

    def _act(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()

    def _act_otherwise(self) -> None:
        if self._or is not None:
            self._or()
