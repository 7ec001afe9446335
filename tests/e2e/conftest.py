"""The embedded model, by itself and under the real window, for the tests of this folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

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


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of llama-cpp-python's own server with the embedded model, which it names `smol`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [
        sys.executable,
        "-m",
        "llama_cpp.server",
        "--model",
        str(embedded_path()),
        "--model_alias",
        "smol",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "4096"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | {"NO_COLOR": "1"})
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)


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
