"""Getting a model by its name: one question or one download at a time, off the window's thread, and stoppable.

The download is the window's, not the dialog's: who closes the dialog does not stop it, and finds it again later.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.errors import GlyphscopeError
from glyphscope.models.files import available_memory
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.files import Choice, Listing
from glyphscope.models.hub.jobs import Download, DownloadResult, Hit, Lookup, Search, Stopped
from glyphscope.models.hub.names import read_request
from glyphscope.models.hub.wire import Progress
from glyphscope_gui.shared.background import Background

PROGRESS_MS = 200
"""The interval of progress updates, in milliseconds: figures that change faster cannot be read."""
_SPAN = 5.0
"""Seconds over which the speed is averaged."""
_LEAST_SPAN = 0.1
"""Seconds below which the speed is unknown."""


class Phase(Enum):
    """Whether nothing, a search or list of files, or a download is under way."""

    IDLE = auto()
    LOOKING = auto()
    LOADING = auto()


class Looked(NamedTuple):
    """The files of a repository. `pick` is None where none suits by default; then `problem` says why."""

    listing: Listing
    pick: Pick | None
    problem: GlyphscopeError | None


class Loaded(NamedTuple):
    """The progress of a download; `speed` in bytes a second, 0 while unknown."""

    choice: Choice
    progress: Progress
    speed: float


def is_words(text: str) -> bool:
    """Whether the text is for a search; names of repositories and addresses have a slash."""
    return "/" not in text


class ModelGetting(QObject):
    """One task at a time: a search on the Hub, the files of a repository, or a download.

    `searched` carries the hits, `looked` a Looked, `progressed` a Loaded, `ended` a DownloadResult, `failed` the error;
    `stopped` follows a `cancel`. `phaseChanged` comes before any of these.
    """

    phaseChanged = Signal()
    looked = Signal(object)
    searched = Signal(object)
    progressed = Signal(object)
    ended = Signal(object)
    stopped = Signal()
    failed = Signal(object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self.phase = Phase.IDLE
        self.looked_at: Looked | None = None
        self.hits: tuple[Hit, ...] = ()
        self.loading: Loaded | None = None
        self._background = Background(self, self.cancel)
        self._task: Search | Lookup | Download | None = None
        self._samples: deque[tuple[float, int]] = deque()
        """Times and the bytes downloaded then, over the last seconds."""
        self._timer = QTimer(self, interval=PROGRESS_MS)
        self._timer.timeout.connect(self._report_progress)

    def look(self, text: str) -> None:
        """Search the Hub for words, or list the files of a repository's name.

        `searched`, `looked` or `failed` answers. A request that is under way is cancelled.
        """
        if self.phase is Phase.LOADING:
            return
        self.cancel()
        self.looked_at, self.hits = None, ()
        try:
            if is_words(text):
                self._search(Search(text, available_memory()))
                return
            asked = read_request(text)
        except GlyphscopeError as error:
            self._set_phase(Phase.IDLE)
            self.failed.emit(error)
            return
        lookup = self._task = Lookup(asked)
        self._set_phase(Phase.LOOKING)

        def work() -> Looked:
            listing = lookup.listing()
            try:
                return Looked(listing, pick(listing, asked.which, available_memory()), None)
            except GlyphscopeError as error:
                return Looked(listing, None, error)

        self._start(lookup, work, self._has_looked)

    def choose(self, hit: Hit) -> None:
        """Show the files of a repository from the search. `looked` or `failed` is emitted at once."""
        if self.phase is not Phase.IDLE:
            return
        self.looked_at = None
        if hit.listing is not None:
            self._has_looked(Looked(hit.listing, hit.pick, hit.problem))
        elif hit.problem is not None:
            self.failed.emit(hit.problem)

    def load(self, listing: Listing, choice: Choice) -> None:
        """Download it, or continue where an earlier download of it stopped."""
        if self.phase is not Phase.IDLE:
            return
        download = self._task = Download(listing, choice, self.folder)
        self._samples.clear()
        self.loading = Loaded(choice, download.progress, 0.0)
        self._set_phase(Phase.LOADING)
        self._timer.start()
        self._start(download, download.run_to_end, self._has_loaded)

    def cancel(self) -> None:
        """Stop the current task at once; a partial download is kept."""
        if self._task is not None:
            self._task.cancel()

    def _start(
        self, task: Search | Lookup | Download, work: Callable[[], Any], done: Callable[[Any], None]
    ) -> None:
        """Start a task; the reports of an earlier one are dropped."""

        def if_current(then: Callable[[Any], None]) -> Callable[[Any], None]:
            return lambda outcome: then(outcome) if task is self._task else None

        self._background.start("task", work, if_current(done), if_current(self._ended_early))

    def _set_phase(self, phase: Phase) -> None:
        self.phase = phase
        if phase is not Phase.LOADING:
            self._timer.stop()
        if phase is Phase.IDLE:
            self._task = None
        self.phaseChanged.emit()

    def _search(self, search: Search) -> None:
        self._task = search
        self._set_phase(Phase.LOOKING)
        self._start(search, search.hits, self._has_searched)

    def _has_searched(self, hits: list[Hit]) -> None:
        self.hits = tuple(hits)
        self._set_phase(Phase.IDLE)
        self.searched.emit(self.hits)

    def _has_looked(self, looked: Looked) -> None:
        self.looked_at = looked
        self._set_phase(Phase.IDLE)
        self.looked.emit(looked)

    def _has_loaded(self, got: DownloadResult) -> None:
        self._set_phase(Phase.IDLE)
        self.ended.emit(got)

    def _ended_early(self, error: BaseException) -> None:
        if isinstance(self._task, Download):
            self._report_progress()
        self._set_phase(Phase.IDLE)
        if isinstance(error, Stopped):
            self.stopped.emit()
        else:
            self.failed.emit(error)

    def _report_progress(self) -> None:
        if not isinstance(self._task, Download) or self.loading is None:
            return
        now, progress = time.monotonic(), self._task.progress
        if progress.phase != "downloading":
            self._samples.clear()
        self._samples.append((now, progress.done))
        while now - self._samples[0][0] > _SPAN:
            self._samples.popleft()
        began, had = self._samples[0]
        speed = (progress.done - had) / (now - began) if now - began > _LEAST_SPAN else 0.0
        self.loading = Loaded(self.loading.choice, progress, max(speed, 0.0))
        self.progressed.emit(self.loading)
