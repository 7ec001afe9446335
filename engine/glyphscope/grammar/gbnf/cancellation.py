"""Checks that can be stopped: of a text of megabytes they take many seconds, and the answer may not be needed.

The loops whose length is the text's report here how much they did, wherever they are in the passes over a document; so
no function in between has to hand the question on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from glyphscope.errors import GlyphscopeError

EVERY = 2_000
"""Pieces of work between two questions: a few milliseconds."""


class CheckCancelled(GlyphscopeError):
    """A check that was stopped."""


class _Watch:
    __slots__ = ("cancel", "left")

    def __init__(self, cancel: Callable[[], bool]) -> None:
        self.cancel = cancel
        self.left = EVERY


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def stoppable(cancel: Callable[[], bool] | None) -> Iterator[None]:
    """A context in which work calls `cancel` every few milliseconds, and raises CheckCancelled when it returns True."""
    if cancel is None:
        yield
        return
    before = _WATCH.set(_Watch(cancel))
    try:
        yield
    finally:
        _WATCH.reset(before)


def checkpoint(pieces: int = 1) -> None:
    """Reports how much was done: a token, an item, a character. Raises CheckCancelled."""
    watch = _WATCH.get()
    if watch is None:
        return
    watch.left -= pieces
    if watch.left <= 0:
        watch.left = EVERY
        if watch.cancel():
            raise CheckCancelled("The check was stopped.")
