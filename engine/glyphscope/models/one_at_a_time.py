"""One generation at a time: another thread's waits, and one inside of another is a mistake that is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from glyphscope.errors import ModelError


class OneAtATime:
    """The right to generate, of one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Waits for the generation of another thread. Raises ModelError where this thread has one already."""
        here = threading.get_ident()
        if self._owner == here:
            raise ModelError(
                "The model is still generating in this thread.",
                hint="Close the generation before the next one.",
            )
        with self._lock:
            self._owner = here
            try:
                yield
            finally:
                self._owner = None
