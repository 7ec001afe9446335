"""The functions of the process that connects to the Hub; huggingface_hub is imported there only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from glyphscope.models.hub.files import Choice, Listing
from glyphscope.models.hub.names import HubRequest
from glyphscope.models.hub.progress import Found, How, Progress

if TYPE_CHECKING:
    from glyphscope.models.hub.client import Hub

CLIENT = "glyphscope.models.hub.fetch"
"""The module whose import takes the time of the process's start."""
_REPORT_SECONDS = 0.05
"""Seconds between two reports of the same phase."""


def look(request: HubRequest) -> Listing:
    """A repository's files. Raises ModelError, as the other functions do."""
    with _hub() as hub:
        return hub.look(request)


def find(words: str, limit: int) -> list[Found]:
    """Repositories by words, at most so many."""
    with _hub() as hub:
        return hub.find(words, limit)


def get(
    listing: Listing, choice: Choice, folder: str, report: Callable[[Progress], object]
) -> tuple[str, How, bool]:
    """A download into a folder, as `fetch`. Raises StorageError too."""
    from glyphscope.models.hub.fetch import fetch

    reported, at = ("", ""), 0.0

    def notify(progress: Progress) -> None:
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
