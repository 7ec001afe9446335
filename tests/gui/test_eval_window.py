"""The evaluate page in the whole window: links to the playground, small windows, keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from evaluating import ended, good, open_it, open_wrong_run
from glyphscope_gui.evaluate import RESULT, SETUP
from glyphscope_gui.shared.page_ids import PageId
from made_results import TOO_MANY, made_result, recorded_result

pytestmark = pytest.mark.slow


@pytest.fixture
def opened_window(open_window, qtbot):
    """Make the whole window with this page shown and all its initial data read."""

    def build(**options):
        window = open_window(good, **options)
        window.navigator.show(PageId.EVALUATE)
        ended(qtbot, window.page(PageId.EVALUATE))
        return window

    return build


def test_a_run_opens_at_the_token_that_decided_it(opened_window, qtbot, tmp_path):
    window = opened_window()
    result = open_it(qtbot, window.page(PageId.EVALUATE), recorded_result(tmp_path))
    open_wrong_run(qtbot, result)
    qtbot.waitUntil(lambda: window.navigator.current is PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: window.runs.state.text.startswith(TOO_MANY[:40]) and not window.runs.is_busy)
    aborted = window.runs.state.aborted
    tokens = window.page(PageId.PLAYGROUND).view.tokens
    qtbot.waitUntil(lambda: tokens.currentIndex().row() == aborted.token)
    assert tokens.hasFocus()


def test_a_run_in_a_segment_opens_in_the_playground(opened_window, qtbot, tmp_path):
    window = opened_window()
    path = recorded_result(tmp_path, glyphscope_eval=2)
    result = open_it(qtbot, window.page(PageId.EVALUATE), path)
    assert (path / "records").is_dir() and not (path / "runs").exists()
    result.runs.openRequested.emit(result.runs_model.rows[0])
    qtbot.waitUntil(lambda: window.navigator.current is PageId.PLAYGROUND and not window.runs.is_busy)


def test_the_focus_stays_on_the_page_when_the_evaluation_starts(opened_window, qtbot):
    window = opened_window()
    page = window.page(PageId.EVALUATE)
    page.view.setup.scenarios.first.setValue(1)
    qtbot.waitUntil(page.view.setup.start.isEnabled)
    page.view.setup.start.setFocus()
    qtbot.keyClick(page.view.setup.start, Qt.Key.Key_Space)
    ended(qtbot, page)
    assert page.view.views.value == RESULT and window.focusWidget() is page.view.views.button(SETUP)


def test_the_page_fits_the_smallest_window(opened_window, qtbot, tmp_path):
    window = opened_window(size=(1024, 700))
    page = window.page(PageId.EVALUATE)
    open_it(qtbot, page, made_result(tmp_path))
    assert window.width() == 1024 and window.height() == 700
    assert page.view.minimumSizeHint().width() <= 988
    page.view.show_view(SETUP)
    assert page.view.minimumSizeHint().height() <= 590


def test_ctrl_4_shows_the_page(opened_window):
    window = opened_window()
    window.navigator.show(PageId.PLAYGROUND)
    action = window.rail.actions_[PageId.EVALUATE]
    assert action.shortcut().toString() == "Ctrl+4"
    action.trigger()
    assert window.navigator.current is PageId.EVALUATE
