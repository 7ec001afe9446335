"""The only reader of packaged files: registries, prompts, recorded runs, themes, icons."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def _root() -> Traversable:
    return files("glyphscope_assets")


def read_bytes(path: str) -> bytes:
    """The file at `path`, relative to the assets' folder, with forward slashes. Raises FileNotFoundError."""
    return _root().joinpath(*path.split("/")).read_bytes()


def read_text(path: str) -> str:
    """The same, as UTF-8 text."""
    return read_bytes(path).decode("utf-8")


def names(folder: str, suffix: str = "") -> list[str]:
    """The sorted names of the files in a folder of the assets that end with `suffix`."""
    place = _root().joinpath(*folder.split("/"))
    return sorted(item.name for item in place.iterdir() if item.is_file() and item.name.endswith(suffix))
