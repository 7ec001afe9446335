"""The embedded model, by itself and under the real window, for the tests of this folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

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
    options = {"model": embedded_path(), "model_alias": "smol", "host": "127.0.0.1", "n_ctx": 4096}
    given = [str(part) for option in options.items() for part in (f"--{option[0]}", option[1])]
    with served(["-m", "llama_cpp.server", *given, "--port"], tmp_path_factory) as port:
        yield f"http://127.0.0.1:{port}/v1"


LLAMA_SERVER = """
import sys, time
from pathlib import Path
import xllamacpp

asked = xllamacpp.CommonParams()
asked.model.path, asked.chat_template = sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")
asked.n_ctx, asked.warmup, asked.port = 4096, False, int(sys.argv[3])
server = xllamacpp.Server(asked)
while True:
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def llama_server(tmp_path_factory, llama_data):
    """The port of llama.cpp's own server with the embedded model and a template of calls. From the group `agents`."""
    pytest.importorskip("xllamacpp")
    template = llama_data / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
    command = ["-c", LLAMA_SERVER, str(embedded_path()), str(template)]
    with served(command, tmp_path_factory) as port:
        yield port


@contextmanager
def served(command: list[str], folders) -> Iterator[int]:
    """Run Python with this command and a free port, where a server answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folders.mktemp("server") / "log"
    with log.open("wb") as out:
        command = [sys.executable, *command, str(port)]
        server = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | {"NO_COLOR": "1"})
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=10).close()
                break
            except OSError:  # one of HTTP too: llama.cpp's server answers with 503 while it loads the model
                assert server.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
        yield port
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
