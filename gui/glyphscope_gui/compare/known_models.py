"""The models that a comparison can name: recently used ones, and those found on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from glyphscope.models.finding import FoundModel, find_models
from glyphscope.models.opening import model_name_of
from glyphscope.text.figures import byte_size
from glyphscope_gui.context import AppContext
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr


class KnownModels(QObject):
    """`found` is emitted when the background search has ended."""

    found = Signal()

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._background = Background(self)
        self._found: dict[str, FoundModel] = {}
        self._looked = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names with which models are opened, the most recently used first."""
        return tuple(dict.fromkeys((*self._context.settings.value.recent_models, *self._found)))

    def look(self) -> None:
        """Search for models, once."""
        if self._looked:
            return
        self._looked = True
        settings, own = self._context.settings.value, self._context.services.places.models
        folders = (own, *(Path(folder) for folder in settings.model_folders))
        self._background.start("look", lambda: find_models(folders), self._show, lambda _error: None)

    def cost_words(self, models: Sequence[str]) -> str:
        """The cost of running several models in turn; empty for one."""
        if len(models) < 2:
            return ""
        sizes = [self._bytes(model) for model in models]
        size = tr(", {size} in total", size=byte_size(sum(sizes))) if all(sizes) else ""
        return tr(
            "%n model(s){size}, loaded one after the other; only one is in memory at a time.",
            "",
            len(models),
            size=size,
        )

    def _show(self, found: Sequence[FoundModel]) -> None:
        self._found = {model_name_of(model.path): model for model in found if not model.problem}
        self.found.emit()

    def _bytes(self, model: str) -> int:
        if model in self._found:
            return self._found[model].bytes
        try:
            return Path(model).stat().st_size
        except OSError:
            return 0
