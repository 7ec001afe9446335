"""Check whether a frozen program contains paths of the machine that made it; run in the environment that was frozen.

`traces.py PROGRAM FOLDER…` prints each file, or module in the archive, with the path found; exit code 1 if any.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from PyInstaller.archive.readers import CArchiveReader


def traces(program: Path, folders: Sequence[str]) -> Iterator[str]:
    """The traces in the folder `program`; modules are packed in its start program."""
    needles = [folder.encode() for folder in folders]
    for file in sorted(program.rglob("*")):
        if file.is_file() and not file.is_symlink():
            yield from _found(str(file.relative_to(program)), file.read_bytes(), needles)
    archive = CArchiveReader(str(program / "glyphscope"))
    for name in archive.toc:
        if name.endswith(".pyz"):
            modules = archive.open_embedded_archive(name)
            for module in modules.toc:
                yield from _found(module, marshal.dumps(modules.extract(module)), needles)


def _found(name: str, data: bytes, needles: Sequence[bytes]) -> Iterator[str]:
    for folder in needles:
        if folder in data:
            yield f"{name}: {folder.decode()}"


if __name__ == "__main__":
    found = list(traces(Path(sys.argv[1]), sys.argv[2:]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
