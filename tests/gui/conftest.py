"""Whole windows for the tests of this folder."""

from __future__ import annotations

from importlib import import_module

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSplitter

from fake_context import fake_context, scripted
from glyphscope.sessions import places
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.theme import ThemeManager

CALL = '{action="search" query="AI news" max_results=10}'


@pytest.fixture(autouse=True)
def without_a_style_sheet(request):
    """Remove a style sheet with the test that set it: under one, making widgets takes five times as long."""
    yield
    if "qapp" in request.fixturenames and (app := request.getfixturevalue("qapp")).styleSheet():
        app.setStyleSheet("")


@pytest.fixture
def open_window(qapp, qtbot):
    """Make the whole window, with the model that `opener` opens; it ends with the test."""
    made = []

    def build(opener, *, theme="light", size=(1440, 900)):
        owner = QObject()
        window = MainWindow(make_services(places(), owner, opener), ThemeManager(qapp, theme, parent=owner))
        if size:
            window.resize(*size)
        window.show()
        window.start()
        qtbot.waitUntil(lambda: window.runs.model.phase in ("ready", "failed"))
        made.append((window, owner))
        return window

    yield build
    for window, owner in made:
        window.shut_down()
        window.deleteLater()
        owner.deleteLater()
    qtbot.wait(1)


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
def open_playground(open_page):
    """Make the playground by itself, with its panel of evidence beside it."""
    made = []

    def build(opener=scripted, *, size=(1440, 900)):
        page = open_page(PageId.PLAYGROUND, opener)
        both = QSplitter()
        both.addWidget(page.view)
        both.addWidget(page.evidence)
        both.setSizes([size[0] - 336, 336])
        both.resize(*size)
        both.show()
        made.append(both)
        return page

    yield build
    for both in made:
        both.close()
        both.deleteLater()


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
