"""The GGUF files that are on this machine already, in the places where other programs keep them."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import ModelError
from glyphscope.base.inputs import home_path
from glyphscope.models.gguf import read_header
from glyphscope.models.opening import embedded_path

EMBEDDED_SOURCE = "embedded"
HUGGING_FACE, LM_STUDIO, OLLAMA, LLAMA_CPP, FOLDER = (
    "Hugging Face",
    "LM Studio",
    "Ollama",
    "llama.cpp",
    "folder",
)

_LATER_PART = re.compile(r"-(?!0*1-of)\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_DEPTH = 8


class FoundModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model's file. `problem` is the reason why it cannot be used; if there is one, the header's facts are empty."""

    name: str
    path: str
    source: str
    bytes: int = 0
    quantisation: str = ""
    architecture: str = ""
    parameters: int = 0
    context: int = 0
    problem: str = ""


def find_models(folders: Sequence[Path] = ()) -> list[FoundModel]:
    """The embedded model, then the models in the usual places, then those in `folders`; each file once.

    Image parts (mmproj), later parts of a split model and folders that cannot be read are left out. Only headers are
    read.
    """
    seen: set[Path] = set()
    found: list[FoundModel] = []
    for name, path, source in _candidates(folders):
        with contextlib.suppress(OSError, RuntimeError):
            file = path.resolve(strict=True)
            if file not in seen and file.is_file():
                seen.add(file)
                found.append(_describe(name, path, source))
    return found


def _candidates(folders: Sequence[Path]) -> Iterator[tuple[str, Path, str]]:
    """A name (may be empty), a path, and its source."""
    if embedded := embedded_path():
        yield "", embedded, EMBEDDED_SOURCE
    home = home_path("~")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    hugging_face = Path(os.environ.get("HF_HOME") or cache / "huggingface") / "hub"
    for path in _gguf_files([Path(os.environ.get("HF_HUB_CACHE") or hugging_face)]):
        if "snapshots" in path.parts:
            yield "", path, HUGGING_FACE
    for path in _gguf_files([home / ".lmstudio" / "models", cache / "lm-studio" / "models"]):
        yield "", path, LM_STUDIO
    for name, path in _ollama(Path(os.environ.get("OLLAMA_MODELS") or home / ".ollama" / "models")):
        yield name, path, OLLAMA
    for path in _gguf_files([Path(os.environ.get("LLAMA_CACHE") or cache / "llama.cpp")]):
        yield "", path, LLAMA_CPP
    for path in _gguf_files(folders):
        yield "", path, FOLDER


def _gguf_files(folders: Iterable[Path]) -> Iterator[Path]:
    """In sorted order. Symbolic links to folders are followed, each folder once, to a depth of 8."""
    entered: set[Path] = set()
    waiting = [(folder, 0) for folder in folders]
    while waiting:
        folder, depth = waiting.pop(0)
        try:
            real = folder.resolve(strict=True)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (OSError, RuntimeError):
            continue
        if real in entered:
            continue
        entered.add(real)
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir() and depth < _DEPTH:
                    waiting.append((Path(entry.path), depth + 1))
                elif _is_model(entry.name):
                    yield Path(entry.path)


def _is_model(name: str) -> bool:
    return name.lower().endswith(".gguf") and "mmproj" not in name.lower() and not _LATER_PART.search(name)


def _ollama(root: Path) -> Iterator[tuple[str, Path]]:
    """Names and files by Ollama's manifests: `manifests/<host>/<namespace>/<model>/<tag>` names blobs by SHA-256."""
    manifests = root / "manifests"
    for folder, _, files in sorted(os.walk(manifests)):
        for file in sorted(files):
            manifest = Path(folder) / file
            parts = manifest.relative_to(manifests).parts[1:]
            digest = _ollama_blob(manifest)
            if digest and len(parts) >= 2:
                *model, tag = parts[1:] if parts[0] == "library" else parts
                yield f"{'/'.join(model)}:{tag}", root / "blobs" / Path(digest.replace(":", "-")).name


def _ollama_blob(manifest: Path) -> str:
    try:
        document: Any = json.loads(manifest.read_bytes())
        layers = document["layers"]
        return next((str(layer["digest"]) for layer in layers if layer["mediaType"] == _OLLAMA_MODEL), "")
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _describe(name: str, path: Path, source: str) -> FoundModel:
    found = FoundModel(name=name or path.stem, path=str(path), source=source)
    try:
        header = read_header(path)
    except ModelError as error:
        size = 0
        with contextlib.suppress(OSError):
            size = path.stat().st_size
        return replace(found, bytes=size, problem=error.message)
    return replace(
        found,
        bytes=header.size,
        quantisation=header.quantisation,
        architecture=header.architecture,
        parameters=header.parameters,
        context=header.context,
        problem="" if header.vocabulary else "The file is not a language model.",
    )
