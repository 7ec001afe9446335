"""Readable names of models as `open_model` takes them."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath

from glyphscope.events import ModelInfo
from glyphscope.models.opening import embedded_path
from glyphscope.text import model_names
from glyphscope.text.model_names import ModelName as ModelName
from glyphscope.text.model_names import place_name
from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr

_WORDS = {"embedded": tr("Embedded model"), "scripted": tr("Scripted"), "recorded": tr("Recorded")}


def model_name(model: str) -> ModelName:
    """The name of a model: a file, an address, `embedded`, `scripted:…` or `recorded:…`."""
    kind, _, rest = model.partition(":")
    if kind not in _WORDS:
        return place_name(model)
    if model == "embedded" and (path := _embedded()):
        return place_name(path)
    return ModelName(visible(f"{_WORDS[kind]}: {PurePath(rest).stem}") if rest else _WORDS[kind])


def opened_name(info: ModelInfo) -> ModelName:
    """The name of an opened model: from its file, as the picker shows it, or else the name that it reports."""
    return model_names.opened_name(info.path, info.name, info.quantisation)


@cache
def _embedded() -> str:
    return str(embedded_path() or "")
