"""Effects of the demo tools, which runs call in their own threads, shown on the servers' page."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.demo_effects import DemoEffects
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.page_ids import PageId

PLACES = ("outbox", "scratch", "workspace")


class DemoEffectsPresenter(QObject):
    """Shows the effects while the page is visible, and catches up when it is shown again."""

    def __init__(self, context: AppContext, effects: DemoEffects) -> None:
        super().__init__(effects)
        self._context = context
        self._effects = effects
        self._demo = context.services.servers.demo
        self._background = Background(self)
        context.services.servers.effectsChanged.connect(self._changed)
        context.navigator.shown.connect(self._page_shown)
        effects.fileChosen.connect(self._read)

    # -- inside ------------------------------------------------------------------------------------------------

    def _page_shown(self, page: PageId) -> None:
        if page is PageId.SERVERS:
            for place in PLACES:
                self._changed(place)

    def _changed(self, place: str) -> None:
        if self._context.navigator.current is not PageId.SERVERS:
            return
        if place == "outbox":
            self._effects.show_mails(self._demo.outbox)
        elif place == "workspace":
            self._effects.show_workspace(self._demo.workspace)
        else:
            self._background.start("files", self._look, self._show_files, self._context.show_error)

    def _look(self) -> tuple[Any, str]:
        scratch = self._demo.scratch
        return scratch.files(), str(scratch.folder or "")

    def _show_files(self, found: tuple[Any, str]) -> None:
        self._effects.show_files(*found)

    def _read(self, path: str) -> None:
        scratch = self._demo.scratch
        self._background.start(
            "file",
            lambda: scratch.read(path).decode("utf-8", "replace"),
            lambda text: self._effects.show_file(path, text),
            lambda error: self._effects.show_file(path, f"({error})"),
        )
