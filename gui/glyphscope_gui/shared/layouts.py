"""Layouts: rows and columns in one expression, a row that wraps, and a splitter with a visible handle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from glyphscope_gui.theme.mixin import WidgetMixin
from glyphscope_gui.theme.sizes import GAP

Box = TypeVar("Box", bound=QBoxLayout)


class _Stretch:
    """The type of `STRETCH`."""


STRETCH = _Stretch()
"""In a row or column: takes the remaining room."""

Part = (
    QWidget | QLayout | int | _Stretch | tuple[QWidget | QLayout, int] | tuple[QWidget, int, Qt.AlignmentFlag]
)
"""A widget or layout, optionally with its share of the room and its alignment; or a gap in pixels."""

Margins = int | tuple[int, int] | tuple[int, int, int, int]
"""One value for all sides; one for left and right and one for top and bottom; or left, top, right, bottom."""


def hbox(
    *parts: Part, parent: QWidget | None = None, margins: Margins | None = 0, spacing: int | None = None
) -> QHBoxLayout:
    """The parts side by side: the layout of `parent`, or one to nest. None leaves a value to the style."""
    return _filled(QHBoxLayout(), parts, parent, margins, spacing)


def vbox(
    *parts: Part, parent: QWidget | None = None, margins: Margins | None = 0, spacing: int | None = None
) -> QVBoxLayout:
    """The parts stacked vertically; otherwise as `hbox`."""
    return _filled(QVBoxLayout(), parts, parent, margins, spacing)


def _filled(
    box: Box, parts: tuple[Part, ...], parent: QWidget | None, margins: Margins | None, spacing: int | None
) -> Box:
    if parent is not None:
        parent.setLayout(box)
    if margins is not None:
        box.setContentsMargins(*_sides(margins))
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        _add(box, part)
    return box


def _sides(margins: Margins) -> tuple[int, int, int, int]:
    match margins:
        case int():
            return margins, margins, margins, margins
        case (beside, above):
            return beside, above, beside, above
        case _:
            return margins


def _add(box: QBoxLayout, part: Part) -> None:
    match part:
        case int():
            box.addSpacing(part)
        case _Stretch():
            box.addStretch(1)
        case QLayout():
            box.addLayout(part)
        case QWidget():
            box.addWidget(part)
        case (QLayout() as layout, stretch):
            box.addLayout(layout, stretch)
        case (QWidget() as widget, stretch):
            box.addWidget(widget, stretch)
        case (QWidget() as widget, stretch, alignment):
            box.addWidget(widget, stretch, alignment)


def grid_layout(
    parent: QWidget | None = None,
    *,
    spacing: tuple[int, int],
    margins: Margins = 0,
    stretch: int | None = None,
) -> QGridLayout:
    """Rows with `spacing` between columns and between rows; the column `stretch` gets the remaining room."""
    made = QGridLayout(parent)
    made.setContentsMargins(*_sides(margins))
    made.setHorizontalSpacing(spacing[0])
    made.setVerticalSpacing(spacing[1])
    if stretch is not None:
        made.setColumnStretch(stretch, 1)
    return made


def holder(layout: QLayout, parent: QWidget | None = None) -> QWidget:
    """A widget that contains only this layout."""
    made = QWidget(parent)
    made.setLayout(layout)
    return made


def stack(*pages: QWidget, parent: QWidget | None = None) -> QStackedWidget:
    """The first page is shown."""
    made = QStackedWidget(parent)
    for page in pages:
        made.addWidget(page)
    return made


def splitter(
    way: Qt.Orientation,
    parts: Iterable[QWidget] = (),
    shares: Iterable[int] = (),
    *,
    of_cards: bool = True,
    parent: QWidget | None = None,
) -> QSplitter:
    """`shares` are the parts' shares of additional room; no part can be collapsed. Cards have a gap between them."""
    made = QSplitter(way, parent, childrenCollapsible=False)
    if of_cards:
        made.setObjectName("centreSplitter")
        made.setHandleWidth(GAP)
    fill_splitter(made, parts, shares)
    return made


def fill_splitter(empty: QSplitter, parts: Iterable[QWidget], shares: Iterable[int]) -> None:
    """Put the parts into a splitter that is already in place, as moving it would make Qt restyle its contents."""
    for index, (part, share) in enumerate(zip(parts, shares, strict=True)):
        empty.addWidget(part)
        empty.setStretchFactor(index, share)


