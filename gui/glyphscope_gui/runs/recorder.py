"""Stored runs: automatically in the history, in files on request, and the bundled recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError, RecordError, Stopped
from glyphscope.base.resources import names, read_bytes
from glyphscope.events import AnyEvent, RunStarted
from glyphscope.store import History, Record, atomic_write
from glyphscope.store.bundle import read_run, redacted, write_run
from glyphscope.store.exports import RecordedRun, export
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.records import parse_record
from glyphscope_gui.runs.copy_menu import copied_words
from glyphscope_gui.runs.export_formats import (
    PAGE_SUFFIX,
    ExportedRun,
    bundle_summary,
    exported,
    page_summary,
    record_summary,
)
from glyphscope_gui.runs.run_controller import EndedRun
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import copy_text

_Outcome = TypeVar("_Outcome")
FOLDER = "runs"
FIRST_RUN = "search-mask.jsonl"
"""The recording that is shown as the first run if there is no model."""


class Recorder(QObject):
    """Reads and writes in the background. `runSaved` is emitted once a run is in the history; `failed` carries a
    GlyphscopeError.

    `described` carries the id of a run with a new name or note in the history.

    `saveFailed` carries the text of an error that `failed` already reported, as a history that cannot be written must
    not open a dialog after every run. `written` carries a file's path and a summary of its content; `noticed` any other
    message. `exporting` carries whether a run is being written or exported, which `stop` ends: a template of the record
    can take 10 s. `limit` is the number of runs to keep.
    """

    runSaved = Signal(object)
    described = Signal(str)
    failed = Signal(object)
    saveFailed = Signal(str)
    written = Signal(str, str)
    noticed = Signal(str)
    exporting = Signal(bool)

    def __init__(self, history: History, limit: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self.limit = limit
        self._background = Background(self)
        self._last_error = ""
        self._exports: set[str] = set()
        """The jobs that write or export a run."""

    def stop(self) -> None:
        """Stop writing and exporting."""
        for slot in self._exports:
            self._background.stop(slot)

    def finish(self, ended: EndedRun) -> None:
        if ended.kind == "run":
            self.keep(ended.events)

    def keep(self, events: tuple[AnyEvent, ...]) -> None:
        """Store a finished run in the history."""
        if not events or not isinstance(events[0], RunStarted):
            return

        limit = self.limit

        def work() -> None:
            self._history.add(events)
            self._history.prune(limit)

        self._background.start(f"keep {events[0].run}", work, self._run_saved, self._run_not_saved)

    def keep_unfinished(self, events: tuple[AnyEvent, ...]) -> None:
        """Store a run at once that ends with the program: its turns and approvals cannot be made again."""
        if events and isinstance(events[0], RunStarted):
            with suppress(GlyphscopeError):
                self._history.add(events)

    def keep_again(self, events: tuple[AnyEvent, ...]) -> None:
        """Store a run whose expected answer has changed, if it is in the history."""
        started = next(event for event in events if isinstance(event, RunStarted))

        def work() -> str:
            with suppress(RecordError):  # it is not in the history
                self._history.find(started.run)
                self._history.add(events)
            return started.run

        self._background.start(f"keep {started.run}", work, self.described.emit, self._run_not_saved)

    def open(self, run: str, then: Callable[[tuple[AnyEvent, ...]], None]) -> None:
        """Open a run of the history."""
        self._background.start("open", lambda: self._history.events(run), then, self.failed.emit)

    def read(self, path: Path, then: Callable[[tuple[AnyEvent, ...]], None]) -> None:
        """Read a recorded run from a file: a record, or a bundle that contains one."""

        def read(record: Record) -> None:
            if record.torn:
                self.noticed.emit(tr("The last line of {name} is incomplete and was skipped", name=path.name))
            then(record.events)

        self._background.start("open", lambda: read_run(path), read, self.failed.emit)

    def write(self, path: Path, events: tuple[AnyEvent, ...]) -> None:
        """Write a run as a bundle or a record, depending on the file extension."""

        def work() -> str:
            manifest = write_run(path, events)
            if manifest is None:
                return record_summary(path, events)
            return bundle_summary(path, manifest, path.stat().st_size)

        self._write(path, work)

    def export(self, events: tuple[AnyEvent, ...], form: str, then: Callable[[ExportedRun], None]) -> None:
        """Convert the run to another program's form, without details of this computer."""

        def work() -> ExportedRun:
            run = tuple(redacted(events))
            return exported(run, form, export(RecordedRun(run), form))

        self._export("export", work, then)

    def write_page(self, path: Path, runs: Sequence[tuple[AnyEvent, ...]]) -> None:
        """Write these runs side by side into an HTML page, without details of this computer."""

        def work() -> str:
            page = html_page([RecordedRun(redacted(events)) for events in runs])
            atomic_write(path, page.encode("utf-8", "replace"))
            return page_summary(path)

        self._write(path, work)

    def copy(self, events: tuple[AnyEvent, ...], form: str) -> None:
        """Copy the run in that form to the clipboard; if that is not possible, `noticed` says why."""

        def work() -> str:
            return export(RecordedRun(tuple(redacted(events))), form)

        def done(text: str) -> None:
            copy_text(text.removesuffix("\n") if form != "prompt" else text)
            self.noticed.emit(copied_words(form))

        def failed(error: BaseException) -> None:
            if not isinstance(error, GlyphscopeError):
                raise error
            self.noticed.emit(str(error))

        self._export("copy", work, done, failed)

    def write_text(self, path: Path, text: str) -> None:
        """Write an export as it was shown. A lone surrogate, which UTF-8 cannot encode, becomes a question
        mark.
        """

        def work() -> str:
            atomic_write(path, text.encode("utf-8", "replace"))
            return page_summary(path) if path.suffix == PAGE_SUFFIX else ""

        self._write(path, work)

    def _write(self, path: Path, work: Callable[[], str]) -> None:
        """`work` writes the file and returns a summary of its content; "" if the file's name is enough."""

        def done(words: str) -> None:
            if words:
                self.written.emit(str(path), words)
            else:
                self.noticed.emit(tr("{name} was saved", name=path.name))

        self._export(f"write {path}", work, done)

    def _export(
        self,
        slot: str,
        work: Callable[[], _Outcome],
        done: Callable[[_Outcome], object],
        failed: Callable[[BaseException], object] | None = None,
    ) -> None:
        def ended() -> None:
            self._exports.discard(slot)
            if not self._exports:
                self.exporting.emit(False)

        def succeeded(outcome: _Outcome) -> None:
            ended()
            done(outcome)

        def ended_early(error: BaseException) -> None:
            ended()
            if isinstance(error, Stopped):
                self.noticed.emit(tr("The export was stopped"))
            else:
                (failed or self.failed.emit)(error)

        self._exports.add(slot)
        self.exporting.emit(True)
        self._background.start(slot, work, succeeded, ended_early)

    def _run_saved(self, row: object) -> None:
        self._last_error = ""
        self.runSaved.emit(row)

    def _run_not_saved(self, error: BaseException) -> None:
        if str(error) == self._last_error:
            self.saveFailed.emit(self._last_error)
        else:
            self._last_error = str(error)
            self.failed.emit(error)


def bundled_runs() -> list[str]:
    """The names of the bundled recordings."""
    try:
        return names(FOLDER, ".jsonl")
    except FileNotFoundError:
        return []


def bundled_run(name: str) -> tuple[AnyEvent, ...]:
    """A bundled recording by its name. Raises GlyphscopeError if the installation is damaged."""
    try:
        return parse_record(read_bytes(f"{FOLDER}/{name}"), name).events
    except OSError as error:
        raise GlyphscopeError(tr("The recording is missing: {error}.", error=error), where=name) from error
