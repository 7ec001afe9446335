"""The order of Tab: the reading order of a page, regardless of when its parts were made.

Qt's default is the order of construction, in which a form that is made when a tool is chosen would be last, and docks
hidden behind others would be included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QGridLayout,
    QLayout,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QWidget,
)


def focus_next(parts: Iterable[QWidget], now: QWidget | None, *, forward: bool) -> bool:
    """Focus the widget after or before `now`, through all parts in order, and wrap around.

    A `now` that was just hidden or disabled keeps its place in the order, so that the focus moves to its neighbour.
    False if `now` is in none of the parts.
    """
    order = [widget for part in parts for widget in stops(part, now)]
    if now is None or now not in order:
        return False
    chosen = order[(order.index(now) + (1 if forward else -1)) % len(order)]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    chosen.setFocus(reason)
    area = chosen.parentWidget()
    while area is not None:
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(chosen)
        area = area.parentWidget()
    return True


def stops(top: QWidget, also: QWidget | None = None) -> Iterator[QWidget]:
    """Return the visible widgets below `top`, itself included, at which Tab can stop, in layout order.

    It does not stop at a list without rows, where the keyboard would do nothing and would not be seen. `also` is
    included even if it is hidden, disabled or without rows.
    """
    if not _is_passed(top, also, top.isEnabled()):
        return
    takes_tab = bool(top.focusPolicy() & Qt.FocusPolicy.TabFocus) and top.focusProxy() is None
    if top is also or (takes_tab and top.isEnabled() and not _is_empty(top)):
        yield top
    for child in _children(top, also):
        yield from stops(child, also)


def _is_empty(widget: QWidget) -> bool:
    if not isinstance(widget, QAbstractItemView):
        return False
    model = widget.model()
    return model is None or model.rowCount(widget.rootIndex()) == 0


def _is_passed(widget: QWidget, also: QWidget | None, usable: bool) -> bool:
    """Whether the order includes the widget: an unusable one only if it is or contains `also`."""
    return usable or (also is not None and (widget is also or widget.isAncestorOf(also)))


def _children(parent: QWidget, also: QWidget | None) -> list[QWidget]:
    """Return the visible children: first those in the layout, in its order, then the others from top to bottom."""
    found: list[QWidget] = []
    if isinstance(parent, QSplitter):
        panes = (parent.widget(index) for index in range(parent.count()))
        found = [pane for pane in panes if pane is not None]
    elif isinstance(parent, QTabWidget):
        found = [parent.tabBar()]
    elif (layout := parent.layout()) is not None:
        found = list(_laid_out(layout))
    known = set(found)
    others = [child for child in parent.children() if isinstance(child, QWidget) and child not in known]
    found, others = (
        [child for child in children if _is_passed(child, also, child.isVisible()) and not child.isWindow()]
        for children in (found, others)
    )
    return found + sorted(others, key=lambda child: (child.y(), child.x()))


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    places = list(range(layout.count()))
    if isinstance(layout, QGridLayout):
        places.sort(key=lambda place: _grid_place(layout, place))
    elif isinstance(layout, QFormLayout):
        places.sort(key=lambda place: _form_place(layout, place))
    for place in places:
        item = layout.itemAt(place)
        if item is None:
            continue
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield widget
        elif inner is not None:
            yield from _laid_out(inner)


def _grid_place(layout: QGridLayout, index: int) -> tuple[int, int]:
    position: Any = layout.getItemPosition(index)
    row, column, _rows, _columns = position
    return row, column


def _form_place(layout: QFormLayout, index: int) -> tuple[int, int]:
    position: Any = layout.getItemPosition(index)
    row, role = position
    return row, role.value