class ScrollArea(QScrollArea):
    """Has no frame and scrolls only vertically; Tab skips it and stops at the widgets inside."""

    def __init__(self, inside: QWidget | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if inside is not None:
            self.setWidget(inside)


def visible_height(widget: QWidget) -> int:
    """The visible height of a widget in pixels: limited to its scroll area's height if it is in one."""
    around = widget.parentWidget()
    while around is not None and not isinstance(around, QScrollArea):
        around = around.parentWidget()
    return widget.height() if around is None else min(widget.height(), around.viewport().height())


def replace_content(area: QScrollArea, content: QWidget) -> None:
    """Show another widget in the area, on the surrounding background, and delete the previous one."""
    old = area.takeWidget()
    if old is not None:
        old.deleteLater()
    area.setWidget(content)
    for ground in (content, area.viewport()):
        ground.setAutoFillBackground(False)


BESIDE = 54
"""Characters of width from which two columns of words have room beside each other."""


def turn_if_narrow(row: QBoxLayout, widget: QWidget) -> None:
    """Put the parts of a row below each other while the widget has too little width for columns."""
    direction = QBoxLayout.Direction
    narrow = widget.width() < BESIDE * widget.fontMetrics().averageCharWidth()
    row.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)


class FollowsSize(WidgetMixin):
    """A mixin for a widget that arranges its content in `_fit`, which is called after each change of its size.

    An exception in it is reported at once. Left to PySide, it stays pending while Qt lays out other widgets: their
    methods are then not called, and freed while they are in use, which crashed (PySide6 6.11.3).
    """

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        try:
            self._fit()
        except Exception:
            sys.excepthook(*sys.exc_info())

    def _fit(self) -> None:
        raise NotImplementedError


class LeavesWheel(WidgetMixin):
    """A mixin for a widget: the mouse wheel scrolls the surroundings and does not change the widget's value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


W = TypeVar("W", bound=QWidget)


class Late(Generic[W]):
    """A widget that is made on first use, such as a popup: when `widget` is first read, which calls `make`."""

    def __init__(self, make: Callable[[], W]) -> None:
        self._make = make
        self._widget: W | None = None

    @property
    def is_made(self) -> bool:
        return self._widget is not None

    @property
    def widget(self) -> W:
        """The widget, made now if it was not."""
        if self._widget is None:
            self._widget = self._make()
        return self._widget


class LateWidget(Late[W], QWidget):
    """The place of a late widget in a layout: empty, and `height` pixels high, until it is made, which `made` announces
    with the widget; `when_seen`, it is also made when its place is first shown.
    """

    made = Signal(object)

    def __init__(self, make: Callable[[], W], height: int = 0, *, when_seen: bool = False) -> None:
        QWidget.__init__(self)
        Late.__init__(self, lambda: self._placed(make()))
        self._when_seen = when_seen
        self._rows = vbox(parent=self)
        self.setMinimumHeight(height)

    def _placed(self, made: W) -> W:
        self._rows.addWidget(place := self._around(made))
        place.show()  # now, as Qt would show it later
        self.setMinimumHeight(0)
        self.made.emit(made)
        return made

    def _around(self, made: W) -> QWidget:
        """The widget in the layout: the one that was made, or one around it."""
        return made

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._when_seen:
            _ = self.widget


class FilledWhenSeen(WidgetMixin):
    """A mixin for a widget that `_fill`s itself with its newest values only while it is visible."""

    is_filled = True

    def fill(self) -> None:
        """Show the newest values, as soon as the widget is visible."""
        self.is_filled = self.isVisible()
        if self.is_filled:
            self._fill()

    def _fill(self) -> None:
        raise NotImplementedError

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.is_filled:
            self.fill()


class Flow(FollowsSize, QWidget):
    """A row that wraps: its height depends on its width."""

    def __init__(self, parent: QWidget | None = None, gap: int = 12, line_gap: int = 4) -> None:
        super().__init__(parent)
        self._items: list[QWidget] = []
        self._gap, self._line_gap = gap, line_gap
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def add(self, widget: QWidget, before: QWidget | None = None) -> None:
        widget.setParent(self)
        self._items.insert(len(self._items) if before is None else self._items.index(before), widget)
        self._fit()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # an item has another size, as with larger text
            self._fit()
        return super().event(event)

    def take(self, widget: QWidget) -> None:
        """Remove a widget."""
        self._items.remove(widget)
        widget.hide()
        widget.deleteLater()
        self._fit()

    def _fit(self) -> None:
        self.setMinimumWidth(max((item.sizeHint().width() for item in self._items), default=0))
        self.setFixedHeight(max(self._arrange(self.width()), 1))

    def _arrange(self, width: int) -> int:
        """Place the items; returns the height."""
        x = y = line = 0
        for item in self._items:
            size = item.sizeHint()
            if x and x + size.width() > width:
                x, y, line = 0, y + line + self._line_gap, 0
            item.setGeometry(x, y, size.width(), size.height())
            x += size.width() + self._gap
            line = max(line, size.height())
        return y + line
