"""Copies of a run: each form, from the stream, a result, the prompt and the history."""

from __future__ import annotations

import json

import pytest
from PySide6.QtGui import QAction, QGuiApplication

from fake_context import CALL
from glyphscope.events import ToolResult
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.plain_text import copy_text


@pytest.fixture
def page(open_page):
    return open_page(PageId.PLAYGROUND)


def copied(qtbot, page, form):
    notes = page.context.status.notes
    count = len(notes)
    page.view.findChild(QAction, f"copy-{form}").trigger()
    qtbot.waitUntil(lambda: len(notes) > count)
    return QGuiApplication.clipboard().text()


@pytest.mark.slow
def test_a_run_is_copied_in_every_form_and_a_missing_form_leaves_the_clipboard(qtbot, page):
    page.context.recorder.noticed.connect(page.context.status.set_note)
    assert not page.view.copy_button.isVisible()
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    assert page.view.copy_button.isVisible()
    assert copied(qtbot, page, "answer") == CALL
    assert json.loads(copied(qtbot, page, "calls"))["name"] == "search"
    assert json.loads(copied(qtbot, page, "openai-tool-calls"))[0]["function"]["name"] == "search"
    assert copied(qtbot, page, "curl").startswith("curl -sS http://localhost:8080")
    assert json.loads(copied(qtbot, page, "openai-messages"))[-1]["role"] == "assistant"
    assert copied(qtbot, page, "prompt") == page.context.runs.state.stages[-1].prompt.text
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.show_record(page.context.runs.events[:2])
    QGuiApplication.clipboard().setText("mine")
    assert copied(qtbot, page, "calls") == "mine"
    assert "no valid call" in page.context.status.notes[-1] and not page.context.errors


def test_the_shown_stage_and_a_tool_result_are_copied(qtbot, page):
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.show_record(bundled_run("verbs-loop.jsonl"))
    view = page.view
    menu = view.stream.menu_at(view.stream.viewport().rect().bottomRight())
    actions = {action.objectName() or action.text(): action for action in menu.actions()}
    actions["copyShown"].trigger()
    assert QGuiApplication.clipboard().text() == view.stage.text
    assert any(action.menu() is view.copy_menu for action in menu.actions())
    menu.deleteLater()
    result = next(event for event in page.context.runs.events if isinstance(event, ToolResult))
    cursor = view.stream.textCursor()
    cursor.setPosition(view.stream.toPlainText().index(result.sent))
    view.stream.setTextCursor(cursor)
    view.copy_shown()
    assert QGuiApplication.clipboard().text() == result.sent
    copy_text("a\ud800b")
    assert QGuiApplication.clipboard().text() == "a?b"


@pytest.mark.slow
def test_the_message_of_a_failed_copy_ends_with_the_page(qtbot, window):
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    window.status.set_note("A note")
    note = window.status.note.text()
    window.context.recorder.copy(tuple(window.runs.events[:2]), "calls")
    qtbot.waitUntil(lambda: "no valid call" in window.status.note.text())
    window.navigator.show(PageId.PLAYGROUND)
    assert "no valid call" in window.status.note.text()  # the same page
    window.navigator.show(PageId.GRAMMAR)
    assert window.status.note.text() == note
    window.navigator.show(PageId.PLAYGROUND)
    assert window.status.note.text() == note
