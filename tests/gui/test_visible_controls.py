"""How many controls a user sees at once, counted in the real window."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QMenuBar, QScrollBar, QTabBar, QWidget

from every_page import in_sight
from fake_context import scripted
from glyphscope_gui.shared import ResetButton
from glyphscope_gui.shared.page_ids import PageId
from on_screen import FIELDS, name_of

pytestmark = pytest.mark.slow


def controls(window, part):
    """The names of the visible controls in a part of the window, without the items of tables and trees."""
    found = []
    for widget in in_sight(window):
        if not (part is widget or part.isAncestorOf(widget)) or isinstance(widget, QMenuBar):
            continue
        inside = isinstance(widget.parentWidget(), FIELDS | QAbstractItemView)
        if inside or isinstance(widget, ResetButton | QScrollBar):
            continue
        if isinstance(widget, FIELDS | QAbstractButton | QAbstractItemView):
            found.append(name_of(widget))
        elif isinstance(widget, QTabBar):
            found += [widget.tabText(place) for place in range(widget.count())]
    return found


def test_the_top_bar_has_eleven_controls(open_window):
    window = open_window(scripted)
    found = controls(window, window.header)
    assert len(found) == 11, found  # model, three notations, three constraints, options, Step, Stop, Run


def test_the_empty_playground_has_at_most_20(open_window, qtbot):
    """Without the rail of pages and the menus."""
    window = open_window(scripted)
    found = [name for part in window.children() if isinstance(part, QWidget) and part is not window.rail
             for name in controls(window, part)]  # fmt: skip
    assert 15 < len(found) <= 20, found


def test_the_set_up_of_an_evaluation_has_at_most_24(open_window, qtbot):
    window = open_window(scripted)
    page = window.page(PageId.EVALUATE)
    window.navigator.show(PageId.EVALUATE)
    qtbot.waitUntil(lambda: page._is_made and not page.is_busy)
    qtbot.waitUntil(lambda: page.view.models_model.ticked != ())
    found = controls(window, page.widget) + controls(window, window.header)
    assert 15 < len(found) <= 24, found
    page.view.setup.more.click()
    assert len(controls(window, page.widget)) > 40, "nothing is lost: More settings shows all"
