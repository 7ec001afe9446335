"""The rail of pages, the navigation between them, and the presentation of one in full screen.

Every page has its own set of open docks, and keeps its focus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFontMetrics, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QMainWindow,
    QScrollArea,
    QStackedWidget,
    QToolBar,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from glyphscope.base.resources import names
from glyphscope_gui.context import Page, Place
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme import FollowsLooks, theme, ui_font
from glyphscope_gui.theme.sizes import is_crowded, scale

ICON = 22
SLIM = 36
"""Pixels of a button's icon at the usual text size, and of its width if there is no room for words."""


class PageRail(FollowsLooks, QToolBar):
    """The slim rail on the left: a button for each page, with its icon, its name and its shortcut.

    `chosen` carries the PageId that the user chose. `actions_` are for the menu.
    """

    chosen = Signal(object)

    def __init__(self, pages: Sequence[Page], parent: QWidget | None = None) -> None:
        super().__init__(tr("Pages"), parent)
        named(self, "pageRail", tr("Pages"))
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.toggleViewAction().setVisible(False)
        self._group = QActionGroup(self)
        self._group.setExclusionPolicy(
            QActionGroup.ExclusionPolicy.ExclusiveOptional
        )  # other pages have no button
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
        # as in the style sheet, which is not applied before the next change of the theme
        layout.setContentsMargins(0, 0, 0, 0)
        self._restyle()

    def show_page(self, page: PageId) -> None:
        """Mark the shown page, without a signal."""
        if page in self.actions_:
            self.actions_[page].setChecked(True)
        elif (marked := self._group.checkedAction()) is not None:
            marked.setChecked(False)

    def set_slim(self, slim: bool) -> None:
        """Hide the words, for a narrow window; the tips show them."""
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
        action.toggled.connect(partial(self._show_icon, page.id))
        self.actions_[page.id] = action
        self._buttons[page.id] = button
        return button

    def _fit(self) -> None:
        """Make all buttons as wide as the widest."""
        buttons = self._buttons.values()
        icon, metrics = round(ICON * scale()), QFontMetrics(ui_font(-1))
        around = max(14, round(0.8 * metrics.height()))
        width = max(metrics.horizontalAdvance(button.text()) + around for button in buttons)
        if self._slim:
            width = max(SLIM, icon + 10)
        style = Qt.ToolButtonStyle
        for button in buttons:
            button.setToolButtonStyle(
                style.ToolButtonIconOnly if self._slim else style.ToolButtonTextUnderIcon
            )
            button.setIconSize(QSize(icon, icon))
            button.setFixedWidth(width)

    def _restyle(self) -> None:
        for page, action in self.actions_.items():
            self._show_icon(page, action.isChecked())
        self._fit()

    def _show_icon(self, page: PageId, chosen: bool) -> None:
        role = "accent" if chosen else "text-muted"
        self.actions_[page].setIcon(theme().icon(_icon_name(page), role, size=round(16 * scale())))


@cache
def _icon_name(page: PageId) -> str:
    """The icon of a page, or the generic one if it has none."""
    name = f"page-{page}"
    return name if f"{name}.svg" in names("icons", ".svg") else "page"


ENOUGH, ENOUGH_IF_CROWDED = 0.6, 0.4
"""The share of the window's width or height that a page may require as its minimum; a larger page is scrolled."""


class _Body(QWidget):
    """Reports the least height. QScrollArea would use the preferred height of a page with wrapped text."""

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self._rows = vbox(page, parent=self)

    def heightForWidth(self, width: int) -> int:
        return self._rows.totalMinimumHeightForWidth(width)


class _Scrolled(QScrollArea):
    """A page as large as its place, scrolled if large text leaves no room for all of it.

    A hidden page needs no room: otherwise the widest one of the stack would narrow the panels beside the shown page.
    """

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setObjectName("centreScroll")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCornerWidget(QWidget(self))  # without one, Fusion draws a box between the scroll bars
        self._page = page
        self.setWidget(_Body(page))

    def minimumSizeHint(self) -> QSize:
        if not self.isVisible():
            return QSize(0, 0)
        window = self.window()
        share = ENOUGH_IF_CROWDED if is_crowded(self) else ENOUGH
        most = QSize(round(window.width() * share), round(window.height() * ENOUGH))
        # a vertical scroll bar must not make a horizontal one necessary
        bar = QSize(self.verticalScrollBar().sizeHint().width(), 0)
        return (self._page.minimumSizeHint() + bar).boundedTo(most)


