"""Checks that can be cancelled: a text of several megabytes takes many seconds, and its result may become obsolete.

Every loop over a text reports its work here (`checkpoint`), so that no function in between has to pass `cancel` on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from glyphscope.base.errors import GlyphscopeError

EVERY = 2_000
"""Pieces of work between two calls of `cancel`; they take a few milliseconds."""


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
    """A context in which work calls `cancel` every few milliseconds and raises CheckCancelled if it returns True."""
    if cancel is None:
        yield
        return
    before = _WATCH.set(_Watch(cancel))
    try:
        yield
    finally:
        _WATCH.reset(before)


def checkpoint(pieces: int = 1) -> None:
    """Report work: tokens, items or characters. Raises CheckCancelled."""
    watch = _WATCH.get()
    if watch is None:
        return
    watch.left -= pieces
    if watch.left <= 0:
        watch.left = EVERY
        if watch.cancel():
            raise CheckCancelled("The check was stopped.")
