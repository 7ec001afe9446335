"""The line over every page that says what is captured, as long as something is."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.labels import push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.marked_bar import MarkedBar
from glyphscope_gui.shared.plain_text import copy_text

MIN_CHARACTERS = 32
"""The least number of characters that stay in one line with the links: the server and the number of requests."""


class CaptureBar(MarkedBar):
    """Hidden without a capture. `pausedRequested`: show what waits at breakpoints; `stopRequested`: end the capture."""

    pausedRequested = Signal()
    stopRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._to = self._url = ""
        self.paused_button = push_button("", tip=tr("Look at what waits: edit it, send it on or drop it"))
        self.copy_button = push_button(
            tr("Copy address"), tip=tr("Copy the address for the agent, as OpenAI’s clients take it")
        )
        self.stop_button = push_button(
            tr("Stop capture"),
            name="stopCaptureButton",
            tip=tr("Close the agents’ connections; the runs stay"),
        )
        buttons = (self.paused_button, self.copy_button, self.stop_button)
        super().__init__("captureBar", tr("Capture"), buttons, MIN_CHARACTERS, parent)
        self.paused_button.clicked.connect(self.pausedRequested)
        self.copy_button.clicked.connect(lambda: copy_text(f"{self._url}/v1"))
        self.stop_button.clicked.connect(self.stopRequested)

    def show_capture(self, to: str, url: str) -> None:
        """Show the bar of a capture for the server `to`; agents use `url`."""
        self._to, self._url = to, url
        self.show_counts(0, 0, 0)
        self.show()

    def show_counts(self, requests: int, invalid: int, paused: int) -> None:
        """Show the numbers of captured requests, of those without a valid end, and of what is paused."""
        count = tr("%n request(s)", "", requests)
        wrong = tr(" ({invalid:,} not valid)", invalid=invalid) if invalid else ""
        url, to = (each.removeprefix("http://") for each in (self._url, self._to))
        whole = f"{url} → {to} · {count}{wrong}"
        self.words.set_forms(whole, f"{to} · {count}{wrong}", f"{to} · {count}", count)
        self.setAccessibleName(tr("Capture: {words}", words=whole))
        self.paused_button.setText(tr("%n paused", "", paused))
        self.paused_button.setVisible(paused > 0)
        self._fit()
