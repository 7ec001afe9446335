"""Readable names of models, made from file names."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from glyphscope.events import ModelInfo
from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr

_QUANTISATION = re.compile(r"[-._]((?:UD-)?I?Q\d(?:_[A-Z0-9]+)*|MXFP4|BF16|F16|F32)$", re.IGNORECASE)
_PART = re.compile(r"-\d{5}-of-\d{5}$")
"""The end of the name of the first of a model's several files."""

_WORDS = {"embedded": tr("Embedded model"), "scripted": tr("Scripted"), "recorded": tr("Recorded")}


class ModelName(NamedTuple):
    """`name` has no folder and no extension; `quantisation` may be empty."""

    name: str
    quantisation: str = ""


def model_name(model: str) -> ModelName:
    """The name of a model as `open_model` takes it: a file, an address, `embedded`, `scripted:…` or `recorded:…`."""
    return ModelName(*map(visible, _named(model)))


def opened_name(info: ModelInfo) -> ModelName:
    """The name of an opened model: from its file, as the picker shows it, or else the name that it reports."""
    return model_name(info.path) if info.path else ModelName(visible(info.name), visible(info.quantisation))


def _named(model: str) -> ModelName:
    kind, _, rest = model.partition(":")
    if kind.lower() in ("http", "https"):
        return ModelName(*_of_address(model))
    if kind in _WORDS:
        return ModelName(f"{_WORDS[kind]}: {PurePath(rest).stem}" if rest else _WORDS[kind])
    stem = _PART.sub("", re.sub(r"\.gguf$", "", PurePath(model).name, flags=re.IGNORECASE))
    match = _QUANTISATION.search(stem)
    if match is None:
        return ModelName(stem or model)
    return ModelName(stem[: match.start()], match.group(1).upper())


def _of_address(address: str) -> tuple[str, str]:
    """The model's name and the host, or the host alone if no model is named."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, ""
    host = parts.netloc.rpartition("@")[2]
    name = unquote(parts.fragment).rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    return (name, host) if name else (host, "")
