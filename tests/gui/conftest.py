"""Whole windows for the tests of this folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QProgressDialog, QSplitter

from fake_context import fake_context, scripted
from glyphscope.events import RunRequest
from glyphscope.store import places
from glyphscope_gui.context import Page
from glyphscope_gui.project import first_project
from glyphscope_gui.run_settings.options import OPTIONS
from glyphscope_gui.run_settings.panel import OptionsPanel
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.theme import ThemeManager
from made_runs import asking
from on_screen import Screen

CALL = '{action="search" query="AI news" max_results=10}'


SHARED: list[MainWindow] = []
"""The window of the file, while there is one: it keeps its style sheet."""


def until(is_so: Callable[[], bool]) -> None:
    """Handle events until it is so, where there is no `qtbot`: between tests."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, "the window does not rest"
        QApplication.processEvents()
        time.sleep(0.001)


def is_soon(timer: QTimer) -> bool:
    """Whether the timer will soon do something, once."""
    return timer.isSingleShot() and timer.isActive() and timer.interval() <= 200


def make_window(app, opener, theme="light", size=(1440, 900)):
    owner = QObject()
    window = MainWindow(make_services(places(), owner, opener), ThemeManager(app, theme, parent=owner))
    if size:
        window.resize(*size)
    window.show()
    window.start()
    until(lambda: window.runs.model.phase in ("ready", "failed"))
    return window, owner


def end_window(window, owner):
    window.shut_down()
    window.deleteLater()
    owner.deleteLater()


@pytest.fixture(autouse=True)
def without_a_style_sheet():
    """Remove a style sheet with the test that set it: under one, making widgets takes five times as long."""
    yield
    if not SHARED and (app := QApplication.instance()) and app.styleSheet():
        app.setStyleSheet("")


@pytest.fixture
def open_window(qapp, qtbot):
    """Make the whole window, with the model that `opener` opens; it ends with the test, or once it is closed and
    another one is made: two are dressed together, in several times the time.
    """
    made = []

    def build(opener, **looks):
        for closed in [each for each in made if each[0].isHidden()]:
            made.remove(closed)
            end_window(*closed)
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        made.append(make_window(qapp, opener, **looks))
        return made[-1][0]

    yield build
    for window, owner in made:
        end_window(window, owner)
    qtbot.wait(1)


@pytest.fixture(scope="module")
def window_of_the_file(qapp, tmp_path_factory):
    """A window, its arrangement and its settings, for the tests of a file that use `window`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLYPHSCOPE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("GLYPHSCOPE_PROMPT_CACHE_MB", "0")
        window, owner = make_window(qapp, scripted)
    SHARED.append(window)
    yield window, window.saveState(), window.services.settings.value
    SHARED.clear()
    end_window(window, owner)
    QApplication.processEvents()
    qapp.setStyleSheet("")


@pytest.fixture
def begin_again(qtbot):
    """A function that makes a window as it was at its beginning, with that arrangement and those settings."""

    def again(window, arranged, settings):
        for dialog in window.findChildren(QDialog):
            if not isinstance(dialog, QProgressDialog):  # which ends with what it shows
                dialog.close()
                dialog.deleteLater()
        window.runs.stop()
        until(lambda: not window.runs.is_busy)
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(())
        if window.services.settings.value != settings:
            window.services.settings.update(**msgspec.structs.asdict(settings))
        window.services.project.new(first_project(settings))
        window.navigator.show(PageId.PLAYGROUND)
        window.restoreState(arranged)
        window.resize(1440, 900)
        until(lambda: not any(map(is_soon, window.findChildren(QTimer))))

    return again


@pytest.fixture
def window(window_of_the_file, begin_again):
    """The whole window, made once for the file, as at its beginning: the playground without a run in 1440 by 900
    pixels, a new project, no dialog. A test with another model or another theme, or that ends the window, opens its
    own; such tests come first in a file, as two windows are dressed together.
    """
    yield window_of_the_file[0]
    begin_again(*window_of_the_file)


@pytest.fixture
def screen_of(qtbot):
    """A function that returns the Screen of parts, or of a page with its panel and its dialogs."""

    def build(*parts):
        roots = []
        for part in parts:
            is_page = isinstance(part, Page)
            roots += (part.widget, part.side_panel, part.context.window) if is_page else (part,)
        return Screen(qtbot, *filter(None, roots))

    return build


@pytest.fixture
def open_page(qapp, qtbot):
    """Make a page by itself, over a fake context (`page.context`) with the model that `opener` opens."""
    made = []

    def build(page_id, opener=scripted, *, size=(1100, 800), ready=True):
        context = fake_context(qapp, opener, current=page_id)
        with context.themes.undressed():  # as the window does
            page = import_module(f"glyphscope_gui.{page_id}").create(context)
        made.append((page, context))
        page.widget.resize(*size)
        page.widget.show()
        context.navigator.shown.emit(page_id)
        if ready:
            context.runs.open_model(context.project.model)
            qtbot.waitUntil(lambda: context.runs.model.phase in ("ready", "failed"))
        return page

    yield build
    for page, context in made:
        page.close()
        for widget in filter(None, (page.widget, page.side_panel)):
            widget.close()
            widget.deleteLater()
        context.close()
    qtbot.wait(1)


@pytest.fixture
def open_panel(qtbot, screen_of):
    """Show the panel as a window, with these options and all groups open; return it, its screen, and all that a user
    chose in it.
    """

    def build(**changes):
        panel, said = OptionsPanel(), []
        qtbot.addWidget(panel)
        panel.setWindowFlags(Qt.WindowType.Window)
        panel.optionsChosen.connect(said.append)
        panel.show_options(RunRequest(**{"prompt": "", "registry": {}, **changes}))
        panel.show()
        panel.groups.open(*OPTIONS)
        return panel, screen_of(panel), said

    return build


@pytest.fixture
def open_playground(open_page):
    """Make the playground by itself, with its panel of evidence beside it."""
    made = []

    def build(opener=scripted, *, size=(1440, 900)):
        page = open_page(PageId.PLAYGROUND, opener)
        both = QSplitter()
        both.addWidget(page.view)
        both.addWidget(page.evidence)
        both.setSizes([size[0] - 400, 400])
        both.resize(*size)
        both.show()
        made.append(both)
        return page

    yield build
    for both in made:
        both.close()
        both.deleteLater()


@pytest.fixture
def asking_runs(monkeypatch):
    """Runs of the strategy `loop` ask about a call, then a question, and end."""
    monkeypatch.setitem(import_module("glyphscope.runs.strategies.running")._STRATEGIES, "loop", asking)


@pytest.fixture
def grammar(open_page, qtbot):
    """The grammar page by itself, with the focus in its text, and its first grammar checked."""
    page = open_page(PageId.GRAMMAR)
    page.view.setFocus()
    qtbot.waitUntil(lambda: page.bench.last is not None)
    return page


@pytest.fixture
def open_context(qapp, qtbot):
    """Make a context by itself, for a panel; `opener` opens its model when it is first requested."""
    made = []

    def build(opener=scripted):
        context = fake_context(qapp, opener)
        made.append(context)
        return context

    yield build
    for context in made:
        context.close()
    qtbot.wait(1)


@pytest.fixture
def context(open_context):
    return open_context()
