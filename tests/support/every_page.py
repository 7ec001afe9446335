"""Every page of the window with something on it, one after the other, and every dialog: what holds on all of them."""

from __future__ import annotations

from PySide6.QtWidgets import QDockWidget, QTabBar, QWidget

from glyphscope.lessons import Prose, find_lesson
from glyphscope_gui.compare.presenter import COMPARE
from glyphscope_gui.evaluate.page import RESULT, SETUP
from glyphscope_gui.evaluate.presenter import EVALUATE
from glyphscope_gui.grammar.help import GrammarHelp
from glyphscope_gui.grammar.presenter import PAGE, PLAYGROUND
from glyphscope_gui.history.export_dialog import ExportDialog
from glyphscope_gui.lessons.presenter import LESSONS
from glyphscope_gui.model_picker.dialog import ModelDialog
from glyphscope_gui.model_picker.endpoint_dialog import EndpointDialog
from glyphscope_gui.runs.export_formats import exported
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.servers.dialogs import AddServerDialog, ImportServersDialog
from glyphscope_gui.servers.presenter import SERVERS
from glyphscope_gui.servers.servers import DEMO
from glyphscope_gui.servers.tool_panel import VIEWS
from glyphscope_gui.settings.dialog import SettingsDialog
from glyphscope_gui.shared.error_dialog import ErrorDialog
from made_results import made_result

ABORTED = "sources-abort.jsonl"
"""The recorded run that a window should have shown before it goes through its pages."""


def in_turn(qtbot, window, folder):
    """Show every page with something on it; tells its name, and the widget that is the page."""
    window.pages.show(PLAYGROUND)
    for dock in window.left:
        dock.raise_()
        qtbot.wait(1)
        yield f"playground beside {dock.windowTitle()}"
    window.left[1].raise_()
    prompt = window.prompt_page
    for place in (1, 2):
        prompt.tabs.setCurrentIndex(place)
        prompt.costs.choose(prompt.costs_model.index_of(("user", "", False)))
        qtbot.wait(1)
        yield f"playground beside Prompt: {prompt.tabs.tabText(place)}"
    window.left[0].raise_()
    window.tools_page.tabs.setCurrentIndex(1)
    qtbot.wait(1)
    yield "playground beside a tool's schema"
    window.pages.show(PAGE)
    qtbot.waitUntil(lambda: window.grammar.bench.last is not None and not window.grammar.bench.is_busy)
    qtbot.wait(1)
    yield PAGE
    window.pages.show(SERVERS)
    servers = window.servers_page
    servers.list.choose(DEMO)
    qtbot.waitUntil(lambda: servers.tools.model.rowCount() > 0)
    servers.tools.choose(servers.tools.model.row(0).name)
    for view, _words, _tip in VIEWS:
        servers.panel.show_view(view)
        qtbot.wait(1)
        yield f"{SERVERS}: {view}"
    window.pages.show(EVALUATE)
    qtbot.waitUntil(lambda: not window.evaluate.is_busy)
    window.eval_page.show_view(SETUP)
    qtbot.wait(1)
    yield f"{EVALUATE}: {SETUP}"
    window.evaluate.open_result(made_result(folder))
    qtbot.waitUntil(lambda: not window.evaluate.is_busy)
    window.eval_page.show_view(RESULT)
    tabs = window.eval_page.result.tabs
    for place in range(tabs.count()):
        tabs.setCurrentIndex(place)
        qtbot.wait(1)
        yield f"{EVALUATE}: {tabs.tabText(place)}"
    window.pages.show(COMPARE)
    qtbot.wait(1)
    yield COMPARE
    window.compare_tabs.show_prompts()
    qtbot.wait(1)
    yield f"{COMPARE}: two prompts"
    window.pages.show(LESSONS)
    window.lessons.open(find_lesson("mask"))
    qtbot.waitUntil(lambda: window.lessons.opened is not None and not window.lessons.is_busy)
    for number, (_step, parts) in enumerate(window.lessons.slides):
        if any(not isinstance(part, Prose) for part in parts):
            window.lessons.show_slide(number)
            qtbot.wait(1)
            yield f"{LESSONS}: step {number + 1}"
    window.pages.show(PLAYGROUND)
    for name in show_struck(qtbot, window):
        yield f"playground: {name}"


def show_struck(qtbot, window):
    """A struck alternative with what can be done about it, then the branch that lets it in, with what it cost."""
    bar = window.evidence.branch_bar
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run("search-mask.jsonl"), 0)
    token, row = next(
        (token.step.index, row)
        for token in window.runs.state.tokens
        for row, one in enumerate(token.step.alternatives)
        if one.text == "0" and one.allowed is False and not token.step.forced
    )
    window.page.tokens.choose(token)
    if row >= window.evidence.alternatives_model.rowCount():
        window.evidence.all_button.click()
    window.evidence.alternatives.selectRow(row)
    qtbot.waitUntil(bar.box.relax_button.isVisible)
    bar.open_field()
    qtbot.wait(1)
    yield "a struck alternative"
    with qtbot.waitSignal(window.runs.ended):
        bar.box.relax_button.click()
    qtbot.waitUntil(window.evidence.branch_panel.cost.isVisible)
    yield "a branch"


def dialogs(window):
    """All dialogs of the window's own."""
    return (
        SettingsDialog(
            window.parts.settings,
            window.parts.places,
            window.parts.history,
            window.settings.contacts(),
            window,
        ),
        ErrorDialog("It failed", "Something", "line 3", "Do this", "all of it", parent=window),
        AddServerDialog((), window),
        ImportServersDialog((), window),
        EndpointDialog(parent=window),
        ModelDialog(window.models.getting, window),
        GrammarHelp(window),
        ExportDialog(exported(bundled_run("search-mask.jsonl"), "gbnf", 'root ::= "a"\n'), window),
    )


def in_sight(top):
    """All that is shown; Qt only moves a dock away that is behind another."""
    behind = [
        dock for dock in top.findChildren(QDockWidget) if dock.isVisible() and dock.visibleRegion().isEmpty()
    ]
    for widget in top.findChildren(QWidget):
        shown = widget.isVisible() and widget.window() is top and not _is_left_over(widget)
        if shown and not any(dock.isAncestorOf(widget) for dock in behind):
            yield widget


def _is_left_over(widget):
    """Whether it is a tab bar of docks, which Qt keeps, that has no tabs now."""
    return isinstance(widget, QTabBar) and widget.parentWidget() is widget.window() and not widget.count()
