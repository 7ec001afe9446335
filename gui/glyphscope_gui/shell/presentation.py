"""Full screen with the page alone, for lecture mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QWidget


class Presentation(QObject):
    """Hides `parts` (docks, menu, rail, status bar), and takes away the shortcuts of `stop`: Esc is the page's."""

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
