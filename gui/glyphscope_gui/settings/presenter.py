"""The settings dialog, and the effects of settings: looks, the model's context, the history, the first project."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.sessions import Settings
from glyphscope_gui.context import AppContext
from glyphscope_gui.project.project_controller import first_project
from glyphscope_gui.settings.dialog import SettingsDialog
from glyphscope_gui.settings.network_contacts import Contact, contacts

REOPEN_MS = 900
"""Delay after the last change of a load option, so that the model is not reloaded at each step of a spin box."""


class SettingsPresenter(QObject):
    """Opens the dialog and applies its changes at once. `historyCleared`: runs of the history were deleted."""

    historyCleared = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.window)
        self._context = context
        self._store = context.settings
        self._before = self._store.value
        self._reopen = QTimer(self, singleShot=True, interval=REOPEN_MS)
        self._reopen.timeout.connect(self._open_again)
        context.actions.settings.triggered.connect(self.show)
        self._store.failed.connect(context.show_error)
        self._store.changed.connect(self._changed)

    def show(self) -> None:
        services = self._context.services
        dialog = SettingsDialog(
            self._store, services.places, services.history, self.contacts(), self._context.window
        )
        dialog.historyCleared.connect(self.historyCleared)
        dialog.open()

    def contacts(self) -> list[Contact]:
        """The recipients of data: the models in use and recently used, and the servers."""
        settings, known = self._store.value, self._context.services.servers.known
        models = (self._context.project.model, settings.model, *settings.recent_models)
        servers = [each.config for each in known if not each.problem]
        return contacts(models, servers)

    def _changed(self, settings: Settings) -> None:
        before, self._before = self._before, settings
        look = (settings.theme, settings.font_size, settings.code_font)
        if look != (before.theme, before.font_size, before.code_font):
            self._context.themes.choose(*look)
        model = self._context.project.model
        if settings.load_options_of(model) != before.load_options_of(model):
            self._reopen.start()
        self._context.recorder.limit = settings.history_limit
        project = self._context.project
        untouched = project.path is None and not project.is_dirty
        if settings.first_options() != before.first_options() and untouched:
            project.new(first_project(settings))

    def _open_again(self) -> None:
        runs = self._context.runs
        if runs.model.phase not in ("none", "unloading"):
            runs.open_model(self._context.project.model)
