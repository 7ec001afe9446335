"""The history of runs, in one SQLite file that several windows may use at once."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from glyphscope.errors import RecordError, StorageError
from glyphscope.events import Aborted, AnyEvent, CallReady, RunFailed, RunFinished, RunStarted, ToolKnown
from glyphscope.sessions.files import folder_lock, move_aside, now, storage_error
from glyphscope.sessions.records import encode_record, parse_record

VERSION = 1
_WAIT_SECONDS = 5.0
_ROOM = 64 * 1024
"""Bytes that SQLite needs beside the file itself."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, time TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL, notation TEXT NOT NULL,
    shape TEXT NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL, tool TEXT NOT NULL, tokens INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0, record BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (pinned DESC, time DESC);
"""
_COLUMNS = "id, time, title, model, notation, shape, kind, outcome, tool, tokens, pinned"
_SEARCHED = "(title || ' ' || model || ' ' || tool || ' ' || outcome || ' ' || notation)"


class HistoryRow(NamedTuple):
    """A run in the list. `outcome`: valid, invalid, aborted CODE, failed CODE, unfinished, or why it ended."""

    id: str
    time: str
    title: str
    model: str
    notation: str
    shape: str
    constraint: str
    outcome: str
    tool: str
    tokens: int
    pinned: bool


class History:
    """Each call opens the file for itself, so any thread and any process may use it.

    A damaged file is moved aside and a new one begun; `notice` then tells so, once. Raises StorageError when the file
    is locked for long, the disk is full or the folder may not be written, and RecordError when it is of a newer
    version: a caller goes on without history.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notice = ""

    def take_notice(self) -> str:
        """What the user should know of the file, and then nothing any more."""
        notice, self._notice = self._notice, ""
        return notice

    def add(self, events: Sequence[AnyEvent]) -> HistoryRow:
        """Keeps a run. Raises ValueError when `events` does not begin with RunStarted."""
        row = _row_of(events)
        blob = zlib.compress(encode_record(events), 6)
        with self._open() as base:
            base.execute(
                f"INSERT OR REPLACE INTO runs ({_COLUMNS}, record) VALUES ({', '.join('?' * 12)})",
                (*row, blob),
            )
        return row

    def rows(self, search: str = "", limit: int = 1000) -> list[HistoryRow]:
        """Pinned runs first, then the newest; every word of `search` in title, model, tool, outcome or notation."""
        where, values = "1", []
        for word in search.split():
            escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            where += f" AND {_SEARCHED} LIKE ? ESCAPE '\\'"
            values.append(f"%{escaped}%")
        with self._open() as base:
            found = base.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY pinned DESC, time DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return [HistoryRow._make((*row[:-1], bool(row[-1]))) for row in found]

    def events(self, run: str) -> tuple[AnyEvent, ...]:
        """The run's events. Raises RecordError when it is not there any more, or damaged."""
        with self._open() as base:
            found = base.execute("SELECT record FROM runs WHERE id = ?", (run,)).fetchone()
        if found is None:
            raise RecordError("This run is no longer in the history.", where=run)
        try:
            return parse_record(zlib.decompress(found[0]), run).events
        except zlib.error as error:
            raise RecordError(f"This run is damaged: {error}.", where=run, hint="Delete it.") from None

    def pin(self, run: str, pinned: bool = True) -> None:
        """Keeps a run at the top, and `prune` away from it."""
        with self._open() as base:
            base.execute("UPDATE runs SET pinned = ? WHERE id = ?", (pinned, run))

    def delete(self, *runs: str) -> None:
        with self._open() as base:
            base.executemany("DELETE FROM runs WHERE id = ?", [(run,) for run in runs])

    def prune(self, keep: int) -> None:
        """Deletes the oldest runs that are not pinned, so that `keep` of them are left."""
        with self._open() as base:
            base.execute(
                "DELETE FROM runs WHERE NOT pinned AND id NOT IN "
                "(SELECT id FROM runs WHERE NOT pinned ORDER BY time DESC LIMIT ?)",
                (keep,),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        base = self._prepared()
        try:
            with base:
                yield base
        except sqlite3.OperationalError as error:
            raise self._told(error) from error
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # the others are mistakes of ours, not of the file
                raise
            base.close()
            self._begin_anew(error)
            raise StorageError(self.take_notice(), where=str(self.path), hint="Try again.") from error
        finally:
            base.close()

    def _prepared(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            raise self._told(error) from error
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            raise self._told(error) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(error, self.path, "written") from error
        base = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            version = base.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise RecordError(
                    f"The history is of version {version}; this program reads up to version {VERSION}.",
                    where=str(self.path),
                    hint="Use a newer Glyphscope.",
                )
            if version < VERSION:
                base.execute("PRAGMA journal_mode = WAL")
                base.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            base.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            base.close()
            raise
        return base

    def _begin_anew(self, error: Exception) -> None:
        """Moves a damaged file aside, with what SQLite keeps beside it; unless another process did so already."""
        with folder_lock(self.path.parent):
            if self._is_whole():
                self._notice = "The history was damaged, and another window has begun a new one."
                return
            aside = move_aside(self.path)
            if aside is None:
                hint = "Move it away."
                raise StorageError(
                    f"The history is damaged ({error}).", where=str(self.path), hint=hint
                ) from error
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._notice = (
            f"The history was damaged ({error}). It was kept as {aside.name}, and a new one was begun."
        )

    def _is_whole(self) -> bool:
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as base:
                return bool(base.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False

    def _told(self, error: sqlite3.Error) -> StorageError:
        text = str(error)
        if "locked" in text or "busy" in text:
            hint = "Another window or program holds it. Try again."
        elif "full" in text or self._disk_is_full():
            text = "the disk is full"
            hint = "Make room; the runs that were kept before are still there."
        else:
            hint = "Check the folder's permissions."
        return StorageError(f"The history cannot be used: {text}.", where=str(self.path), hint=hint)

    def _disk_is_full(self) -> bool:
        """SQLite calls it an I/O error when there is no room for the files that it works with beside the history."""
        try:
            return shutil.disk_usage(self.path.parent).free < _ROOM
        except OSError:
            return False


def _row_of(events: Sequence[AnyEvent]) -> HistoryRow:
    if not events or not isinstance(started := events[0], RunStarted):
        raise ValueError("a run begins with RunStarted")
    request, outcome, tool, tokens = started.request, "unfinished", "", 0
    for event in events:
        if isinstance(event, ToolKnown):
            tool = event.name
        elif isinstance(event, CallReady):
            tool = event.tool
        elif isinstance(event, Aborted):
            outcome = f"aborted {event.code}"
        elif isinstance(event, RunFailed):
            outcome = f"failed {event.code}"
        elif isinstance(event, RunFinished):
            tokens = event.tokens
            if event.reason in ("answered", "no-tool"):  # well, and no call
                outcome = event.reason
            elif event.reason != "aborted":
                outcome = "valid" if event.valid else {"complete": "invalid"}.get(event.reason, event.reason)
    return HistoryRow(
        id=started.run or secrets.token_hex(8),
        time=started.time or now(),
        title=" ".join(request.prompt.split())[:200],
        model=started.model.name,
        notation=request.notation,
        shape=request.shape,
        constraint=request.constraint,
        outcome=outcome,
        tool=tool,
        tokens=tokens,
        pinned=False,
    )
