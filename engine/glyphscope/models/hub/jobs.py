"""Requests to the Hub and downloads from it, each in a separate process: ending the process ends every wait.

Only `look`, `find` and `get` run in that process, where alone huggingface_hub is imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError
from glyphscope.base.inputs import home_path
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.files import (
    DownloadFailure,
    DownloadProgress,
    FileChoice,
    FileListing,
    FoundFiles,
    How,
)
from glyphscope.models.hub.names import HubRequest
from glyphscope.processes.calls import Child, ProcessDied

if TYPE_CHECKING:
    from glyphscope.models.hub.client import Hub

MIN_LETTERS = 2
MAX_WORDS_LENGTH = 200
MAX_HITS = 30
_CLIENT = "glyphscope.models.hub.client"
"""The module whose import takes the time of the process's start."""
_MEMORY = 2 << 30  # bytes of address space: if a library needs more for an answer, only the process ends
_QUESTION_SECONDS = 120.0
_DOWNLOAD_SECONDS = 86_400.0
"""The limit between two reports of progress: a server may request a long pause. `cancel` ends it."""
_REPORT_SECONDS = 0.05
"""Seconds between two reports of the same phase."""

P = ParamSpec("P")
T = TypeVar("T")


def look(request: HubRequest) -> FileListing:
    """A repository's files. Raises ModelError, as the other functions do."""
    with _hub() as hub:
        return hub.look(request)


def find(words: str, limit: int) -> list[FoundFiles]:
    """Repositories by words, at most so many."""
    with _hub() as hub:
        return hub.find(words, limit)


def get(
    listing: FileListing, choice: FileChoice, folder: str, report: Callable[[DownloadProgress], object]
) -> tuple[str, How, bool]:
    """A download into a folder, as `fetch`. Raises StorageError too."""
    from glyphscope.models.hub.client import fetch

    reported, at = ("", ""), 0.0

    def notify(progress: DownloadProgress) -> None:
        nonlocal reported, at
        now = (progress.phase, progress.words)
        if now != reported or time.monotonic() - at >= _REPORT_SECONDS:
            report(progress)
            reported, at = now, time.monotonic()

    with _hub() as hub:
        return fetch(hub, listing, choice, folder, notify)


@contextmanager
def _hub() -> Iterator[Hub]:
    from glyphscope.models.hub.client import Hub
    from glyphscope.models.hub.failures import failed

    try:
        yield Hub()
    except Exception as error:
        raise failed(error).error from None


class DownloadStopped(Exception):
    """The job was cancelled. The downloaded part is kept."""


class DownloadResult(NamedTuple):
    """The model's (first) file. `hashed`: the content was compared with a hash that the Hub reports."""

    path: Path
    how: How
    hashed: bool = True


class HubJob:
    """One job, run once in any thread by a subclass's method; `cancel` ends it at once, from any other thread."""

    def __init__(self) -> None:
        self._cancelled = False
        self._process = Child("The download process", _CLIENT, memory=_MEMORY)

    def cancel(self) -> None:
        self._cancelled = True
        self._process.kill()

    def _ask(self, seconds: float, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
        """Its result. Raises ModelError and StorageError; DownloadStopped after `cancel`.

        `seconds` is the limit of each report of progress, and of the result.
        """
        if find_spec("huggingface_hub") is None:
            raise ModelError(
                "Downloading by name needs huggingface_hub, which is not installed.",
                hint="Install it: pip install 'glyphscope[hub]'.",
            )
        try:
            self._process.start()
            if not self._cancelled:  # checked after the start: from here on, `cancel` finds the process
                return self._process.call(seconds, function, *arguments, **none)
        except ProcessDied as died:
            if not self._cancelled:
                raise ModelError(died.message, where="Hugging Face Hub", hint="Try again.") from died
        finally:
            self._process.close()
        raise DownloadStopped


class Lookup(HubJob):
    """The files of one repository."""

    def __init__(self, request: HubRequest) -> None:
        super().__init__()
        self._request = request

    def listing(self) -> FileListing:
        """Raises ModelError; DownloadStopped after `cancel`."""
        return self._ask(_QUESTION_SECONDS, look, self._request)


class HubHit(NamedTuple):
    """A repository. `pick` is the file for the free memory, and `fits` whether it fits there (None: unknown).

    `problem` is the reason if there is no `listing`, or if no file of it can be picked.
    """

    repo: str
    downloads: int = 0
    listing: FileListing | None = None
    pick: Pick | None = None
    fits: bool | None = None
    problem: GlyphscopeError | None = None


class Search(HubJob):
    """A search for repositories with GGUF files, by words. `memory` is the free memory in bytes, None if unknown."""

    def __init__(self, words: str, memory: int | None, limit: int = 10) -> None:
        """Raises ModelError for words that cannot be searched."""
        super().__init__()
        self._words, self._memory, self._limit = words.strip(), memory, limit
        if not MIN_LETTERS <= len(self._words) <= MAX_WORDS_LENGTH:
            raise ModelError(
                f"The words to search have {len(self._words)} characters; {MIN_LETTERS} to {MAX_WORDS_LENGTH} are "
                "possible.",
                hint="Use words of a model's name, as in: qwen3 0.6b",
            )

    def hits(self) -> list[HubHit]:
        """Most downloaded first. Raises ModelError; DownloadStopped after `cancel`."""
        found = self._ask(_QUESTION_SECONDS, find, self._words, self._limit)
        return [self._hit(each) for each in found]

    def _hit(self, found: FoundFiles) -> HubHit:
        hit = HubHit(found.repo, found.downloads, found.listing)
        if found.failure is not None:
            return hit._replace(problem=_error(found.failure))
        assert found.listing is not None, "or a failure"
        try:
            picked = pick(found.listing, "", self._memory)
        except ModelError as error:
            return hit._replace(problem=error)
        size = picked.choice.bytes
        fits = None if self._memory is None or not size else size <= self._memory
        return hit._replace(pick=picked, fits=fits)


class Download(HubJob):
    """One download into `folder`. Any thread may read `progress`; `report` is called with it in the job's thread."""

    def __init__(
        self,
        listing: FileListing,
        choice: FileChoice,
        folder: Path,
        *,
        report: Callable[[DownloadProgress], None] = lambda _progress: None,
    ) -> None:
        super().__init__()
        self._files = listing, choice, str(home_path(folder))
        self._notify = report
        self.progress = DownloadProgress("checking", 0, choice.bytes)

    def run_to_end(self) -> DownloadResult:
        """Raises ModelError and StorageError; DownloadStopped after `cancel`. The downloaded part is kept for a later
        job.
        """
        path, how, hashed = self._ask(_DOWNLOAD_SECONDS, get, *self._files, self._report)
        return DownloadResult(Path(path), how, hashed)

    def _report(self, progress: DownloadProgress) -> None:
        self.progress = progress
        self._notify(progress)


def _error(failure: DownloadFailure) -> GlyphscopeError:
    kind = StorageError if failure.disk else ModelError
    return kind(failure.message, where=failure.where, hint=failure.hint)
