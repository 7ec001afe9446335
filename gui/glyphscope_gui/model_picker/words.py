"""What is said of models, downloads and where they come from; without Qt."""

from __future__ import annotations

from importlib.util import find_spec

from glyphscope.models import FoundModel
from glyphscope.models.finding import EMBEDDED_SOURCE, FOLDER
from glyphscope.models.hub.choosing import gigabytes
from glyphscope_gui.model_picker.getting import Loaded
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name

MEND_HUB = "pip install 'glyphscope[hub]'"


def hub_is_here() -> bool:
    """Whether the extra for downloads by name is installed."""
    return find_spec("huggingface_hub") is not None


def name_words(model: FoundModel) -> str:
    """The name of a model that was found, as the picker has it too."""
    return model_name(model.path).name if model.source != "Ollama" else model.name


def source_words(model: FoundModel) -> str:
    if model.source == EMBEDDED_SOURCE:
        return tr("comes with Glyphscope")
    return tr("a folder of models") if model.source == FOLDER else model.source


def progress_words(loaded: Loaded) -> str:
    """How far it is, how fast, and how long it takes; nothing is told that is not known."""
    progress = loaded.progress
    if progress.phase == "waiting":
        return progress.words
    of = (
        tr("{done} of {total}", done=gigabytes(progress.done), total=gigabytes(progress.total))
        if progress.total
        else gigabytes(progress.done)
    )
    if progress.phase == "checking":
        return tr("Reading what is here already: {progress}", progress=of)
    if progress.phase == "naming":
        return tr("Whole, and its hash is right: {done}", done=gigabytes(progress.done))
    words = of
    if loaded.speed > 0:
        words = tr("{progress}, {speed} a second", progress=of, speed=gigabytes(round(loaded.speed)))
        if left := max(progress.total - progress.done, 0):
            words = tr("{progress}, {duration} left", progress=words, duration=_duration(left / loaded.speed))
    return words


def _duration(seconds: float) -> str:
    """Rounded up, as nobody is sorry to wait less."""
    if seconds < 90:
        return tr("{seconds} s", seconds=max(round(seconds), 1))
    minutes = round(seconds / 60)
    return (
        tr("{minutes} min", minutes=minutes)
        if minutes < 90
        else tr("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)
    )
