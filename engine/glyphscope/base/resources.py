"""The only reader of packaged files: registries, prompts, recorded runs, themes, icons, and the pages of docs/."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def _root() -> Traversable:
    return files("glyphscope_assets")


def read_bytes(path: str) -> bytes:
    """The file at `path`, relative to the assets folder, with forward slashes. Raises FileNotFoundError."""
    return _root().joinpath(*path.split("/")).read_bytes()


def read_text(path: str) -> str:
    """The file at `path` as UTF-8 text."""
    return read_bytes(path).decode("utf-8")


def names(folder: str, suffix: str = "") -> list[str]:
    """The sorted names of the files in a folder of the assets whose names end with `suffix`."""
    place = _root().joinpath(*folder.split("/"))
    return sorted(item.name for item in place.iterdir() if item.is_file() and item.name.endswith(suffix))


def docs_folder() -> Traversable:
    """The folder of docs/ with its images: in the assets of an installed program, in a checkout at its place."""
    packaged = _root().joinpath("docs")
    return packaged if packaged.is_dir() else Path(str(_root())).parents[1] / "docs"


def read_page(name: str) -> str:
    """A page of docs/. Raises FileNotFoundError."""
    return docs_folder().joinpath(name).read_text(encoding="utf-8")
