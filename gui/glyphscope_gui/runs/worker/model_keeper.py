"""The one open model: opened when it is needed, kept between runs, replaced when another is requested."""

from __future__ import annotations

import threading
from collections.abc import Callable

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import DEFAULT_LOAD, LoadOptions
from glyphscope.models.interface import Model, Opening
from glyphscope.processes.stopping import stopped_by
from glyphscope_gui.runs.worker.jobs import ModelStatus

Open = Callable[..., Model]
"""`open_model(name, options=…, progress=…)`."""
OptionsOf = Callable[[str], LoadOptions]
"""The load options of a model by its name; called in any thread."""


def usual_options(_name: str) -> LoadOptions:
    return DEFAULT_LOAD


class ModelKeeper:
    """Opens and keeps the model in the worker's thread; only `cancel` is for any thread."""

    def __init__(self, open_model: Open, notify: Callable[[ModelStatus], None]) -> None:
        self._open_model = open_model
        self._notify = notify
        self._lock = threading.Lock()
        self._key: tuple[str, LoadOptions] | None = None
        self.model: Model | None = None
        """The open model, if one is."""
        self._opening: Opening | None = None

    def get(self, name: str, options: LoadOptions) -> Model:
        """The model of that name, opened now if it was not. Raises ModelError."""
        if self.model is not None and self._key == (name, options):
            return self.model
        opening = Opening(lambda done: self._notify(ModelStatus("opening", name, progress=done)))
        with self._lock:
            self._opening = opening
        self.close()
        self._notify(ModelStatus("opening", name))
        try:
            with stopped_by(lambda: opening.cancelled):
                model = self._open_model(name, options=options, progress=opening)
        except GlyphscopeError as error:
            failed = ModelStatus("failed", name, str(error))
            self._notify(ModelStatus("none", name) if opening.cancelled else failed)
            raise
        finally:
            with self._lock:
                self._opening = None
        with self._lock:
            self._key, self.model = (name, options), model
        self._notify(ModelStatus("ready", name, info=model.info))
        return model

    def cancel(self) -> None:
        """End the running generation, or the opening of a model. Any thread."""
        with self._lock:
            if self._opening is not None:
                self._opening.cancel()
            if self.model is not None:
                self.model.cancel()

    def close(self) -> None:
        with self._lock:
            model, self._key, self.model = self.model, None, None
        if model is not None:
            model.close()
