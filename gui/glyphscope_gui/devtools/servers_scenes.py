"""What the pictures of the servers' page show: the bundled verb server, called by hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope_gui.servers.presenter import ServersPresenter
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window

VERBS = {"command": "glyphscope", "args": ["mcp", "serve-verbs"]}
TIMEOUT_MS = 20_000
LOOK_MS = 100


def show_servers(window: Window) -> None:
    """A server that is ready, a second one that waits for consent, and the answer to a call."""
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")
    presenter = window.page(PageId.SERVERS)
    assert isinstance(presenter, ServersPresenter)
    servers, view = window.services.servers, presenter.view
    window.navigator.show(PageId.SERVERS)
    servers.add("verbs", VERBS, allowed=True)
    servers.add("time", {"command": "uvx", "args": ["mcp-server-time"]}, allowed=False)
    view.list.choose("verbs")
    servers.start("verbs")
    _wait(lambda: view.tools.model.rowCount() > 0)
    if view.panel.tool is None:
        return
    view.panel.example_button.click()
    _wait(lambda: view.panel.form.arguments() != {} and view.panel.call_button.isEnabled())
    view.panel.call_button.click()
    _wait(lambda: view.panel.result.view is not None)


def _wait(holds: Callable[[], bool]) -> None:
    waited = 0
    while not holds() and waited < TIMEOUT_MS:
        loop = QEventLoop()
        QTimer.singleShot(LOOK_MS, loop.quit)
        loop.exec()
        waited += LOOK_MS
