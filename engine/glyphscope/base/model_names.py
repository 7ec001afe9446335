"""Readable names of models: one for each, made from its file's name or its address, wherever it is shown."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from glyphscope.base.visible import visible

_QUANTISATION = re.compile(r"[-._]((?:UD-)?I?Q\d(?:_[A-Z0-9]+)*|MXFP4|BF16|F16|F32)$", re.IGNORECASE)
_PART = re.compile(r"-\d{5}-of-\d{5}$")
"""The end of the name of the first of a model's several files."""


class ModelName(NamedTuple):
    """`name` has no folder and no extension; `quantisation` may be empty."""

    name: str
    quantisation: str = ""


def place_name(place: str) -> ModelName:
    """The name of the model at a path or an address."""
    if place.partition(":")[0].lower() in ("http", "https"):
        return ModelName(*map(visible, _of_address(place)))
    stem = _PART.sub("", re.sub(r"\.gguf$", "", PurePath(place).name, flags=re.IGNORECASE))
    match = _QUANTISATION.search(stem)
    if match is None:
        return ModelName(visible(stem or place))
    return ModelName(visible(stem[: match.start()]), visible(match.group(1).upper()))


def opened_name(path: str, name: str, quantisation: str = "") -> ModelName:
    """The name of an opened model: from its `path`, or else the `name` that it reports."""
    return place_name(path) if path else ModelName(visible(name), visible(quantisation))


def _of_address(address: str) -> tuple[str, str]:
    """The model's name and the host, or the host alone if no model is named."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, ""
    host = parts.netloc.rpartition("@")[2]
    name = unquote(parts.fragment).rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    return (name, host) if name else (host, "")
