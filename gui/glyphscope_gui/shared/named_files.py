"""The files outside of their suites' folders that the user allowed while the window is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from glyphscope.base.inputs import files_allowed


class NamedFile(NamedTuple):
    """A file that is named by a file in `folder`; both paths without links."""

    folder: Path
    path: Path


class NamedFiles:
    """A file is allowed to the suites of one folder: elsewhere, another suite that names it is asked about."""

    def __init__(self) -> None:
        self._allowed: frozenset[NamedFile] = frozenset()

    def allow(self, files: Iterable[NamedFile]) -> None:
        self._allowed |= frozenset(files)

    @contextmanager
    def reading(self) -> Iterator[list[NamedFile]]:
        """Within the context, in any thread, the allowed files can be read; the list gets the others that are named."""
        allowed, others = self._allowed, list[NamedFile]()

        def allows(folder: Path, path: Path) -> bool:
            file = NamedFile(folder, path)
            if file not in allowed and file not in others:
                others.append(file)
            return file in allowed

        with files_allowed(allows):
            yield others
