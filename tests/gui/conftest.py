"""Whole windows for the tests of this folder."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject

from glyphscope.models import ScriptedModel
from glyphscope.sessions import places
from glyphscope_gui.grammar.presenter import PAGE
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.shell.services import make_parts
from glyphscope_gui.theme import ThemeManager

CALL = '{action="search" query="AI news" max_results=10}'


@pytest.fixture
def open_window(qapp, qtbot):
    """Make the whole window over whatever `opener` opens as the model; it ends with the test."""
    made = []

    def build(opener, *, theme="light", size=(1440, 900)):
        owner = QObject()
        window = MainWindow(make_parts(places(), owner, opener), ThemeManager(qapp, theme, parent=owner))
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
def make_page(open_window, qtbot):
    """Make the whole window with its grammar page shown and its first grammar checked."""

    def build(size=(1440, 900), page=PAGE):
        window = open_window(lambda _name, **_options: ScriptedModel(CALL), size=size)
        if page != "playground":
            window.pages.show(page)
            qtbot.waitUntil(lambda: window.grammar.bench.last is not None)
        return window

    return build
