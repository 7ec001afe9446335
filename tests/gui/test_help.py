"""Help inside the window: the guide's pages and links, the palette of commands, the tour."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenuBar, QWidget

from every_page import dialogs
from glyphscope.base.resources import read_page
from glyphscope_gui.help.commands import CommandPalette, commands_of, matching
from glyphscope_gui.help.guide import PAGES, SHORTCUTS, GuideDialog, GuideText, page_text, slug_of
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.theme import ThemeManager, theme


@pytest.fixture
def bar(qtbot):
    bar = QMenuBar()
    qtbot.addWidget(bar)
    file = bar.addMenu("&File")
    file.addAction("&Open project…").setShortcut("Ctrl+O")
    file.addSeparator()
    export = file.addMenu("E&xport run")
    export.aboutToShow.connect(lambda: export.isEmpty() and export.addAction("as &pytest"))
    bar.addMenu("&Run").addAction("R&un && stop").setEnabled(False)
    return bar


def words(commands):
    return [command.words for command in commands]


def test_a_command_is_found_by_any_of_its_words_and_when_it_is_misspelt(bar):
    commands = commands_of(bar)
    assert words(matching(commands, "proj file")) == ["File › Open project…"]
    assert words(matching(commands, "opne projcet")) == ["File › Open project…"]
    assert matching(commands, "close all file") == [], "a command that lacks a typed word is not one to run"
    assert matching(commands, "zzzz") == [] and matching(commands, "") == commands


def test_enter_in_the_palette_runs_the_selected_command(bar, qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    done = []
    commands = commands_of(bar)
    commands[0].action.triggered.connect(lambda: done.append("opened"))
    palette = CommandPalette(commands, host)
    palette.show()
    qtbot.keyClicks(palette.field, "stop")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible(), "a command that is not available does nothing"
    palette.field.clear()
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert done == ["opened"]


def slugs(markdown):
    """Return the anchors of a page's headings."""
    tokens = MarkdownIt().parse(markdown)
    return {slug_of(title.content) for token, title in pairwise(tokens) if token.type == "heading_open"}


@pytest.mark.slow
def test_every_page_of_the_guide_is_there_and_every_link_in_it_leads_somewhere(bar):
    commands = commands_of(bar)
    for name, _title in PAGES:
        text = page_text(name, commands)
        for page, slug in re.findall(r"\]\(([\w./-]+\.md)?#([\w-]+)\)", text):
            target = page_text(page or name, commands)
            assert slug in slugs(target), (name, page, slug)


def test_the_page_of_shortcuts_is_made_of_the_menus_and_of_the_parts_in_the_guide(bar):
    text = page_text(SHORTCUTS, commands_of(bar))
    assert "| Open project… | `Ctrl+O` |" in text and "| Grammar: `F8`" in text and "as pytest" not in text


