"""The settings in use: one frozen value, with a signal on changes, saved soon after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import StorageError
from glyphscope.events import LoadOptions
from glyphscope.store import Settings, load_settings, save_settings
from glyphscope_gui.shared.card import FoldingSection

SAVE_DELAY_MS = 500


class SettingsStore(QObject):
    """`changed` carries the new Settings; `failed` a StorageError, emitted once until writing works again."""

    changed = Signal(object)
    failed = Signal(object)

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self.value, self.notice = load_settings(path)
        self._failing = False
        self._timer = QTimer(self, singleShot=True, interval=SAVE_DELAY_MS)
        self._timer.timeout.connect(self._write)

    def options_of(self, model: str) -> LoadOptions:
        """The load options of a model. Any thread, as the value is replaced, never changed."""
        return self.value.load_options_of(model)

    def update(self, **changes: Any) -> None:
        """Change fields of the settings, by name."""
        self.replace(msgspec.structs.replace(self.value, **changes))

    def remember(self, section: FoldingSection, name: str) -> None:
        """Open a section if it was open, and keep from now on whether it is."""

        def keep(is_open: bool) -> None:
            self.update(open_sections={**self.value.open_sections, name: is_open})

        section.show_open(self.value.open_sections.get(name, section.is_open))
        section.toggled.connect(keep)

    def replace(self, value: Settings) -> None:
        if value == self.value:
            return
        self.value = value
        self.changed.emit(value)
        self._timer.start()

    def close(self) -> None:
        """Write pending changes; the owner calls it at the end."""
        if self._timer.isActive():
            self._write()

    def _write(self) -> None:
        self._timer.stop()
        try:
            save_settings(self._path, self.value)
        except StorageError as error:
            if not self._failing:
                self.failed.emit(error)
            self._failing = True
        else:
            self._failing = False
