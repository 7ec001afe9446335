"""What is said of models, downloads and where they come from; without Qt."""

from __future__ import annotations

from importlib.util import find_spec

from glyphscope.models import FoundModel
from glyphscope.models.finding import EMBEDDED_SOURCE, FOLDER
from glyphscope.models.hub.choosing import gigabytes
from glyphscope_gui.controllers.model_getting import Loaded
from glyphscope_gui.models.model_names import model_name

MEND_HUB = "pip install 'glyphscope[hub]'"


def hub_is_here() -> bool:
    """Whether the extra for downloads by name is installed."""
    return find_spec("huggingface_hub") is not None


def name_words(model: FoundModel) -> str:
    """The name of a model that was found, as the picker has it too."""
    return model_name(model.path).name if model.source != "Ollama" else model.name


def source_words(model: FoundModel) -> str:
    if model.source == EMBEDDED_SOURCE:
        return "comes with Glyphscope"
    return "a folder of models" if model.source == FOLDER else model.source


def progress_words(loaded: Loaded) -> str:
    """How far it is, how fast, and how long it takes; nothing is told that is not known."""
    progress = loaded.progress
    if progress.phase == "waiting":
        return progress.words
    of = (
        f"{gigabytes(progress.done)} of {gigabytes(progress.total)}"
        if progress.total
        else gigabytes(progress.done)
    )
    if progress.phase == "checking":
        return f"Reading what is here already: {of}"
    if progress.phase == "naming":
        return f"Whole, and its hash is right: {gigabytes(progress.done)}"
    words = of
    if loaded.speed > 0:
        words += f", {gigabytes(round(loaded.speed))} a second"
        if left := max(progress.total - progress.done, 0):
            words += f", {_duration(left / loaded.speed)} left"
    return words


def _duration(seconds: float) -> str:
    """Rounded up, as nobody is sorry to wait less."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
