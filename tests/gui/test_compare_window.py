"""The compare page in the whole window: keys, the status line, the playground beside it, and small windows."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from comparing import GLYPH_OFF, JSON_OFF, NATIVE_OFF, Answers, arrange, opens, pills, run_all
from glyphscope_gui.compare import MIN_WIDTH
from glyphscope_gui.shared.page_ids import PageId

pytestmark = pytest.mark.slow


@pytest.fixture
def make_window(open_window):
    """A whole window that shows its compare page."""

    def build(model=None, **looks):
        window = open_window(opens(Answers() if model is None else model), **looks)
        window.context.project.set_options(constraint="off")
        window.navigator.show(PageId.COMPARE)
        return window

    return build


def test_the_page_has_a_key_of_its_own(make_window, qtbot):
    window = make_window()
    keys = {name: action.shortcut().toString() for name, action in window.rail.actions_.items()}
    assert keys[PageId.COMPARE] == "Ctrl+5" and len(set(keys.values())) == len(keys)
    window.navigator.show(PageId.PLAYGROUND)
    qtbot.keyClick(window, Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)
    assert window.navigator.current is PageId.COMPARE
    assert window.focusWidget() is window.page(PageId.COMPARE).view.prompt_edit


def test_escape_ends_all_columns_and_keeps_their_results(make_window, qtbot):
    model = Answers(gated=True)
    window = make_window(model)
    page = window.page(PageId.COMPARE)
    arrange(page, GLYPH_OFF, JSON_OFF, JSON_OFF)
    view = page.view
    view.run_button.click()
    qtbot.waitUntil(lambda: "AI" in view.columns[0].stream.toPlainText())
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    model.gate.set()
    qtbot.waitUntil(lambda: not page.comparison.is_running)
    assert len(model.asked) == 1
    assert pills(page) == ["stopped", "not run", "not run"]
    assert view.columns[0].stream.toPlainText().startswith('{action="search"')
    assert view.run_button.isEnabled() and not view.stop_button.isEnabled()
    run_all(qtbot, page)
    assert pills(page) == ["✓ valid"] * 3, "and it cannot be run again"


def test_the_status_line_says_which_column_runs(make_window, qtbot):
    model = Answers(gated=True)
    window = make_window(model)
    page = window.page(PageId.COMPARE)
    page.view.run_button.click()
    qtbot.waitUntil(lambda: bool(page.view.columns[0].stream.toPlainText()))
    assert window.status.message.text() == "Comparing 1 of 2"
    page.comparison.stop()
    model.gate.set()
    qtbot.waitUntil(lambda: not page.comparison.is_running)


def test_the_run_keys_start_the_columns_where_they_are_in_sight(make_window, qtbot):
    window = make_window()
    page = window.page(PageId.COMPARE)
    began = []
    window.runs.began.connect(began.append)
    with qtbot.waitSignal(page.comparison.runningChanged, check_params_cb=lambda on: not on):
        qtbot.keyClick(page.view.prompt_edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert pills(page) == ["✓ valid", "✓ valid"]
    assert not began


def test_four_columns_scroll_in_the_smallest_window(make_window, qtbot):
    window = make_window(size=(1024, 700))
    page = window.page(PageId.COMPARE)
    arrange(page, GLYPH_OFF, JSON_OFF, NATIVE_OFF, GLYPH_OFF)
    qtbot.wait(20)
    view = page.view
    assert window.width() == 1024 and window.height() == 700
    assert all(column.width() >= MIN_WIDTH for column in view.columns)
    assert view.columns_area.horizontalScrollBar().maximum() > 0
    run_all(qtbot, page)
    bar = view.columns_area.horizontalScrollBar()
    assert bar.value() == bar.maximum(), "the column that runs is in sight"


def test_three_columns_fit_the_smallest_window(make_window, qtbot):
    page = make_window(size=(1024, 700)).page(PageId.COMPARE)
    arrange(page, GLYPH_OFF, JSON_OFF, NATIVE_OFF)
    run_all(qtbot, page)
    qtbot.wait(20)
    assert page.view.columns_area.horizontalScrollBar().maximum() == 0
    assert page.view.columns_area.verticalScrollBar().maximum() == 0
