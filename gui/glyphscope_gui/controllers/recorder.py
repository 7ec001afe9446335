"""Runs that are kept: in the history by themselves, in files on request, and as the recordings that ship."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from glyphscope.errors import GlyphscopeError
from glyphscope.events import AnyEvent, RunStarted
from glyphscope.resources import names, read_bytes
from glyphscope.sessions import History, atomic_write, read_record
from glyphscope.sessions.records import encode_record, parse_record
from glyphscope_gui.controllers.background import Background

FOLDER = "runs"
FIRST_RUN = "search-mask.jsonl"
"""The recording that stands in for the first run where there is no model."""


class Recorder(QObject):
    """Reads and writes off the window's thread. `kept` after a run is in the history, `failed` a GlyphscopeError.

    `notKept` carries the words of an error that `failed` told already: a history that cannot be written is no reason
    for a dialog after every run.
    """

    kept = Signal(object)
    failed = Signal(object)
    notKept = Signal(str)

    def __init__(self, history: History, limit: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._limit = limit
        self._background = Background(self)
        self._told = ""

    def keep(self, events: tuple[AnyEvent, ...]) -> None:
        """Put a finished run into the history."""
        if not events or not isinstance(events[0], RunStarted):
            return

        def work() -> None:
            self._history.add(events)
            self._history.prune(self._limit)

        self._background.start(f"keep {events[0].run}", work, self._kept, self._not_kept)

    def open(self, run: str, then: Callable[[tuple[AnyEvent, ...]], None]) -> None:
        """A run of the history."""
        self._background.start("open", lambda: self._history.events(run), then, self._fail)

    def read(self, path: Path, then: Callable[[tuple[AnyEvent, ...]], None]) -> None:
        """A recorded run of a file."""
        self._background.start("open", lambda: read_record(path).events, then, self._fail)

    def write(self, path: Path, events: tuple[AnyEvent, ...]) -> None:
        self._background.start(
            "write", lambda: atomic_write(path, encode_record(events)), lambda _: None, self._fail
        )

    def close(self) -> None:
        self._background.close()

    def _kept(self, row: object) -> None:
        self._told = ""
        self.kept.emit(row)

    def _not_kept(self, error: BaseException) -> None:
        if str(error) == self._told:
            self.notKept.emit(self._told)
        else:
            self._told = str(error)
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.failed.emit(error)


def bundled_runs() -> list[str]:
    """The names of the recordings that ship."""
    try:
        return names(FOLDER, ".jsonl")
    except FileNotFoundError:
        return []


def bundled_run(name: str) -> tuple[AnyEvent, ...]:
    """One of them. Raises GlyphscopeError when the installation is damaged."""
    try:
        return parse_record(read_bytes(f"{FOLDER}/{name}"), name).events
    except OSError as error:
        raise GlyphscopeError(f"The recording is missing: {error}.", where=name) from error
