"""Movable docks, without a title bar if a tab already names them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from glyphscope_gui.shared.labels import PlainLabel


class _NoTitle(QWidget):
    """A title bar of size 0; the size hint of a bare QWidget is negative."""

    def sizeHint(self) -> QSize:
        return QSize(0, 0)

    minimumSizeHint = sizeHint


class DockFrame(QDockWidget):
    """A page in a dock. Its title is shown only if no tab shows it: alone at a side, or floating."""

    def __init__(
        self, name: str, title: str, page: QWidget, window: QMainWindow, *, titled: bool = True
    ) -> None:
        super().__init__(title, window)
        self.setObjectName(name)
        self.setAllowedAreas(Qt.DockWidgetArea.LeftDockWidgetArea | Qt.DockWidgetArea.RightDockWidgetArea)
        self._titled = titled
        self._bar = PlainLabel(title, self, role="title")
        self._bar.setContentsMargins(14, 8, 14, 8)
        self._bar.hide()
        self._none = _NoTitle(self)
        self.setTitleBarWidget(self._none)
        self.setWidget(page)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._fit_title)
        self.dockLocationChanged.connect(self._moved)
        self.topLevelChanged.connect(self._moved)
        self.visibilityChanged.connect(self._moved)

    def _moved(self, _where: object) -> None:
        """The neighbours are known only after the move."""
        self._later.start()

    def _fit_title(self) -> None:
        window = self.parentWidget()
        alone = isinstance(window, QMainWindow) and not window.tabifiedDockWidgets(self)
        if self.isFloating():
            bar: QWidget | None = None
        else:
            bar = self._bar if alone and self._titled else self._none
        if self.titleBarWidget() is not bar:
            self._bar.setVisible(bar is self._bar)
            self.setTitleBarWidget(bar)  # type: ignore[arg-type] # None is Qt's own bar; the stubs lack it