class Presentation(QObject):
    """Hides `parts` (docks, menu, rail, status bar), and removes the shortcuts of `stop`, as the page uses Esc."""

    def __init__(self, window: QMainWindow, parts: Callable[[], Sequence[QWidget]], stop: QAction) -> None:
        super().__init__(window)
        self._window, self._parts, self._stop = window, parts, stop
        self._hidden: list[QWidget] = []
        self._shortcuts: list[QKeySequence] = []
        self._state = Qt.WindowState.WindowNoState
        self.is_on = False

    def begin(self) -> None:
        if self.is_on:
            return
        self.is_on = True
        self._state = self._window.windowState()
        self._shortcuts = self._stop.shortcuts()
        self._hidden = [part for part in self._parts() if part.isVisible()]
        for part in self._hidden:
            part.hide()
        self._stop.setShortcuts([])
        self._window.setWindowState(self._state | Qt.WindowState.WindowFullScreen)

    def end(self) -> None:
        """Restore the window as it was before."""
        if not self.is_on:
            return
        self.is_on = False
        self._window.setWindowState(self._state)
        for part in self._hidden:
            part.show()
        self._stop.setShortcuts(self._shortcuts)


class Navigation(QObject):
    """The navigator of the pages: their stack, and the rail that chooses one.

    `docks` are the docks of the first page; other pages begin without them, but the user may open them there too.
    `dress` gets the place of a page before it is shown.
    """

    leaving = Signal(object)
    shown = Signal(object)

    def __init__(
        self, window: QMainWindow, docks: Callable[[], list[QDockWidget]], dress: Callable[[QWidget], None]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._docks = docks
        self._dress = dress
        self.stack = QStackedWidget(window)
        self.pages: dict[PageId, Page] = {}
        self._places: dict[PageId, QWidget] = {}
        self._states: dict[PageId, QByteArray] = {}
        self._focus: dict[PageId, QWidget] = {}
        self.current = next(iter(PageId))

    def fill(self, pages: Sequence[Page], presentation: Presentation) -> PageRail:
        """Add the pages, of which the first is shown. Returns the rail that chooses among them."""
        self.pages = {page.id: page for page in pages}
        self._presentation = presentation
        self._places = {page.id: _Scrolled(page.widget) for page in pages}
        for place in self._places.values():
            self.stack.addWidget(place)
        self.rail = PageRail([page for page in pages if page.in_rail], self._window)
        self.rail.chosen.connect(self.show)
        self.rail.show_page(self.current)
        return self.rail

    @property
    def page(self) -> Page:
        """The shown page."""
        return self.pages[self.current]

    @property
    def behind(self) -> list[QWidget]:
        """The places of the pages that are not shown."""
        return [place for page, place in self._places.items() if page != self.current]

    @property
    def is_cut_off(self) -> bool:
        """Whether the shown page is wider than its place."""
        area = self.stack.currentWidget()
        return isinstance(area, QScrollArea) and area.horizontalScrollBar().maximum() > 0

    def first_state(self) -> QByteArray:
        """The arrangement of the docks beside the first page, for the settings."""
        first = next(iter(self.pages))
        return self._window.saveState() if self.current == first else self._states[first]

    def begin_presentation(self) -> None:
        self._presentation.begin()

    def end_presentation(self) -> None:
        self._presentation.end()

    def show(self, page: PageId, place: Place | None = None) -> None:
        """Show a page as it was left, with the keyboard where it was, or at a place on it."""
        if page != self.current:
            self._switch(page)
        self.rail.show_page(page)
        if place is not None:
            self.page.go_to(place)

    def _switch(self, page: PageId) -> None:
        before, window = self.current, self._window
        self.leaving.emit(before)
        focused = window.focusWidget()
        if focused is not None and self.stack.isAncestorOf(focused):
            self._focus[before] = focused
            focused.clearFocus()  # otherwise Qt searches the whole window for the next widget to focus
        self._states[before] = window.saveState()
        painted = window.updatesEnabled()  # not while the theme changes
        window.setUpdatesEnabled(False)
        try:
            if page in self._states:
                window.restoreState(self._states[page])
            else:
                for dock in self._docks():
                    dock.hide()
            self.current = page
            self._dress(self._places[page])
            self.stack.setCurrentWidget(self._places[page])
        finally:
            window.setUpdatesEnabled(painted)
        self.rail.show_page(page)
        had = self._focus.pop(page, None)  # a field in a table may be gone by now
        (had if had is not None and isValid(had) else self.page.widget).setFocus()
        self.shown.emit(page)
