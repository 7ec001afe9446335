"""What the pictures of the servers' page show: the bundled verb server, called by hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope_gui.servers.presenter import SERVERS
from glyphscope_gui.shell.main_window import MainWindow

VERBS = {"command": "glyphscope", "args": ["mcp", "serve-verbs"]}
TIMEOUT_MS = 20_000
LOOK_MS = 100


def show_servers(window: MainWindow) -> None:
    """A server that is ready, a second one that waits for consent, and the answer to a call."""
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")
    servers, page = window.parts.servers, window.servers_page
    window.pages.show(SERVERS)
    servers.add("verbs", VERBS, allowed=True)
    servers.add("time", {"command": "uvx", "args": ["mcp-server-time"]}, allowed=False)
    page.list.choose("verbs")
    servers.start("verbs")
    _wait(lambda: page.tools.model.rowCount() > 0)
    tool = page.panel.tool
    if tool is None:
        return
    page.panel.example_button.click()
    _wait(lambda: page.panel.form.arguments() != {} and page.panel.call_button.isEnabled())
    page.panel.call_button.click()
    _wait(lambda: page.panel.result.view is not None)


def _wait(holds: Callable[[], bool]) -> None:
    waited = 0
    while not holds() and waited < TIMEOUT_MS:
        loop = QEventLoop()
        QTimer.singleShot(LOOK_MS, loop.quit)
        loop.exec()
        waited += LOOK_MS
