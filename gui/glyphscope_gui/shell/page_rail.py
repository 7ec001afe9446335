"""The slim rail at the left: a page a button, each with its drawing, its name and its keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFontMetrics
from PySide6.QtWidgets import QToolBar, QToolButton, QWidget

from glyphscope.resources import names
from glyphscope_gui.context import Page
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme import FollowsLooks, theme, ui_font
from glyphscope_gui.theme.sizes import scale

DRAWING = 22
SLIM = 36
"""Pixels of a button's width where there is no room for words."""


class PageRail(FollowsLooks, QToolBar):
    """`chosen` carries the PageId that the user chose. `actions_` are for the menu."""

    chosen = Signal(object)

    def __init__(self, pages: Sequence[Page], parent: QWidget | None = None) -> None:
        super().__init__(tr("Pages"), parent)
        named(self, "pageRail", tr("Pages"))
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.toggleViewAction().setVisible(False)
        self._group = QActionGroup(self)
        self.actions_: dict[PageId, QAction] = {}
        self._buttons: dict[PageId, QToolButton] = {}
        inside = QWidget(self)
        column = vbox(parent=inside, margins=8, spacing=4)
        self._slim = False
        for number, page in enumerate(pages, 1):
            column.addWidget(self._button(page, number, inside))
        column.addStretch(1)
        self.addWidget(inside)
        layout = self.layout()
        assert layout is not None, "a tool bar has a layout"
        layout.setContentsMargins(
            0, 0, 0, 0
        )  # as the style sheet says, which is asked at the next theme only
        self._restyle()

    def show_page(self, page: PageId) -> None:
        """Mark a page as the one that is shown, without a signal."""
        self.actions_[page].setChecked(True)

    def set_slim(self, slim: bool) -> None:
        """Without words, where the window is narrow; the tips say them."""
        self._slim = slim
        self._fit()

    def button(self, page: PageId) -> QToolButton:
        return self._buttons[page]

    def _button(self, page: Page, number: int, parent: QWidget) -> QToolButton:
        action = QAction(page.title, self._group, checkable=True, toolTip=f"{page.tip} (Ctrl+{number})")
        action.setShortcut(f"Ctrl+{number}")
        action.triggered.connect(lambda _checked=False, chosen=page.id: self.chosen.emit(chosen))
        button = named(QToolButton(parent), f"{page.id}PageButton", page.title, description=page.tip)
        button.setProperty("role", "page")
        button.setDefaultAction(action)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        action.toggled.connect(partial(self._color, page.id))
        self.actions_[page.id] = action
        self._buttons[page.id] = button
        return button

    def _fit(self) -> None:
        """All buttons as wide as the widest."""
        buttons = getattr(self, "_buttons", {}).values()
        if not buttons:
            return
        drawing, metrics = round(DRAWING * scale()), QFontMetrics(ui_font(-1))
        around = max(14, round(0.8 * metrics.height()))
        width = max(metrics.horizontalAdvance(button.text()) + around for button in buttons)
        if self._slim:
            width = max(SLIM, drawing + 10)
        style = Qt.ToolButtonStyle
        for button in buttons:
            button.setToolButtonStyle(
                style.ToolButtonIconOnly if self._slim else style.ToolButtonTextUnderIcon
            )
            button.setIconSize(QSize(drawing, drawing))
            button.setFixedWidth(width)

    def _restyle(self) -> None:
        for page, action in getattr(self, "actions_", {}).items():
            self._color(page, action.isChecked())
        self._fit()

    def _color(self, page: PageId, chosen: bool) -> None:
        role = "accent" if chosen else "text-muted"
        self.actions_[page].setIcon(theme().icon(_drawing(page), role, size=round(16 * scale())))


@cache
def _drawing(page: PageId) -> str:
    """The icon of a page: its own, or the one of any page."""
    own = f"page-{page}"
    return own if f"{own}.svg" in names("icons", ".svg") else "page"
