"""The real window over the embedded model, for the tests of this folder."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject

from glyphscope.models.opening import embedded_path
from glyphscope.sessions import places
from glyphscope_gui.main_window import MainWindow
from glyphscope_gui.parts import make_parts
from glyphscope_gui.theme import ThemeManager


@pytest.fixture
def window(qapp, qtbot):
    if embedded_path() is None:
        pytest.skip("the embedded model is not installed")
    owner = QObject()
    window = MainWindow(make_parts(places(), owner), ThemeManager(qapp, "light", parent=owner))
    window.resize(1440, 900)
    window.show()
    yield window
    window.shut_down()
    window.deleteLater()
    owner.deleteLater()
    qtbot.wait(1)
