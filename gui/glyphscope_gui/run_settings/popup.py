"""A panel of settings below the button that opens it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QWidget

from glyphscope.events import RunRequest
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.layouts import ScrollArea, hbox, vbox
from glyphscope_gui.shared.tab_order import focus_next
from glyphscope_gui.theme.sizes import PAD

FRAME = 4
"""Pixels of the borders of popup and scroll area, above and below the settings."""


class SettingsPopup(QFrame):
    """A popup that scrolls if the screen has no room for it. `column` is the layout of its `body`.

    `optionsChosen` carries a dict of the fields of RunRequest that the user changed.
    """

    optionsChosen = Signal(object)

    WIDTH = 560

    def __init__(self, name: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        named(self, name, title)
        self._options = RunRequest(prompt="", registry={})
        self.body = named(QWidget(), "settingsBody")
        self.column = vbox(parent=self.body, margins=(PAD, 12, PAD, 14), spacing=14)
        self.problems = PlainLabel(self, role="problem", wordWrap=True)
        self.problems.hide()
        self.column.addWidget(self.problems)
        self.head = hbox(margins=(PAD, 10, PAD, 0))
        self._anchor: QWidget | None = None
        self._scroll = ScrollArea(self.body, self)
        self._late = QTimer(self, singleShot=True, interval=0)  # once all layouts agree
        self._late.timeout.connect(self._grow)
        self._scroll.verticalScrollBar().rangeChanged.connect(lambda _least, _most: self._late.start())
        vbox(self.head, self._scroll, parent=self, margins=1, spacing=0)

    def show_options(self, options: RunRequest) -> None:
        """Show the options of the project, without a signal."""
        raise NotImplementedError

    def show_words(self, words: Iterable[str]) -> None:
        """Show the problems of its settings."""
        text = "\n".join(words)
        self.problems.setText(text)
        self.problems.setVisible(bool(text))

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus in the order of the layout, whenever a field was made."""
        return focus_next((self,), self.focusWidget(), forward=forward) or super().focusNextPrevChild(forward)

    def show_below(self, anchor: QWidget) -> None:
        """Show it below the button, within the window's screen."""
        self._anchor = anchor
        self._fit()
        self.show()
        self._fit()  # its style, and so its size, is known now

    def _fit(self) -> None:
        """Make it as large as its settings need, within the screen."""
        if self._anchor is None:
            return
        self.body.adjustSize()
        room = self._anchor.screen().availableGeometry()
        bottom = self._anchor.mapToGlobal(QPoint(0, self._anchor.height() + 4))
        width = min(max(self.WIDTH, self.body.minimumSizeHint().width() + FRAME), room.width() - 16)
        wrapped = self.column.totalHeightForWidth(width - FRAME)
        needed = max(self.body.sizeHint().height(), wrapped) + self.head.sizeHint().height() + FRAME
        size = QSize(width, min(needed, room.bottom() - bottom.y() - 8))
        self.resize(size)
        self.move(max(min(bottom.x(), room.right() - size.width() - 8), room.left()), bottom.y())

    def _change(self, **changes: Any) -> None:
        """Show the options with the user's changes, and report these."""
        self.show_options(msgspec.structs.replace(self._options, **changes))
        self.optionsChosen.emit(changes)

    def _grow(self) -> None:
        """Make room, if the screen has any, for lines that no size hint included (wrapped, styled or typed later)."""
        if self.isVisible() and (missing := self._scroll.verticalScrollBar().maximum()):
            room = self.screen().availableGeometry().bottom() - self.y() - 8
            self.resize(self.width(), max(min(self.height() + missing, room), self.height()))
