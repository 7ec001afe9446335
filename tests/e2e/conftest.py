"""The embedded model, by itself and under the real window, for the tests of this folder."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject

from glyphscope.models import EMBEDDED, embedded_path, open_model
from glyphscope.store import places
from glyphscope_gui.services import make_services
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.theme import ThemeManager


@pytest.fixture(scope="session")
def model():
    """One model for all tests that end neither it nor its process: the content of its cache must not matter to them."""
    model = open_model(EMBEDDED)
    yield model
    model.close()


@pytest.fixture
def window(qapp, qtbot):
    """The window with the embedded model; prompts are read ahead only where a test is about that."""
    if embedded_path() is None:
        pytest.skip("the embedded model is not installed")
    owner = QObject()
    services = make_services(places(), owner)
    services.settings.update(read_ahead=False)
    window = MainWindow(services, ThemeManager(qapp, "light", parent=owner))
    window.resize(1440, 900)
    window.show()
    yield window
    window.shut_down()
    window.deleteLater()
    owner.deleteLater()
    qtbot.wait(1)
