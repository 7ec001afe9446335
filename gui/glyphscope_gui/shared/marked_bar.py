"""A line over the page with a mark, words and links, such as that of a shown record or of a running capture."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QPushButton, QWidget

from glyphscope_gui.shared.labels import ElidedLabel, set_role
from glyphscope_gui.shared.layouts import FollowsSize, hbox
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.theme.sizes import GAP, PAD

_BETWEEN = 10
"""Pixels between its parts."""


class MarkedBar(FollowsSize, QFrame):
    """Hidden at first. At least `characters` of its words stay in one line with the links, which otherwise have another
    line, or one each with large text.
    """

    def __init__(
        self,
        name: str,
        mark: str,
        links: Sequence[QPushButton],
        characters: int,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._characters, self._buttons = characters, links
        self.mark = Pill(self)
        self.mark.set_words(mark, "accent")
        self.words = ElidedLabel(self, Qt.TextElideMode.ElideRight)
        self._links = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._links.setSpacing(_BETWEEN)
        for button in links:
            set_role(button, "link")
            self._links.addWidget(button)
        self._links.addStretch(1)
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._rows.setContentsMargins(PAD, GAP, PAD, 0)
        self._rows.setSpacing(_BETWEEN)
        self._rows.addLayout(hbox(self.mark, (self.words, 1), spacing=_BETWEEN), 1)
        self._rows.addLayout(self._links)
        self.hide()

    def minimumSizeHint(self) -> QSize:
        """As wide as the longest link: with large text, each has a separate line."""
        return QSize(max(self._widths()) + 2 * PAD, super().minimumSizeHint().height())

    def _widths(self) -> list[int]:
        return [button.sizeHint().width() for button in self._buttons if not button.isHidden()]

    def _fit(self) -> None:
        """Use two or more lines if there is no room for one."""
        widths = self._widths()
        links = sum(widths) + _BETWEEN * (len(widths) - 1)
        words = self._characters * self.fontMetrics().averageCharWidth()
        narrow = self.width() < links + self.mark.sizeHint().width() + words + 2 * (PAD + _BETWEEN)
        direction = QBoxLayout.Direction
        stacked = self.width() < links + 2 * PAD
        self._links.setDirection(direction.TopToBottom if stacked else direction.LeftToRight)
        self._rows.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)
