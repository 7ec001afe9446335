"""The whole window without a model: its parts, the keyboard, the effects of a run, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QMenu

from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_benchmarks.baseline_process import with_benchmarks
from glyphscope_gui.project import FIRST_PROMPT
from glyphscope_gui.runs import Phase
from glyphscope_gui.runs.recorder import bundled_run, bundled_runs
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.shell.editing import TextSearch
from glyphscope_gui.shell.idle_model_presenter import on_battery
from on_screen import Screen

GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500}'
STREAM = "Transcript of the run"


def opener_of(model=None):
    def opener(_name, *, options, progress):
        progress(0.5)
        if isinstance(model, Exception):
            raise model
        return model if model is not None else ScriptedModel(GOOD)

    return opener


@pytest.fixture
def make(open_window):
    """Make the whole window; its model is opened with some progress before, or fails to open."""
    return lambda model=None, **looks: open_window(opener_of(model), **looks)


def finish(qtbot, window, begin=None):
    with qtbot.waitSignal(window.runs.ended):
        (begin or window.actions_.run.trigger)()
    return window.runs.state


def off(window):
    window.services.project.set_options(constraint="off")


@pytest.mark.slow
def test_a_first_start_can_run_at_once_and_the_theme_changes_in_an_open_window(qtbot, make, screen_of):
    window = make()
    screen, project = screen_of(window), window.services.project
    assert screen.read("Your prompt") == FIRST_PROMPT and not project.is_dirty
    assert len(project.tools.registry) == 7 and window.header.constraint.value == "mask"
    off(window)
    assert finish(qtbot, window).call is not None
    assert screen.read(STREAM) == GOOD and len(screen.rows("Fields of the answer…")) == 4
    assert "A valid call of search" in screen
    screen.press("Sizes")
    screen.until("Size of this call")

    def lightness():
        return window.grab().toImage().pixelColor(5, 300).lightness()

    qtbot.waitUntil(lambda: lightness() > 200)
    window.services.settings.update(theme="dark")
    qtbot.waitUntil(lambda: lightness() < 80)
    assert screen.read(STREAM) == GOOD


@pytest.mark.slow
def test_imported_constraints_that_are_not_enforced_are_named_beside_run_and_lead_to_their_table(
    qtbot, make, screen_of
):
    window = make()
    screen, tools = screen_of(window), window.services.project.tools
    assert not window.header.lacking_link.isVisible()
    listed = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    imported = Tool("ticket", parameters={"type": "object", "properties": {"labels": listed}})
    tools.add_all(ToolRegistry((imported,)), "import ticket.json")
    screen.until("1 constraint is checked after, not masked: labels uniqueItems (ticket).")
    assert window.header.lacking_link.text() == "1 not masked"
    window.services.project.set_options(constraint="off")
    screen.until(lambda: not window.header.lacking_link.isVisible())
    window.services.project.set_options(constraint="gbnf")
    screen.until(lambda: window.header.lacking_link.text() == "1 not enforced")
    window.header.lacking_link.click()
    assert window.navigator.current is PageId.GRAMMAR
    assert window.page(PageId.GRAMMAR).view.lacking.value == "lacking"
    tools.undo_stack.undo()
    screen.until(lambda: not window.header.lacking_link.isVisible())


@pytest.mark.slow
def test_an_abort_is_explained_with_its_saving(qtbot, open_playground, screen_of):
    page = open_playground(opener_of(ScriptedModel(BAD)))
    runs, screen = page.context.runs, screen_of(page)
    page.context.project.set_options(constraint="off")
    with qtbot.waitSignal(runs.ended):
        page.run()
    state = runs.state
    at = f"Stopped at character {state.aborted.char}: {state.aborted.message.rstrip('.')}"
    assert at in screen and f"CONSTRAINT_MAX, token {state.aborted.token}" in screen
    with qtbot.waitSignal(runs.saved):
        screen.press("Continue aborted run")
    assert "tokens saved" in screen and page.evidence.sections["savings"].isVisible()
    runs.saved.emit(None)
    assert "saved tokens not counted, as the continued run was stopped" in screen
    with qtbot.waitSignal(runs.ended):
        runs.replay(tuple(runs.events), 0)
    assert screen.read(STREAM) == state.text


def test_no_menu_has_two_entries_of_the_same_title_at_the_first_start(make):
    window = make()
    window.pages[PageId.LESSONS]  # made soon after the start, with its entries
    shown = [
        (menu, each.text())
        for menu in window.findChildren(QMenu)
        for each in menu.actions()
        if each.isVisible()
    ]
    titles = [title for title in shown if title[1]]
    assert len(titles) > 40 and len(titles) == len(set(titles))


def test_bundled_recordings_are_complete_and_name_no_machine():
    assert bundled_runs()
    for name in bundled_runs():
        started = bundled_run(name)[0]
        assert "/" not in started.model.path
        assert started.model.sha256


@pytest.mark.slow
def test_no_words_are_cut_off_in_a_small_window(qtbot, make):
    window = make(ScriptedModel(BAD), theme="dark", size=(1024, 700))
    off(window)
    finish(qtbot, window)
    qtbot.wait(50)
    assert (window.width(), window.height()) == (1024, 700)
    labels = [
        w for w in window.findChildren(QLabel) if type(w) is QLabel and w.isVisible() and not w.wordWrap()
    ]
    cut = [w.text() for w in labels if w.width() < w.fontMetrics().horizontalAdvance(w.text())]
    buttons = [w for w in window.header.findChildren(QAbstractButton) if w.text() and w.isVisible()]
    cut += [w.text() for w in buttons if w.width() < w.minimumSizeHint().width()]
    assert not cut
    evidence = window.page(PageId.PLAYGROUND).evidence
    assert evidence.widget().width() <= evidence.viewport().width()


@pytest.mark.slow
def test_size_and_places_are_restored(qtbot, make):
    first = make(size=(1200, 800))
    first.right.hide()
    first.shut_down()
    second = make(size=None)
    assert second.height() < 900  # if the test's screen is large enough
    assert not second.right.isVisible()


@pytest.mark.slow
def test_the_window_stays_responsive_while_tokens_stream_in():
    """Whether a slice fits a frame is measured by `glyphscope bench`, on a machine that does nothing else meanwhile."""
    done = subprocess.run(
        [sys.executable, "-m", "glyphscope_benchmarks.frame_time", "--tokens", "600"],
        env=with_benchmarks(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    figures = json.loads(done.stdout)
    assert figures["tokens"] > 500
    assert figures["own_p99_ms"] <= 100, figures


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which signals are caught")
def test_a_signal_ends_a_window_that_has_just_opened_and_leaves_no_temporary_file(tmp_path, unforked):
    ending = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "gui"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not (
        list(tmp_path.iterdir()) and all(catches(process.pid, number) for number in ending)
    ):
        time.sleep(0.01)
    process.send_signal(ending[-1])
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert not [line for line in err.splitlines() if b"propagateSizeHints" not in line]
    assert list(tmp_path.iterdir()) == []


def catches(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(
    "error", [FileNotFoundError("/sys/class/power_supply"), AttributeError("sensors_battery")]
)
def test_a_system_that_does_not_know_of_batteries_is_not_on_battery(monkeypatch, error):
    def fails():
        raise error

    monkeypatch.setattr(psutil, "sensors_battery", fails, raising=False)
    assert not on_battery()
    monkeypatch.setattr(
        psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=False), raising=False
    )
    assert on_battery()


@pytest.mark.slow
def test_a_key_goes_to_what_a_notice_offers(qtbot, make):
    window, pressed = make(), []
    window.activateWindow()
    notice = window.page(PageId.PLAYGROUND).view.notice
    notice.show_words("words", "Do it", lambda: pressed.append(True))
    QTest.keyClick(window, Qt.Key.Key_F6)
    qtbot.waitUntil(notice.action.hasFocus)
    QTest.keyClick(notice.action, Qt.Key.Key_Space)
    assert pressed and not notice.isVisible()


@pytest.mark.slow
def test_undo_of_the_edit_menu_works_where_a_text_that_cannot_be_edited_has_the_focus(qtbot, make):
    window = make()
    tools, page = window.services.project.tools, window.page(PageId.PLAYGROUND).view
    window.activateWindow()
    prompt, before = window.panels.prompt, tools.registry
    page.notice.show_words("words")
    for widget in (
        page.stream, page.notice.label, QLineEdit("text", page, readOnly=True), page.tokens, prompt.rendered_view,
        prompt.recorded.text,
    ):  # fmt: skip
        if widget is prompt.rendered_view:
            window.panels.reveal_rendered_prompt()
        if widget is prompt.recorded.text:
            prompt.tabs.setCurrentIndex(0)
            prompt.messages_stack.setCurrentIndex(1)
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        widget.show()
        tools.set_enabled("search", False)
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        QTest.keyClick(widget, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert tools.registry == before, widget


@pytest.mark.slow
def test_the_focus_moves_from_run_to_stop_while_the_model_runs(qtbot, window):
    header, focused = window.header, []
    window.activateWindow()
    qtbot.mouseClick(header.run_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.runs.phase is Phase.IDLE)
    assert window.focusWidget() not in (header.run_button, header.stop_button), "a click took the focus"
    header.run_button.setFocus()
    window.runs.phaseChanged.connect(lambda _phase: focused.append(window.focusWidget()))
    finish(qtbot, window, lambda: qtbot.keyClick(header.run_button, Qt.Key.Key_Space))
    qtbot.waitUntil(lambda: window.runs.phase is Phase.IDLE)
    assert focused[0] is header.stop_button and window.focusWidget() is header.run_button


@pytest.mark.slow
def test_the_keyboard_alone_runs_stops_and_reaches_the_tokens(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    off(window)
    window.activateWindow()
    page.view.prompt_edit.setFocus()
    with qtbot.waitSignal(window.runs.ended):
        qtbot.keyClick(page.view.prompt_edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    window.actions_.focus_tokens.trigger()
    qtbot.keyClick(page.view.tokens, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(page.view.tokens, Qt.Key.Key_Down)
    assert page.view.current_token().step.index == 1
    assert page.evidence.alternatives_heading.title.text() == "ALTERNATIVES OF TOKEN 1"


@pytest.mark.slow
def test_an_internal_error_leaves_the_window_usable(qtbot, window):
    with qtbot.waitSignal(window.runs.crashed):
        window.runs.replay(None, 0)
    Screen(qtbot, window).dialog().press("Close")
    off(window)
    assert finish(qtbot, window).call is not None


@pytest.mark.slow
def test_closing_asks_about_unsaved_edits(qtbot, window):
    window.page(PageId.PLAYGROUND).view.prompt_edit.setPlainText("Something else")
    assert not window.close()
    Screen(qtbot, window).dialog().press("Cancel")
    assert window.isVisible()


@pytest.mark.slow
def test_closing_says_what_is_running(qtbot, window, monkeypatch):
    page = type(window.page(PageId.EVALUATE))
    monkeypatch.setattr(page, "unfinished", property(lambda _page: "An evaluation is running: 15 of 252"))
    assert not window.close()
    question = Screen(qtbot, window).dialog()
    assert "An evaluation is running: 15 of 252" in question
    question.press("Cancel")
    assert window.isVisible()


@pytest.mark.slow
def test_the_models_own_notation_of_a_project_is_explained_and_can_be_left(window, qtbot):
    bar = Screen(qtbot, window.header)
    window.services.project.set_options(native="auto")  # made with another model
    assert (
        window.header.notation.value == "native" and not window.header.notation.button("native").isEnabled()
    )
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    assert "no place for tools" in window.runs.state.failed.message
    bar.choose("Notation", "JSON")
    options = window.services.project.options
    assert (options.native, options.notation) == ("", "json")


@pytest.mark.slow
def test_the_rail_follows_the_width_of_the_window_and_its_buttons_are_aligned(window, qtbot):
    rail = window.rail
    before = rail.width()
    window.context.themes.choose("dark")
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: rail.width() < before)
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: rail.width() == before)
    places = {(button.x(), button.width()) for button in map(rail.button, rail.actions_)}
    assert len(places) == 1


@pytest.mark.slow
def test_a_page_leads_to_an_argument_in_the_tools_panel_and_to_the_rendered_prompt(window):
    panels, docks = window.panels, window.panels.docks
    docks[PanelId.HISTORY].raise_()
    panels.reveal_argument("search", "max_results")
    item = panels.tools.tree.selected()
    assert (item.tool, item.argument) == ("search", "max_results")
    assert not docks[PanelId.TOOLS].visibleRegion().isEmpty()
    assert docks[PanelId.HISTORY].visibleRegion().isEmpty()
    docks[PanelId.PROMPT].hide()
    panels.reveal_rendered_prompt()
    assert panels.prompt.rendered_view.isVisible()


@pytest.mark.slow
def test_undo_in_a_text_that_is_edited_is_the_texts(qtbot, window):
    tools, edit = window.services.project.tools, window.page(PageId.PLAYGROUND).view.prompt_edit
    window.activateWindow()
    edit.setFocus()
    qtbot.waitUntil(edit.hasFocus)
    before = edit.toPlainText()
    tools.set_enabled("search", False)
    edit.textCursor().insertText("more ")
    QTest.keyClick(edit, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert edit.toPlainText() == before and len(tools.registry.allowed) == 6


def test_the_figures_of_the_run_are_only_on_the_pages_that_show_it(window):
    seen = {}
    for page in PageId:
        window.navigator.show(page)
        seen[page] = window.status.figures.isVisible()
    assert {page for page, visible in seen.items() if visible} == {PageId.PLAYGROUND, PageId.GRAMMAR}


def test_a_custom_grammar_in_use_is_named_by_the_status_line_and_the_constraint(window):
    grammar, picker = window.services.project.grammar, window.header.constraint
    grammar.edit_as_text()
    before = picker.button("mask").toolTip()
    grammar.set_use(True)
    assert "runs use the custom grammar" in window.status.message.text()
    assert "custom grammar" in picker.button("mask").toolTip()
    assert "custom grammar" not in picker.button("off").toolTip()
    grammar.set_use(False)
    assert picker.button("mask").toolTip() == before
    assert "grammar" not in window.status.message.text()


@pytest.mark.slow
def test_the_last_project_opens_again_and_a_lost_one_is_reported_once(make, own_home, tmp_path, qtbot):
    window = make()
    path = tmp_path / "agent.glyphscope"
    window.services.project.prompt.set_state(
        replace(window.services.project.prompt.state, user="Where is it?")
    )
    assert window.services.project.save(path)
    window.close()
    window = make()
    window.resume()
    qtbot.waitUntil(lambda: window.services.project.path == path)
    assert window.services.project.prompt.state.user == "Where is it?"
    window.close()
    path.unlink()
    window = make()
    errors = []
    window.services.project.failed.connect(errors.append)
    window.resume()
    qtbot.waitUntil(lambda: bool(errors))
    assert str(path) in str(errors[0]) and window.services.project.path is None
    window.close()
    window = make()
    window.resume()
    assert window.services.settings.value.last_project == ""


@pytest.mark.slow
def test_the_edit_menu_does_what_its_keys_do_in_the_part_with_the_focus(make, qtbot):
    window = make()
    edit = window.page(PageId.PLAYGROUND).view.prompt_edit
    actions = window.actions_
    edit.setPlainText("one two")
    edit.setFocus()
    actions.select_all.trigger()
    actions.cut.trigger()
    assert edit.toPlainText() == ""
    actions.paste.trigger()
    actions.paste.trigger()
    assert edit.toPlainText() == "one twoone two"
    actions.find.trigger()
    search = window.findChild(TextSearch)
    QTest.keyClicks(search.field, "TWO")
    assert edit.textCursor().selectedText() == "two" and edit.textCursor().selectionStart() == 4
    search.go()
    search.go()
    assert edit.textCursor().selectionStart() == 4, "after the last place comes the first"
    QTest.keyClicks(search.field, "x")
    assert search.found.text() == "Not found" and not edit.textCursor().selectedText()


@pytest.mark.slow
def test_keys_make_the_text_of_the_whole_window_larger_and_smaller_at_once(make, qtbot):
    window = make()
    usual, settings = window.fontMetrics().height(), window.services.settings
    window.actions_.larger.trigger()
    window.context.themes.finish()
    assert window.fontMetrics().height() > usual
    settings.update(font_size=7)
    for _ in range(2):
        window.actions_.smaller.trigger()
        assert settings.value.font_size == 6
    window.actions_.usual_size.trigger()
    window.context.themes.finish()
    assert window.fontMetrics().height() == usual and settings.value.font_size == 0


@pytest.mark.slow
def test_a_lecture_shows_only_the_run_in_large_text_and_its_keys_step_stop_and_end_it(make, qtbot):
    window = make()
    page = window.page(PageId.PLAYGROUND)
    view, usual = page.view, page.view.stream.fontMetrics().height()
    finish(qtbot, window)
    page.lecture.action.trigger()
    assert view.stream.isVisible() and not view.tabs.isVisible() and not window.header.isVisible()
    assert view.stream.fontMetrics().height() > usual
    points = page.lecture.points
    QTest.keyClick(view.stream, Qt.Key.Key_Plus)
    assert page.lecture.points == points + 2
    QTest.keyClick(view.stream, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: window.runs.phase is Phase.STEPPING)
    assert not view.tabs.isVisible(), "a new run keeps the lecture"
    qtbot.waitUntil(lambda: view.tokens.currentIndex().row() == view.tokens_model.rowCount() - 1 >= 0)
    QTest.keyClick(view.stream, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.runs.phase is Phase.IDLE)
    assert page.lecture.is_on
    QTest.keyClick(view.stream, Qt.Key.Key_Escape)
    assert not page.lecture.is_on and view.tabs.isVisible() and window.header.isVisible()
    assert view.stream.fontMetrics().height() == usual
    window.navigator.show(PageId.GRAMMAR)
    assert not page.lecture.action.isVisible()


def test_sides_that_shared_a_place_for_lack_of_room_are_apart_in_a_larger_window_after_another_start(
    open_window, qtbot
):
    def answering(_name, **_options):
        return ScriptedModel("{}")

    small = open_window(answering, size=(940, 700))
    qtbot.waitUntil(lambda: bool(small.tabifiedDockWidgets(small.right)))
    small.shut_down()
    window = open_window(answering, size=None)
    assert window.tabifiedDockWidgets(window.right)
    window.resize(1440, 860)
    qtbot.waitUntil(lambda: not window.tabifiedDockWidgets(window.right))


def test_a_run_that_the_window_ends_is_in_the_history_as_far_as_it_went(open_window, qtbot):
    class Slow(ScriptedModel):
        def generate(self, request):
            for event in super().generate(request):
                time.sleep(0.02)
                yield event

    window = open_window(lambda _name, **_options: Slow("a " * 500))
    window.services.project.set_options(constraint="off", stop_on="never")
    window.actions_.run.trigger()
    qtbot.waitUntil(lambda: len(window.runs.state.tokens) > 3)
    window.shut_down()
    (row,) = window.services.history.rows()
    assert row.outcome == "unfinished" and row.tokens > 3
