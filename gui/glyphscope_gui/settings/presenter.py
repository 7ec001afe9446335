"""The settings and who follows them: looks, the model's context, what is kept, and what new projects begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from glyphscope.sessions import Settings
from glyphscope_gui.settings.dialog import SettingsDialog
from glyphscope_gui.settings.network_contacts import Contact, contacts
from glyphscope_gui.shell.services import first_project

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

REOPEN_MS = 900
"""After the last change of the context: nobody wants a model opened anew at each step of a spin box."""


class SettingsWiring(QObject):
    """Opens the dialog, and lets hold at once what is set in it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._store = window.parts.settings
        self._before = self._store.value
        self._reopen = QTimer(self, singleShot=True, interval=REOPEN_MS)
        self._reopen.timeout.connect(self._open_anew)
        window.actions_.settings.triggered.connect(self.show)
        self._store.failed.connect(window.tell_error)
        self._store.changed.connect(self._changed)

    def show(self) -> None:
        parts = self._window.parts
        dialog = SettingsDialog(self._store, parts.places, parts.history, self.contacts(), self._window)
        dialog.historyCleared.connect(self._window.history_page.refresh)
        dialog.open()

    def contacts(self) -> list[Contact]:
        """Who is sent something: by the models in use and lately used, and the servers."""
        parts = self._window.parts
        models = (self._window.wiring.model, parts.settings.value.model, *parts.settings.value.recent_models)
        servers = [known.source.config for known in parts.servers.known if known.source is not None]
        return contacts(models, servers)

    def close(self) -> None:
        self._reopen.stop()

    def _changed(self, settings: Settings) -> None:
        before, self._before = self._before, settings
        look = (settings.theme, settings.font_size, settings.code_font)
        if look != (before.theme, before.font_size, before.code_font):
            self._window.themes.choose(*look)
        if settings.context != before.context:
            self._reopen.start()
        self._window.recorder.limit = settings.history_limit
        project = self._window.parts.project
        untouched = project.path is None and not project.is_dirty
        if settings.first_options() != before.first_options() and untouched:
            project.new(first_project(settings))

    def _open_anew(self) -> None:
        if self._window.runs.model.phase != "none":
            self._window.runs.open_model(self._window.wiring.model, self._store.value.context)
