"""Models of the Hugging Face Hub: one search or one download at a time, in the background, which can be cancelled.

A download belongs to the window: it continues while the dialog is closed, and is shown again when the dialog is opened.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.models.files import available_memory
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.files import DownloadProgress, FileChoice, FileListing
from glyphscope.models.hub.jobs import Download, DownloadResult, DownloadStopped, HubHit, Lookup, Search
from glyphscope.models.hub.names import read_request
from glyphscope_gui.shared.background import Background

PROGRESS_MS = 200
"""The interval of progress updates, in milliseconds: figures that change faster cannot be read."""
_SPAN = 5.0
"""Seconds over which the speed is averaged."""
_MIN_SPAN = 0.1
"""Seconds below which the speed is unknown."""


class DownloadPhase(Enum):
    """The current task: none, a search or list of files, or a download."""

    IDLE = auto()
    SEARCHING = auto()
    DOWNLOADING = auto()


class RepositoryFiles(NamedTuple):
    """The files of a repository. `pick` is None if none is suitable by default; `problem` then says why."""

    listing: FileListing
    pick: Pick | None
    problem: GlyphscopeError | None


class Downloading(NamedTuple):
    """The progress of a download; `speed` in bytes a second, 0 while unknown."""

    choice: FileChoice
    progress: DownloadProgress
    speed: float


def is_words(text: str) -> bool:
    """Whether the text is a search; names of repositories and addresses contain a slash."""
    return "/" not in text


class ModelDownloads(QObject):
    """One task at a time: a search on the Hub, the files of a repository, or a download.

    `searched` carries the hits, `filesListed` a RepositoryFiles, `progressed` a Downloading, `downloaded` a
    DownloadResult, `failed` the error; `stopped` follows a `cancel`. `phaseChanged` is emitted before any of these.
    """

    phaseChanged = Signal()
    filesListed = Signal(object)
    searched = Signal(object)
    progressed = Signal(object)
    downloaded = Signal(object)
    stopped = Signal()
    failed = Signal(object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self.phase = DownloadPhase.IDLE
        self.repository: RepositoryFiles | None = None
        self.hits: tuple[HubHit, ...] = ()
        self.downloading: Downloading | None = None
        self._background = Background(self, self.cancel)
        self._task: Search | Lookup | Download | None = None
        self._samples: deque[tuple[float, int]] = deque()
        """Times, with the bytes downloaded by then, over the last seconds."""
        self._timer = QTimer(self, interval=PROGRESS_MS)
        self._timer.timeout.connect(self._report_progress)

    def look(self, text: str) -> None:
        """Search the Hub for words, or list the files of a repository's name.

        `searched`, `filesListed` or `failed` carries the answer. A request in progress is cancelled.
        """
        if self.phase is DownloadPhase.DOWNLOADING:
            return
        self.cancel()
        self.repository, self.hits = None, ()
        try:
            if is_words(text):
                search = Search(text, available_memory())
                self._start(search, DownloadPhase.SEARCHING, search.hits, self._has_searched)
                return
            asked = read_request(text)
        except GlyphscopeError as error:
            self._set_phase(DownloadPhase.IDLE)
            self.failed.emit(error)
            return
        lookup = Lookup(asked)

        def work() -> RepositoryFiles:
            listing = lookup.listing()
            try:
                return RepositoryFiles(listing, pick(listing, asked.which, available_memory()), None)
            except GlyphscopeError as error:
                return RepositoryFiles(listing, None, error)

        self._start(lookup, DownloadPhase.SEARCHING, work, self._has_listed)

    def choose(self, hit: HubHit) -> None:
        """Show the files of a repository from the search. `filesListed` or `failed` is emitted at once."""
        if self.phase is not DownloadPhase.IDLE:
            return
        self.repository = None
        if hit.listing is not None:
            self._has_listed(RepositoryFiles(hit.listing, hit.pick, hit.problem))
        elif hit.problem is not None:
            self.failed.emit(hit.problem)

    def download(self, listing: FileListing, choice: FileChoice) -> None:
        """Download a model, or resume an earlier download of it."""
        if self.phase is not DownloadPhase.IDLE:
            return
        download = Download(listing, choice, self.folder)
        self._samples.clear()
        self.downloading = Downloading(choice, download.progress, 0.0)
        self._timer.start()
        self._start(download, DownloadPhase.DOWNLOADING, download.run_to_end, self._has_downloaded)

    def cancel(self) -> None:
        """Stop the current task at once; a partial download is kept."""
        if self._task is not None:
            self._task.cancel()

    def _start(
        self,
        task: Search | Lookup | Download,
        phase: DownloadPhase,
        work: Callable[[], Any],
        done: Callable[[Any], None],
    ) -> None:
        """Start a task; reports of an earlier task are dropped."""
        self._task = task
        self._set_phase(phase)

        def if_current(then: Callable[[Any], None]) -> Callable[[Any], None]:
            return lambda outcome: then(outcome) if task is self._task else None

        self._background.start("task", work, if_current(done), if_current(self._ended_early))

    def _set_phase(self, phase: DownloadPhase) -> None:
        self.phase = phase
        if phase is not DownloadPhase.DOWNLOADING:
            self._timer.stop()
        if phase is DownloadPhase.IDLE:
            self._task = None
        self.phaseChanged.emit()

    def _has_searched(self, hits: list[HubHit]) -> None:
        self.hits = tuple(hits)
        self._set_phase(DownloadPhase.IDLE)
        self.searched.emit(self.hits)

    def _has_listed(self, files: RepositoryFiles) -> None:
        self.repository = files
        self._set_phase(DownloadPhase.IDLE)
        self.filesListed.emit(files)

    def _has_downloaded(self, got: DownloadResult) -> None:
        self._set_phase(DownloadPhase.IDLE)
        self.downloaded.emit(got)

    def _ended_early(self, error: BaseException) -> None:
        if isinstance(self._task, Download):
            self._report_progress()
        self._set_phase(DownloadPhase.IDLE)
        if isinstance(error, DownloadStopped):
            self.stopped.emit()
        else:
            self.failed.emit(error)

    def _report_progress(self) -> None:
        if not isinstance(self._task, Download) or self.downloading is None:
            return
        now, progress = time.monotonic(), self._task.progress
        if progress.phase != "downloading":
            self._samples.clear()
        self._samples.append((now, progress.done))
        while now - self._samples[0][0] > _SPAN:
            self._samples.popleft()
        began, had = self._samples[0]
        speed = (progress.done - had) / (now - began) if now - began > _MIN_SPAN else 0.0
        self.downloading = Downloading(self.downloading.choice, progress, max(speed, 0.0))
        self.progressed.emit(self.downloading)
