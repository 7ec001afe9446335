"""Changes the palette, the style sheet and the text size: of all visible widgets first, then of the rest in slices.

By itself, Qt restyles every widget at once, which takes half a second, though nine in ten are on hidden pages. So Qt is
made to skip all of them while the sheet changes, and each is restyled here: `QStyle.polish` applies the rules of the
sheet in use, and completes the font by that of the widget's parent, which is therefore restyled before.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QFont, QGuiApplication, QPalette, QRegion
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from glyphscope_gui.slices import Slices, Steps
from glyphscope_gui.theme.fonts import explicit_font, set_font

_POLISHED = Qt.WidgetAttribute.WA_WState_Polished
_EXPLICIT = Qt.WidgetAttribute.WA_WState_ExplicitShowHide
_UNPAINTED = Qt.WidgetAttribute.WA_ForceUpdatesDisabled
_MOST_LAYOUTS = 4
"""How often each layout is computed again, at most, if the others change its size: the rest is left to Qt."""
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
        for child in _children(widget):
            (hidden if child.isHidden() and child.testAttribute(_EXPLICIT) else shown).append(child)
    return shown, hidden


class Dressing(QObject):
    """Restyles the application's widgets; a hidden one is restyled at the latest when it is shown."""

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._slices = Slices(self)
        self._waiting: dict[QWidget, bool] = {}
        """Widgets that still have the previous look, and whether that includes the font."""
        self._polished: dict[QWidget, None] = {}
        """Widgets with the new look that have had no event of it: it follows once those in them have it too."""
        self._other_fonts = False
        """Whether the fonts have changed since the waiting widgets were listed."""
        self._layouts: dict[QObject, int] | None = None
        """Widgets whose layouts wait until all visible widgets have the new look; None if layouts do not wait."""
        self._arranged: QObject | None = None
        """The widget whose layout is computed now."""
        self._undressed: set[QWidget] = set()
        """Hidden parts of a window whose widgets have had no sheet yet."""
        self._keeper = QWidget()
        """Always has a sheet: without any, Qt would forget the colours and fonts that the sheets replaced."""
        self._keeper.setStyleSheet("QWidget {}")

    @property
    def is_busy(self) -> bool:
        return self._slices.is_busy

    def change(
        self, palette: QPalette, sheet: str, shown: Callable[[], None], font: QFont | None = None
    ) -> None:
        """Use them from now on; without a font, only colours change. `shown` is called before the visible widgets are
        painted with them.
        """
        if font is not None:
            QGuiApplication.setFont(font)  # `QApplication.setFont` would resolve the fonts of all widgets
            self._other_fonts = True
        self._slices.start(self._change(palette, sheet, shown))

    def change_at_once(self, palette: QPalette, sheet: str) -> None:
        """Leave it to Qt, which takes no longer while there are few widgets."""
        if sheet == self._app.styleSheet():  # of another window
            return
        self._slices.stop()
        self._waiting, self._polished = {}, {}
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
        """Restyle a part that is about to be shown, if it waits or was hidden all the time, as Qt would have done.

        What stays hidden in it, such as tabs that are not chosen, is restyled when it is first shown.
        """
        if part not in self._undressed:
            if self.is_busy:
                shown = _parts(part)[0]
                for dress in (self._dress, self._announce):
                    for widget in shown:
                        dress(widget)
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

    def finish_change(self) -> None:
        """Restyle all waiting widgets now, but not the hidden parts that have had no sheet yet."""
        self._slices.finish()

    def finish(self) -> None:
        """Restyle all widgets now."""
        self.finish_change()
        while self._undressed:
            self.dress(next(iter(self._undressed)))

    def _forget(self, part: QWidget) -> None:
        self._undressed.remove(part)
        if isValid(part):
            part.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """While widgets wait, filter all events of the application, and always those of hidden parts."""
        kind = event.type()
        if kind == QEvent.Type.Show:
            if watched in self._waiting or watched in self._polished:
                self._dress(watched)
                self._announce(watched)
            elif watched in self._undressed:
                self.dress(watched)
        elif (
            kind == QEvent.Type.LayoutRequest and self._layouts is not None and watched is not self._arranged
        ):
            self._layouts[watched] = _depth(watched)
            return True
        return False

    def _change(self, palette: QPalette, sheet: str, shown: Callable[[], None]) -> Steps:
        try:
            with self._unpainted() as windows:
                yield from self._begin(palette, sheet)
                self._app.installEventFilter(self)
                with self._layouts_later() as layouts:
                    visible = [each for each in self._waiting if isValid(each) and each.isVisible()]
                    for dress in (self._dress, self._announce):
                        for widget in visible:
                            dress(widget)
                            yield
                    shown()
                    yield
                    yield from self._arrange(layouts)
                yield from self._paint(windows)
            while self._waiting:
                yield
                self._dress(next(iter(self._waiting)))
            while self._polished:
                yield
                self._announce(next(iter(self._polished)))
        finally:
            if isValid(self):  # otherwise Qt has removed it
                self._app.removeEventFilter(self)

    def _begin(self, palette: QPalette, sheet: str) -> Steps:
        """Exchange palette and sheet: all widgets wait, first those in windows that are shown on demand, such as menus,
        as their size is computed before they are shown.
        """
        widgets = self._app.allWidgets()
        yield
        polished = dict.fromkeys((yield from self._exchange(widgets, palette, sheet)))
        before, fonts = self._waiting, self._other_fonts
        self._other_fonts, self._polished = False, {}
        hidden = [each for each in self._app.topLevelWidgets() if not each.isVisible()]
        first = [widget for window in hidden for widget in _within(window) if widget in polished]
        self._waiting = {widget: fonts or before.get(widget, False) for widget in (*first, *polished)}
        for widget in filter(isValid, widgets):
            if (fonts or before.get(widget)) and _keeps_font(widget):
                self._waiting[widget] = True
        for part in list(self._undressed):
            self._forget(part)

    @contextmanager
    def _layouts_later(self) -> Iterator[dict[QObject, int]]:
        """Keep the requests of layouts for later, as each widget with another font would arrange the whole window
        again. Contains the widgets whose layouts wait, with their depth.
        """
        self._layouts = layouts = dict[QObject, int]()
        try:
            yield layouts
        finally:
            self._layouts = None
            for widget in filter(isValid, layouts):
                QCoreApplication.postEvent(widget, QEvent(QEvent.Type.LayoutRequest))

    def _arrange(self, layouts: dict[QObject, int]) -> Steps:
        """Compute the layouts that wait, the innermost first, on whose sizes the others depend."""
        for _ in range(_MOST_LAYOUTS * len(layouts)):
            if not layouts:
                return
            widget = max(layouts, key=layouts.__getitem__)
            del layouts[widget]
            if isValid(widget):
                self._arranged = widget
                try:
                    QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.LayoutRequest))
                finally:
                    self._arranged = None
                yield

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
            self._slices.end_slice()
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
        self._slices.end_slice()
        yield
        return polished

    @contextmanager
    def _unpainted(self) -> Iterator[dict[QWidget, list[QWidget]]]:
        """Keep the picture of the windows meanwhile. Contains the windows, each with its parts, the largest first."""
        windows = {
            window: sorted(filter(_is_part, _children(window)), key=_area, reverse=True)
            for window in self._app.topLevelWidgets()
            if _is_painted(window)
        }
        widgets = [*(part for parts in windows.values() for part in parts), *windows]
        for widget in widgets:
            widget.setUpdatesEnabled(False)
        try:
            yield windows
        finally:
            for widget in filter(isValid, widgets):
                if widget.testAttribute(_UNPAINTED):
                    widget.setUpdatesEnabled(True)

    def _paint(self, windows: dict[QWidget, list[QWidget]]) -> Steps:
        """Paint the windows again part by part: enabling the updates of a window would paint all of it in one piece.

        Each time, the window system is asked as well: Qt asks it only once, and that was in vain while there were no
        updates. A window behind a dialog then kept its old picture until the dialog was closed.
        """
        for window, parts in windows.items():
            if not isValid(window):
                continue
            window.setAttribute(_UNPAINTED, False)
            window.setAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled, False)
            beside = QRegion(window.rect())
            for part in filter(isValid, parts):
                beside -= QRegion(part.geometry())
                part.setUpdatesEnabled(True)
                if (handle := window.windowHandle()) is not None:
                    handle.requestUpdate()
                self._slices.end_slice()
                yield
                if not isValid(window):
                    break
            else:
                window.update(beside)

    def _dress(self, widget: QWidget) -> None:
        """Restyle a waiting widget, after the waiting ones around it."""
        around = [widget] if widget in self._waiting else []
        while isValid(widget) and (parent := widget.parentWidget()) is not None:
            widget = parent
            if widget in self._waiting:
                around.append(widget)
        for each in reversed(around):
            fonts = self._waiting.pop(each, None)
            if fonts is not None and isValid(each):
                self._polished[each] = None
                with no_collection():
                    _restyle(each, fonts=fonts)

    def _announce(self, widget: QWidget) -> None:
        """Send a restyled widget the event of its new look."""
        if self._polished.pop(widget, self) is None and isValid(widget):
            with no_collection():
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


def _children(part: QWidget) -> list[QWidget]:
    return part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)


def _is_painted(part: QWidget) -> bool:
    return part.isVisible() and part.updatesEnabled()


def _is_part(child: QWidget) -> bool:
    """Whether it is painted within its parent."""
    return _is_painted(child) and not child.isWindow()


def _area(part: QWidget) -> int:
    return part.width() * part.height()


def _depth(part: QObject) -> int:
    """The number of objects around it."""
    depth = 0
    while (around := part.parent()) is not None:
        part, depth = around, depth + 1
    return depth


def _keeps_font(widget: QWidget) -> bool:
    """Whether it was not shown yet, and would keep its font when it is: others have the font of their parent then."""
    return not widget.testAttribute(_POLISHED) and (widget.isWindow() or explicit_font(widget) is not None)


def _restyle(widget: QWidget, *, fonts: bool) -> None:
    if fonts:
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.ApplicationFontChange))
        if (font := explicit_font(widget)) is not None:
            set_font(widget, font)
    if widget.testAttribute(_POLISHED):
        widget.style().polish(widget)
