"""Which page the window shows. Every page has its own docks: what is open beside one is not in the way of another."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QScrollArea, QStackedWidget, QWidget
from shiboken6 import isValid

from glyphscope_gui.shell.page_rail import PageRail
from glyphscope_gui.theme.sizes import is_crowded

ENOUGH, ENOUGH_IF_CROWDED = 0.6, 0.4
"""Of the window's width, and of its height, what a page may insist on; what needs more is scrolled."""


class _Scrolled(QScrollArea):
    """A page as large as its place; where large letters leave no room for all of it, it scrolls."""

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setObjectName("centreScroll")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCornerWidget(QWidget(self))  # without one, Fusion draws a box between the scroll bars
        self.setWidget(page)

    def minimumSizeHint(self) -> QSize:
        window = self.window()
        share = ENOUGH_IF_CROWDED if is_crowded(self) else ENOUGH
        most = QSize(round(window.width() * share), round(window.height() * ENOUGH))
        return self.widget().minimumSizeHint().boundedTo(most)


class Pages(QObject):
    """`leaving` carries the name of the page that is still shown, as it will be shown again; `shown` that of the next.

    `docks` are those of the first page, which the others begin without: the user may open any of them there too.
    """

    leaving = Signal(str)
    shown = Signal(str)

    def __init__(self, window: QMainWindow, rail: PageRail, docks: Callable[[], list[QDockWidget]]) -> None:
        super().__init__(window)
        self._window = window
        self._rail = rail
        self._docks = docks
        self.stack = QStackedWidget(window)
        self._names: list[str] = []
        self._pages: list[QWidget] = []
        self._states: dict[str, QByteArray] = {}
        self._focus: dict[str, QWidget] = {}
        rail.chosen.connect(self.show)

    @property
    def current(self) -> str:
        return self._names[self.stack.currentIndex()]

    def add(self, name: str, page: QWidget) -> None:
        self._names.append(name)
        self._pages.append(page)
        self.stack.addWidget(_Scrolled(page))
        if len(self._names) == 1:
            self._rail.show_page(name)

    def first_state(self) -> QByteArray:
        """How the docks stand beside the first page: what the settings keep."""
        first = self._names[0]
        return self._window.saveState() if self.current == first else self._states[first]

    def show(self, name: str) -> None:
        """Show a page as it was left, with the keyboard where it was."""
        before = self.current
        if name == before:
            self._rail.show_page(name)
            return
        self.leaving.emit(before)
        window = self._window
        focused = window.focusWidget()
        if focused is not None and self.stack.isAncestorOf(focused):
            self._focus[before] = focused
        self._states[before] = window.saveState()
        window.setUpdatesEnabled(False)
        try:
            if name in self._states:
                window.restoreState(self._states[name])
            else:
                for dock in self._docks():
                    dock.hide()
            self.stack.setCurrentIndex(self._names.index(name))
        finally:
            window.setUpdatesEnabled(True)
        self._rail.show_page(name)
        had = self._focus.pop(name, None)  # a field in a table may be gone by now
        (had if had is not None and isValid(had) else self._pages[self.stack.currentIndex()]).setFocus()
        self.shown.emit(name)
