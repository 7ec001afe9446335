"""Every strategy in the real window, on the embedded model, and its replay from the history without one."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from glyphscope_gui.shared.page_ids import PageId

pytestmark = [
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True),  # popups, offscreen
]
RUN_MS = 240_000


def click(qtbot, window, name):
    qtbot.mouseClick(window.findChild(QPushButton, name), Qt.MouseButton.LeftButton)


def choose(window, strategy):
    window.header.open_options()
    picker = window.header.panel.groups.field("strategy")
    picker.setCurrentIndex(picker.findData(strategy))
    picker.activated.emit(picker.currentIndex())
    window.header.panel.hide()
    assert window.services.project.options.strategy == strategy


def finish(qtbot, window):
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        click(qtbot, window, "runButton")
    return window.runs.state


def replay(qtbot, window):
    """Replay the run from its record."""
    events = tuple(window.runs.events)
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        window.runs.show_record(events)
    return window.runs.state


@pytest.mark.parametrize(
    ("strategy", "kinds"),
    [
        ("direct", ["call"]),
        ("two-stage", ["name", "arguments"]),
        ("route-execute", ["router", "executor"]),
    ],
)
def test_every_strategy_makes_a_call_in_the_window_and_shows_its_stages(qtbot, window, strategy, kinds):
    page = window.page(PageId.PLAYGROUND)
    choose(window, strategy)
    state = finish(qtbot, window)
    assert state.failed is None, state.failed
    assert (state.outcome, [stage.kind for stage in state.stages]) == ("valid", kinds)
    assert state.call is not None and state.call.tool == "search"
    assert len(page.view.stream.texts) == len(kinds)
    reported = [(stage.title, stage.text) for stage in state.stages]
    again = replay(qtbot, window)
    assert [(stage.title, stage.text) for stage in again.stages] == reported


def test_a_conversation_in_the_window_runs_a_call_after_its_approval(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    choose(window, "loop")
    loop = msgspec.structs.replace(window.services.project.options.loop, tool_use="enforced", max_turns=2)
    window.services.project.set_options(loop=loop)
    card = page.view.approval
    click(qtbot, window, "runButton")
    qtbot.waitUntil(card.isVisible, timeout=RUN_MS)
    assert not any(event.__struct_config__.tag == "tool_started" for event in window.runs.events)
    assert card.arguments["query"]
    qtbot.waitUntil(card.wider_button.isEnabled)  # no approval before the verdict
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        next(action for action in card.menu.actions() if "run" in action.text()).trigger()
    state = window.runs.state
    assert state.failed is None, state.failed
    results = [event for event in window.runs.events if event.__struct_config__.tag == "tool_result"]
    assert results and results[0].ok and results[0].source == "demo"
    assert [stage.kind for stage in state.stages][:2] == ["turn", "tool"]
    assert results[0].sent[:200] in page.view.stream.toPlainText(), "a long one is shown in part"


def test_the_window_closes_with_an_open_approval_and_ends_its_run(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    choose(window, "loop")
    loop = msgspec.structs.replace(window.services.project.options.loop, tool_use="enforced", max_turns=2)
    window.services.project.set_options(loop=loop)
    click(qtbot, window, "runButton")
    qtbot.waitUntil(page.view.approval.isVisible, timeout=RUN_MS)
    window.shut_down()  # a leftover would fail the test
