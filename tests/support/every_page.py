"""Every page of the window with content, one after the other, and every dialog: for tests of all of them."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDockWidget,
    QGroupBox,
    QLabel,
    QTabBar,
    QWidget,
)

from glyphscope.base import resources
from glyphscope.lessons import find_lesson
from glyphscope.lessons.lesson import Prose
from glyphscope_gui.evaluate.page import RESULT, SETUP
from glyphscope_gui.grammar.page import GrammarHelp
from glyphscope_gui.history.export_dialog import ExportDialog
from glyphscope_gui.mcp.servers import DEMO
from glyphscope_gui.model_picker import EndpointDialog, ModelDialog
from glyphscope_gui.runs import exported
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.servers import ImportServersDialog, ServerDialog
from glyphscope_gui.settings.dialog import SettingsDialog
from glyphscope_gui.shared.background import is_working
from glyphscope_gui.shared.errors import ErrorDialog, Explanation
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.template.page import DETAILS, ReadersDialog, last_answer
from made_results import made_result

ABORTED = "sources-abort.jsonl"
"""The recorded run that a window should have shown before it goes through its pages."""


def in_turn(qtbot, window, folder):
    """Show every page with content, and yield a name of each; a page that is in no table is shown unprepared."""
    for page in PageId:
        window.navigator.show(page)
        for shown in SCENES.get(page, _as_it_is)(qtbot, window, folder):
            qtbot.wait(1)
            yield f"{page}{shown}"
    window.navigator.show(PageId.PLAYGROUND)
    for name in show_masked(qtbot, window):
        yield f"{PageId.PLAYGROUND}: {name}"


def _as_it_is(_qtbot, _window, _folder):
    yield ""


def _panels(_qtbot, window, _folder):
    """Show the playground beside every panel; other pages begin without them."""
    panels = window.panels
    for panel, dock in panels.docks.items():
        panels.reveal(panel)
        yield f" beside {dock.windowTitle()}"
    panels.reveal(PanelId.PROMPT)
    prompt = panels.prompt
    for place in (1, 2):
        prompt.tabs.setCurrentIndex(place)
        prompt.costs.choose(prompt.costs_model.index_of(("user", "", False)))
        yield f" beside Prompt: {prompt.tabs.tabText(place)}"
    panels.reveal(PanelId.TOOLS)
    panels.tools.edit()
    yield " beside a tool's form"
    panels.tools.tabs.setCurrentIndex(1)
    yield " beside a tool's schema"


def _grammar(qtbot, window, _folder):
    bench = window.page(PageId.GRAMMAR).bench
    qtbot.waitUntil(lambda: bench.last is not None and not is_working(bench))
    yield ""


def _servers(qtbot, window, _folder):
    view = window.page(PageId.SERVERS).view
    view.list.choose(DEMO)
    qtbot.waitUntil(lambda: view.tools.model.rowCount() > 0)
    view.tools.choose(view.tools.model.row(0).name)
    for name in ("call", "checks", "schema"):
        view.panel.show_view(name)
        yield f": {name}"


def _evaluate(qtbot, window, folder):
    page = window.page(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not page.is_busy)
    page.view.show_view(SETUP)
    yield f": {SETUP}"
    page.open_result(made_result(folder))
    qtbot.waitUntil(lambda: not page.is_busy)
    page.view.show_view(RESULT)
    tabs = page.view.result.tabs
    for place in range(tabs.count()):
        tabs.setCurrentIndex(place)
        yield f": {tabs.tabText(place)}"


def _compare(_qtbot, window, _folder):
    page = window.page(PageId.COMPARE)
    yield ""
    page.tabs.show_view(page.ab_view)
    yield ": two prompts"
    page.tabs.tabs.setCurrentWidget(page.seeds_view)
    yield ": seeds"


def _template(qtbot, window, folder):
    page = window.page(PageId.TEMPLATE)
    yield ": nothing to inspect"
    path = folder / "example.jinja"
    path.write_bytes(resources.read_bytes("forms/example.jinja"))
    page.open(path)
    qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
    for name, _words, _tip in DETAILS:
        page.view.details.show_view(name)
        yield f": {name}"


def _lessons(qtbot, window, _folder):
    page = window.page(PageId.LESSONS)
    page.open(find_lesson("mask"))
    qtbot.waitUntil(lambda: page.opened is not None and not page.is_busy)
    for number, (_step, parts) in enumerate(page.slides):
        if any(not isinstance(part, Prose) for part in parts):
            page.show_slide(number)
            yield f": step {number + 1}"


SCENES = {
    PageId.PLAYGROUND: _panels,
    PageId.GRAMMAR: _grammar,
    PageId.SERVERS: _servers,
    PageId.EVALUATE: _evaluate,
    PageId.COMPARE: _compare,
    PageId.TEMPLATE: _template,
    PageId.LESSONS: _lessons,
}
"""Preparations of a page after it is shown: each yields a suffix of the page's name, once it is in sight."""