@pytest.mark.slow
def test_links_lead_from_page_to_page_and_back(bar, qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    guide = GuideDialog(commands_of(bar), host)
    guide.show()
    guide.show_page("guide.md")
    guide.text.anchorClicked.emit(QUrl("branches.md#masked-alternatives"))
    assert guide.page == "branches.md" and guide.text.verticalScrollBar().value() > 0
    guide.back.click()
    assert guide.page == "guide.md" and not guide.back.isEnabled()
    guide.text.anchorClicked.emit(QUrl("../nothing.md"))
    assert guide.page == "guide.md" and guide.found.isVisible()
    guide.field.setText("feasible mass")
    assert 0 < guide.list.count() < len(PAGES)
    guide.close()


@pytest.mark.slow
def test_every_page_that_the_guide_links_to_is_in_its_list():
    linked = set(re.findall(r"\]\(([a-z-]+\.md)", read_page("guide.md")))
    assert linked - {name for name, _title in PAGES} == set()


OF_TEXT = {"Ctrl+C", "Ctrl+Ins", "F16", "Ctrl+X", "Shift+Del", "F20", "Ctrl+V", "Shift+Ins", "F18", "Ctrl+A"}
"""Keys of every text field."""


def test_a_search_passes_over_pages_that_are_missing(qtbot, monkeypatch):
    def missing(_name):
        raise FileNotFoundError

    monkeypatch.setattr("glyphscope_gui.help.guide.read_page", missing)
    owner = QWidget()
    qtbot.addWidget(owner)
    guide = GuideDialog((), owner)
    guide.field.setText("mask")
    assert guide.list.count() == 0


@pytest.mark.slow
def test_a_page_with_pictures_is_set_once_after_the_guide_was_resized(qapp, qtbot, monkeypatch):
    """A scroll bar that comes and goes changed the width of the page, which set it again, without an end."""
    times, again = [], GuideText._restyle
    monkeypatch.setattr(GuideText, "_restyle", lambda self: times.append(again(self)))
    owner = QWidget()
    qtbot.addWidget(owner)
    ThemeManager(qapp, "light", parent=owner)
    guide = GuideDialog((), owner)
    guide.show_page(PAGES[0][0])
    with qtbot.waitExposed(guide):
        guide.show()
    for width in (1400, 1000):
        guide.resize(width, 850)
        qtbot.waitUntil(lambda: bool(times))
        times.clear()
        for _ in range(5):
            qapp.processEvents()
        assert len(times) <= 1


@pytest.mark.parametrize(
    ("file", "words"), [(None, "is not installed"), (Path("m.gguf"), "A small model is included")]
)
def test_the_tour_says_whether_a_model_is_included(monkeypatch, window, file, words):
    monkeypatch.setattr("glyphscope_gui.help.presenter.embedded_path", lambda: file)
    window.actions_.tour.trigger()
    assert words in window.help.tour.words.text()


@pytest.mark.slow
def test_the_tour_explains_the_settings_on_the_shown_run(window, qtbot):
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    window.actions_.tour.trigger()
    tour = window.help.tour
    first = tour.next_button.mapTo(window, tour.next_button.rect().center())
    assert len(tour.title.text()) > 10 and tour.example.isHidden()
    titles = []
    for place in range(5):
        assert tour.place == place and window.rect().contains(tour.geometry())
        again = tour.next_button.mapFrom(window, first)
        assert tour.next_button.rect().contains(again), "a click at the same place hits it again"
        titles.append(tour.title.text())
        if place == 1:
            assert "max_results=10" in tour.example.text() and '"max_results":10' in tour.example.text()
        qtbot.mouseClick(tour.next_button, Qt.MouseButton.LeftButton)
    assert window.help.tour is None and len(set(titles)) == 5
    window.actions_.tour.trigger()
    qtbot.keyClick(window.help.tour.next_button, Qt.Key.Key_Return)
    assert window.help.tour.place == 1
    window.navigator.show(PageId.LESSONS)
    assert not window.help.tour.isVisible()
    window.navigator.show(PageId.PLAYGROUND)
    assert window.help.tour.isVisible() and window.help.tour.place == 1
    qtbot.keyClick(window.help.tour.next_button, Qt.Key.Key_Escape)
    assert window.help.tour is None


@pytest.mark.slow
def test_escape_ends_the_tour_wherever_the_focus_is(window, qtbot):
    window.actions_.tour.trigger()
    elsewhere = window.findChild(QWidget, "stepButton")
    elsewhere.setFocus()
    qtbot.keyClick(elsewhere, Qt.Key.Key_Escape)
    assert window.help.tour is None


@pytest.mark.slow
def test_the_palette_of_the_window_shows_the_whole_name_of_every_action_of_its_menus(window):
    palette = window.help.show_palette()
    QApplication.processEvents()
    names = [palette.list.topLevelItem(place).text(0) for place in range(palette.list.topLevelItemCount())]
    assert {"Run › Run", "View › Grammar", "Help › Tour"} <= set(names)
    widest = max(palette.list.fontMetrics().horizontalAdvance(name) for name in names)
    assert palette.list.columnWidth(0) > min(widest, palette.list.viewport().width() / 2)
    assert palette.windowFlags() & Qt.WindowType.FramelessWindowHint
    assert "Tools › Forbid all tools" in names, "the menus of the panels, too"
    assert len({name.rpartition(" › ")[2] for name in names if "Paste tools" in name}) == 1
    palette.reject()


def test_a_panel_that_the_view_menu_shows_is_in_front(window, qtbot):
    tools, prompt = (window.panels.docks[panel] for panel in (PanelId.TOOLS, PanelId.PROMPT))
    action = tools.toggleViewAction()
    action.trigger()
    prompt.raise_()
    action.trigger()
    qtbot.waitUntil(lambda: not tools.visibleRegion().isEmpty())


def test_the_selection_of_a_row_has_no_gaps_between_its_columns(window):
    palette = window.help.show_palette()
    QApplication.processEvents()
    row = palette.list.visualItemRect(palette.list.topLevelItem(0))
    image, between = palette.list.viewport().grab().toImage(), palette.list.columnWidth(0)
    colours = {image.pixelColor(x, row.top() + 2).name() for x in range(between - 3, between + 3)}
    assert colours == {theme().color("selection").name()}
    palette.reject()


@pytest.mark.slow
def test_no_dialog_asks_for_buttons_to_minimise_or_maximise_it(window):
    hints = Qt.WindowType.WindowMinimizeButtonHint | Qt.WindowType.WindowMaximizeButtonHint
    for dialog in dialogs(window):
        assert dialog.windowType() == Qt.WindowType.Dialog and dialog.parentWidget().window() is window
        assert not dialog.windowFlags() & hints, dialog.objectName()
        dialog.deleteLater()


def test_the_guide_lists_every_key_of_the_window(window):
    section = read_page("guide.md").partition("## Keyboard")[2]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("|")]
    listed = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    for first, last in re.findall(r"`Ctrl\+(\d)` … `Ctrl\+(\d)`", section):  # a row of pages
        listed |= {f"Ctrl+{number}" for number in range(int(first), int(last) + 1)}
    keys = {
        shortcut.toString(QKeySequence.SequenceFormat.PortableText): action.text()
        for action in window.findChildren(QAction)
        for shortcut in action.shortcuts()[:1]
    }
    assert {key: words for key, words in keys.items() if key not in listed | OF_TEXT} == {}
