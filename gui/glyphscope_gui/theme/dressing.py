"""Changes the palette and the style sheet: of all visible widgets at once, then of the rest in slices.

By itself, Qt restyles every widget at once, which takes half a second, though nine in ten are on hidden pages. So Qt is
made to skip all of them while the sheet changes, and each is restyled here: `QStyle.polish` applies the rules of the
sheet in use.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from glyphscope_gui.slices import Slices, Steps

_POLISHED = Qt.WidgetAttribute.WA_WState_Polished
_EXPLICIT = Qt.WidgetAttribute.WA_WState_ExplicitShowHide
_OWN_STYLE = Qt.WidgetAttribute.WA_SetStyle


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend Python's cycle collector while Qt iterates over all its widgets.

    Qt iterates over a plain list and calls each widget, which may run Python; if the collector then deletes another
    widget of that list, Qt's next step reads freed memory.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def update_sizes(part: QWidget) -> None:
    """Let the layouts ask for all sizes again, as some were computed without the style sheet."""
    for widget in _within(part):
        widget.updateGeometry()


def _within(part: QWidget) -> list[QWidget]:
    return [part, *part.findChildren(QWidget)]


def _parts(part: QWidget) -> tuple[list[QWidget], list[QWidget]]:
    """The widgets that become visible with this part, itself included; and those in it that are hidden until someone
    shows them, without what is in them.
    """
    shown, hidden = [part], list[QWidget]()
    for widget in shown:
        for child in widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            (hidden if child.isHidden() and child.testAttribute(_EXPLICIT) else shown).append(child)
    return shown, hidden


class Dressing(QObject):
    """Restyles the application's widgets; a hidden one is restyled at the latest when it is shown."""

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._slices = Slices(self)
        self._waiting: dict[QWidget, None] = {}
        """Widgets that still have the previous look."""
        self._undressed: set[QWidget] = set()
        """Hidden parts of a window whose widgets have had no sheet yet."""
        self._keeper = QWidget()
        """Always has a sheet: without any, Qt would forget the colours and fonts that the sheets replaced."""
        self._keeper.setStyleSheet("QWidget {}")

    @property
    def is_busy(self) -> bool:
        return self._slices.is_busy

    def change(self, palette: QPalette, sheet: str, shown: Callable[[], None]) -> None:
        """Use both from now on. `shown` is called before the visible widgets are painted with them."""
        self._slices.start(self._change(palette, sheet, shown))

    def change_at_once(self, palette: QPalette, sheet: str) -> None:
        """Leave it to Qt: another text size changes fonts that only Qt resolves, through every widget's parents."""
        if sheet == self._app.styleSheet():  # of another window
            return
        self._slices.stop()
        self._waiting = {}
        with no_collection():
            self._app.setStyleSheet("")
            self._app.setPalette(palette)
            self._app.setStyleSheet(sheet)

    def put_on(self, sheet: str, hidden: Iterable[QWidget]) -> None:
        """Use the sheet where there is none, but in the `hidden` parts of a window only once `dress` is called."""
        self._undressed = {*filter(isValid, self._undressed), *hidden}
        within = [widget for part in self._undressed for widget in _within(part)]
        deque(self._exchange(within, self._app.palette(), sheet), maxlen=0)

    def dress(self, part: QWidget) -> None:
        """Restyle a part that is about to be shown, if it was hidden all the time, as Qt would have done.

        What stays hidden in it, such as tabs that are not chosen, is restyled when it is first shown.
        """
        if part not in self._undressed:
            return
        self._forget(part)
        if not isValid(part):
            return
        shown, hidden = _parts(part)
        self._undressed.update(hidden)
        for widget in hidden:
            widget.installEventFilter(self)
        with no_collection():
            for widget in shown:
                if widget.testAttribute(_POLISHED):
                    widget.style().polish(widget)
            for widget in shown:
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
        for widget in shown:
            widget.updateGeometry()

    def finish(self) -> None:
        """Restyle all waiting widgets now."""
        self._slices.finish()
        while self._undressed:
            self.dress(next(iter(self._undressed)))

    def _forget(self, part: QWidget) -> None:
        self._undressed.remove(part)
        if isValid(part):
            part.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """While widgets wait, filter all events of the application, and always those of hidden parts."""
        if event.type() == QEvent.Type.Show:
            if watched in self._waiting:
                self._dress(watched)
            elif watched in self._undressed:
                self.dress(watched)
        return False

    def _change(self, palette: QPalette, sheet: str, shown: Callable[[], None]) -> Steps:
        with self._unpainted():
            self._waiting = dict.fromkeys((yield from self._exchange(self._app.allWidgets(), palette, sheet)))
            for part in list(self._undressed):
                self._forget(part)
            for widget in list(self._waiting):
                if isValid(widget) and widget.isVisible():
                    self._dress(widget)
                    yield
            shown()
        self._app.installEventFilter(self)
        try:
            while self._waiting:
                yield
                self._dress(next(iter(self._waiting)))
        finally:
            if isValid(self):  # otherwise Qt has removed it
                self._app.removeEventFilter(self)

    def _exchange(
        self, widgets: Iterable[QWidget], palette: QPalette, sheet: str
    ) -> Generator[None, None, list[QWidget]]:
        """Exchange palette and sheet without changing these widgets; returns those that are to be restyled."""
        polished: list[QWidget] = []
        without_style: list[QWidget] = []
        try:
            for widget in filter(isValid, widgets):
                if widget.testAttribute(_POLISHED):
                    widget.setAttribute(_POLISHED, False)
                    polished.append(widget)
                if not widget.testAttribute(_OWN_STYLE):
                    widget.setAttribute(_OWN_STYLE, True)
                    without_style.append(widget)
                yield
            with no_collection():
                self._app.setStyleSheet("")  # from one sheet to another, Qt restyles all widgets
                self._app.setPalette(palette)
                self._app.setStyleSheet(sheet)
        finally:
            for widget in filter(isValid, polished):
                widget.setAttribute(_POLISHED, True)
            for widget in filter(isValid, without_style):
                widget.setAttribute(_OWN_STYLE, False)
        return polished

    @contextmanager
    def _unpainted(self) -> Iterator[None]:
        """Keep the picture of the windows meanwhile."""
        windows = [each for each in self._app.topLevelWidgets() if each.isVisible() and each.updatesEnabled()]
        for window in windows:
            window.setUpdatesEnabled(False)
        try:
            yield
        finally:
            for window in filter(isValid, windows):
                window.setUpdatesEnabled(True)

    def _dress(self, widget: QWidget) -> None:
        del self._waiting[widget]
        if isValid(widget):
            with no_collection():
                widget.style().polish(widget)
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
