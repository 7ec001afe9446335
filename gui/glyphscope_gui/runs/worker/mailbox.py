"""From the worker's thread to the window's: posts are collected, and delivered in batches.

The worker never waits for the window, and the window is woken once for a batch, not for each event: the first post
after a pause is delivered at once, those after it together, `INTERVAL_MS` later. A batch is small enough to be shown
within a frame; the rest waits for the next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal

from glyphscope.events import PromptEvaluated, PromptRendered, RunEvent, RunStarted, StageStarted
from glyphscope_gui.runs.worker.jobs import Batch, Post

INTERVAL_MS = 30
"""Milliseconds between two batches: thirty-three a second appear continuous."""
SOON_MS = 1
"""Milliseconds before a post that is not an event, so that input is handled in between."""
_BEGINNING = (RunStarted, StageStarted, PromptRendered, PromptEvaluated)
"""Events for which views are shown that take as long as a batch of tokens, so these wait for the next batch."""
MAX_POSTS = 260
"""Posts in one batch: at 2,000 tokens a second, about 180 come in one interval."""


class Mailbox(QObject):
    """Lives in the window's thread; `post` may be called from any. `batch` carries a Batch of the open job."""

    batch = Signal(object)
    _filled = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._posts: deque[Post] = deque()
        self._job = 0
        self._since = QElapsedTimer()
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._drain)
        self._filled.connect(self._wake, Qt.ConnectionType.QueuedConnection)

    def open_for(self, job: int) -> None:
        """Deliver only that job's posts from now on; waiting posts of an older one are dropped."""
        with self._lock:
            self._job = job
            self._posts.clear()

    def post(self, job: int, *posts: Post) -> None:
        """Post from any thread. Late posts of an older job are dropped."""
        with self._lock:
            if job != self._job:
                return
            wake = not self._posts
            self._posts.extend(posts)
        if wake:
            self._filled.emit()

    def close(self) -> None:
        """Deliver no further posts."""
        self.open_for(-1)
        self._timer.stop()

    def _wake(self) -> None:
        if self._job < 0 or self._timer.isActive():  # closed after the post, or a batch is due anyway
            return
        passed = self._since.elapsed() if self._since.isValid() else INTERVAL_MS
        if passed >= INTERVAL_MS:
            self._drain()
        else:
            self._timer.start(INTERVAL_MS - passed)

    def _drain(self) -> None:
        with self._lock:
            job = self._job
            posts = tuple(self._portion())
            rest = self._posts[0] if self._posts else None
        self._since.restart()
        if rest is not None:
            begins = posts and isinstance(posts[-1], _BEGINNING)
            self._timer.start(INTERVAL_MS if isinstance(rest, RunEvent) and not begins else SOON_MS)
        if posts:
            self.batch.emit(Batch(job, posts))

    def _portion(self) -> Iterator[Post]:
        """Events up to the next other post, or that post alone, as it takes as long to show as a batch of events. So do
        the events with which a run or a stage begins.
        """
        for _ in range(MAX_POSTS):
            if self._posts:
                yield (post := self._posts.popleft())
                if not (isinstance(post, RunEvent) and self._posts and isinstance(self._posts[0], RunEvent)):
                    return
                if isinstance(post, _BEGINNING) and not isinstance(self._posts[0], _BEGINNING):
                    return