def show_masked(qtbot, window):
    """Show a masked alternative with its possible fixes, then the branch that allows it, with its cost."""
    page = window.page(PageId.PLAYGROUND)
    evidence, bar = page.evidence, page.evidence.branch_bar
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run("search-mask.jsonl"), 0)
    token, row = next(
        (token.step.index, row)
        for token in window.runs.state.tokens
        for row, one in enumerate(token.step.alternatives)
        if one.text == "0" and one.allowed is False and not token.step.forced
    )
    page.view.tokens.choose(token)
    if row >= evidence.alternatives_model.rowCount():
        evidence.all_button.click()
    evidence.alternatives.selectRow(row)
    qtbot.waitUntil(bar.box.relax_button.isVisible)
    bar.open_field()
    qtbot.wait(1)
    yield "a masked alternative"
    with qtbot.waitSignal(window.runs.ended):
        bar.box.relax_button.click()
    qtbot.waitUntil(evidence.branch_panel.cost.isVisible)
    yield "a branch"
    for section in evidence.sections.values():
        section.show_open(True)
    for place in range(page.view.tabs.count()):
        page.view.tabs.setCurrentIndex(place)
        qtbot.wait(1)
        yield f"open sections, {page.view.tabs.tabText(place)}"


def dialogs(window):
    """Return all dialogs of the window itself."""
    return (
        SettingsDialog(
            window.services.settings,
            window.services.places,
            window.services.history,
            window.settings.contacts(),
            window,
        ),
        ErrorDialog(Explanation("It failed", "Something", "line 3", "Do this", "all of it"), window),
        ServerDialog((), window),
        ImportServersDialog((), window),
        EndpointDialog(parent=window),
        ModelDialog(window.models.downloads, window),
        GrammarHelp(window),
        ReadersDialog(window.services.project.next_run(), last_answer(window.runs.state), parent=window),
        ExportDialog(exported(bundled_run("search-mask.jsonl"), "gbnf", 'root ::= "a"\n'), window),
    )


def in_sight(top):
    """Yield all visible widgets, without those of docks behind others, which Qt only moves away."""
    behind = [
        dock for dock in top.findChildren(QDockWidget) if dock.isVisible() and dock.visibleRegion().isEmpty()
    ]
    yield from _visible_in(top, behind)


def _visible_in(part, closed):
    """Yield what is visible in a part of a window, but in nothing `closed`: nine in ten widgets are in hidden ones."""
    for widget in part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if widget.isVisible() and not widget.isWindow() and widget not in closed:
            if not _is_left_over(widget):
                yield widget
            yield from _visible_in(widget, closed)


def _is_left_over(widget):
    """Whether it is an empty tab bar of docks, which Qt keeps."""
    return isinstance(widget, QTabBar) and widget.parentWidget() is widget.window() and not widget.count()


def texts(top, skipped=lambda _widget: False):
    """Yield the places and texts of a window's parts, but for widgets that are `skipped`."""
    for action in top.findChildren(QAction):
        yield "action", action.text()
        yield "action's tip", action.toolTip()
    for widget in (top, *top.findChildren(QWidget)):
        if skipped(widget):
            continue
        where = f"{type(widget).__name__} {widget.objectName()}"
        yield f"{where}: tip", widget.toolTip()
        yield f"{where}: name", widget.accessibleName()
        yield f"{where}: description", widget.accessibleDescription()
        yield f"{where}: title", widget.windowTitle()
        if isinstance(widget, QLabel | QAbstractButton):
            yield f"{where}: text", widget.text()
        if isinstance(widget, QGroupBox):
            yield f"{where}: title", widget.title()
        if hasattr(widget, "placeholderText"):
            yield f"{where}: placeholder", widget.placeholderText()
        if isinstance(widget, QTabBar):
            for place in range(widget.count()):
                yield f"{where}: tab", widget.tabText(place)
                yield f"{where}: tab's tip", widget.tabToolTip(place)
        if isinstance(widget, QComboBox):
            for place in range(widget.count()):
                yield f"{where}: choice", widget.itemText(place)
        if isinstance(widget, QAbstractItemView) and widget.model() is not None:
            for text in headings(widget.model()):
                yield f"{where}: heading", text


def headings(model):
    """Yield the headings of a table, with their tips; its cells are mostly data."""
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
    for column in range(columns):
        for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            yield str(model.headerData(column, Qt.Orientation.Horizontal, role) or "")
