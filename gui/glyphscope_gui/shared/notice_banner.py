"""A sentence for the user, with one or two actions, over a part of the page: it blocks nothing and moves nothing."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QWidget

from glyphscope_gui.shared.labels import PlainLabel, push_button, set_role, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, visible_height
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.theme.sizes import GAP, letters

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


WIDEST = 820
"""Its greatest width in pixels, at the usual text size."""


class NoticeBanner(QFrame):
    """Hidden while there is nothing to say; then it covers the lower end of its parent, or of what `cover` names."""

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
        words = hbox(self.sign, (self.label, 1), spacing=10)
        buttons = hbox(STRETCH, self.action, self.other, self.dismiss, spacing=10)
        self._lines = hbox((words, 1), buttons, parent=self, margins=(12, 8, 10, 8), spacing=10)
        self._over: QWidget | None = None
        if parent is not None:
            self.cover(parent)
        self.hide()

    def cover(self, part: QWidget) -> None:
        """Cover the lower end of another part of the parent."""
        if self._over is not None:
            self._over.removeEventFilter(self)
        self._over = part
        part.installEventFilter(self)

    def eventFilter(self, part: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show) and not self.isHidden():
            self._place()
        return False

    def _place(self) -> None:
        """Place it over its part, as wide as its words need; its actions are beside or below them, as is lower."""
        part, parent = self._over, self.parentWidget()
        if part is None or parent is None:
            return
        room = QRect(part.mapTo(parent, QPoint()) if part is not parent else QPoint(), part.size())
        room.setBottom(min(room.bottom(), visible_height(parent)))  # of a page that is scrolled
        words = self.label.fontMetrics().horizontalAdvance(self.label.text())
        self._lines.setDirection(QBoxLayout.Direction.LeftToRight)
        others = self._lines.minimumSize().width() - self.label.minimumSizeHint().width()
        width = min(words + others + GAP, round(WIDEST * letters(self)), room.width() - 2 * GAP)
        size = QSize(width, self._lines.totalHeightForWidth(width))
        self._lines.setDirection(QBoxLayout.Direction.TopToBottom)
        if (below := self._lines.totalHeightForWidth(width)) < size.height():  # in a narrow page
            size.setHeight(below)
        else:
            self._lines.setDirection(QBoxLayout.Direction.LeftToRight)
        y = max(room.bottom() - size.height() - GAP, 0)
        self.setGeometry(QRect(QPoint(room.center().x() - width // 2, y), size))
        self.raise_()

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
        self.setFocusProxy(self.action if action else self.dismiss)
        self.show()
        self._place()

    def _act(self) -> None:
        self.hide()
        if self._then is not None:
            self._then()

    def _act_otherwise(self) -> None:
        if self._or is not None:
            self._or()
