"""A model's file before it is loaded: its facts, and whether it can be loaded."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import threading
from pathlib import Path
from stat import S_ISDIR
from typing import TypeAlias

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size
from glyphscope.events import ModelInfo
from glyphscope.models.gguf import Header, read_header

_LANGUAGE = "Choose a language model; files named mmproj are the image part of one."
_PART = re.compile(r"-\d{5}(?=-of-\d{5}\.gguf$)", re.IGNORECASE)

Identity: TypeAlias = tuple[tuple[str, int, int, int, int], ...]
"""For each part of a model's file: real path, bytes, times of modification and change (ns), and inode."""


def inspect_file(path: Path, *, fits: bool = True) -> ModelInfo:
    """The facts in the file's header. With `fits`, a model larger than the free memory is an error.

    Raises ModelError for a file that is missing, a folder, unreadable, empty, not a GGUF, damaged, cut off, or not a
    language model.
    """
    where = str(path)
    folder = missing = False
    try:
        folder = S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        missing = True
    except (OSError, ValueError):
        pass  # too long, or in a forbidden folder: the reader reports that
    if folder:
        raise ModelError(
            "This is a folder, not a model file.", where=where, hint="Choose a .gguf file in it."
        )
    if missing:
        raise ModelError(
            "There is no such file.", where=where, hint="`glyphscope models` lists the models found."
        )
    header = read_header(path)
    if not header.architecture or not header.vocabulary:
        kind = (
            f"a {header.architecture} file without a vocabulary" if header.architecture else "no model at all"
        )
        raise ModelError(f"The file is not a language model: it is {kind}.", where=where, hint=_LANGUAGE)
    available = available_memory()
    if fits and available is not None and header.size > available:
        raise ModelError(
            f"The model needs {byte_size(header.size)} of memory, and {byte_size(available)} are free.",
            where=where,
            hint="Close other programs, or choose a smaller model or a stronger quantisation.",
        )
    return model_info(path, header)


def model_info(path: Path, header: Header) -> ModelInfo:
    """The header's facts; the file's hash is not among them."""
    return ModelInfo(
        name=header.name or path.stem,
        path=str(path),
        quantisation=header.quantisation,
        architecture=header.architecture,
        parameters=header.parameters,
        vocabulary=header.vocabulary,
        context=max(header.context, 0),
        bytes=header.size,
        has_chat_template=header.has_chat_template,
        sampling=header.sampling,
    )


def identity_of(path: str) -> Identity:
    """The identity of a model's file, or of all parts of a split one; empty if it cannot be read."""
    name = Path(path)
    pattern = "-[0-9][0-9][0-9][0-9][0-9]".join(map(glob.escape, _PART.split(name.name)))
    try:
        parts = sorted(name.parent.glob(pattern)) or [name]
        found = [(os.path.realpath(part), part.stat()) for part in parts]
    except OSError:
        return ()
    return tuple((real, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for real, s in found)


def libraries_in(folder: Path) -> list[tuple[str, int, int]]:
    """The name, the bytes and the time of modification (ns) of each file in a folder; empty if it cannot be read."""
    with contextlib.suppress(OSError):
        files = ((file.name, file.stat()) for file in folder.iterdir())
        return sorted((name, status.st_size, status.st_mtime_ns) for name, status in files)
    return []


def available_memory() -> int | None:
    """Bytes available without swapping; None if the system does not report them."""
    with (
        contextlib.suppress(OSError, ValueError, IndexError),
        open("/proc/meminfo", encoding="ascii") as file,
    ):
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


_hashes: dict[tuple[str, int, int], str] = {}


class FileHash:
    """The SHA-256 of a file, computed in the background and remembered until the file changes."""

    def __init__(self, path: Path) -> None:
        status = path.stat()
        self._key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
        self._thread: threading.Thread | None = None
        self._stopped = False
        if self._key not in _hashes:
            self._thread = threading.Thread(target=self._compute, name="model-hash", daemon=True)
            self._thread.start()

    def value(self, wait: float = 0.0) -> str:
        """The hash in hex; empty if it is not known after `wait` seconds, or the file cannot be read."""
        if self._thread is not None and wait > 0:
            self._thread.join(wait)
        return _hashes.get(self._key, "")

    def stop(self) -> None:
        """Ends the computation."""
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _compute(self) -> None:
        digest = hashlib.sha256()
        buffer = bytearray(1 << 20)
        with contextlib.suppress(OSError), open(self._key[0], "rb", buffering=0) as file:
            while not self._stopped:
                count = file.readinto(buffer)
                if not count:
                    _hashes[self._key] = digest.hexdigest()
                    return
                digest.update(memoryview(buffer)[:count])
