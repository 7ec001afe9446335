"""The history of runs, in one SQLite file that several windows can use at the same time."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.inputs import storage_error
from glyphscope.base.locks import folder_lock
from glyphscope.base.model_names import opened_name
from glyphscope.base.structs import ready
from glyphscope.events import (
    AnyEvent,
    CallReady,
    RunRequest,
    RunStarted,
    Sampling,
    Token,
    ToolKnown,
    decode_event,
)
from glyphscope.events.encoding import whole_text
from glyphscope.runs import RunState, run_state
from glyphscope.runs.endings import outcome_of
from glyphscope.store.files import move_aside, now
from glyphscope.store.history_search import MAX_SCORE, conditions, folded, tag_column
from glyphscope.store.records import encode_record, parse_record
from glyphscope.turns.own import named_call

VERSION = 4
NATIVE = "native"
"""The notation of a run in the model's own form."""
MAX_ANSWER = 2000
"""The characters of an answer that are stored beside the record, for lists of runs."""
MAX_FAMILY = 500
"""The maximum number of listed runs of one tree of branches: the newest."""
_WAIT_SECONDS = 5.0
_CHUNK = 64 * 1024
"""The bytes of a record that are decompressed at a time, to read its beginning."""
_ROOM = 64 * 1024
"""The bytes that SQLite needs in addition to the file itself."""

_STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE IF NOT EXISTS runs (
            id TEXT PRIMARY KEY, time TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL,
            notation TEXT NOT NULL, shape TEXT NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL,
            tool TEXT NOT NULL, tokens INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, record BLOB NOT NULL
        )""",
        "CREATE INDEX IF NOT EXISTS runs_by_time ON runs (pinned DESC, time DESC)",
    ),
    (
        "ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN parent TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN answer TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX runs_by_parent ON runs (parent)",
    ),
    (
        "ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN score INTEGER NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE runs ADD COLUMN sampling TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET sampling = sampling_of(CAST(record AS BLOB))",
    ),
)
"""The statements that upgrade a file of each version to the next. `sampling_of` is `_sampling_of`."""
_RUN_COLUMNS = "id, time, title, model, notation, shape, kind, outcome, tool, tokens"
_COLUMNS = f"{_RUN_COLUMNS}, pinned, name, note, parent, tags, score, sampling"
_OF_RUN = (*_RUN_COLUMNS.split(", "), "parent", "sampling")
"""The columns from the run itself; the others are the user's, and are kept when a run is saved again."""
_FAMILY = f"""
WITH RECURSIVE
    up(id, parent) AS (
        SELECT id, parent FROM runs WHERE id = :run
        UNION SELECT runs.id, runs.parent FROM runs JOIN up ON runs.id = up.parent
    ),
    family(id) AS (
        SELECT :run UNION SELECT id FROM up UNION SELECT parent FROM up WHERE parent != ''
        UNION SELECT runs.id FROM runs JOIN family ON runs.parent = family.id
    )
SELECT {_COLUMNS}, answer, record FROM runs WHERE id IN (SELECT id FROM family) ORDER BY time DESC LIMIT :limit
"""


class HistoryRow(NamedTuple):
    """A run in the list. `outcome` is its `outcome_of`, `tokens` its `token_count`.

    `notation`: glyph, json, native, or native with the name of a known form: `native hermes`.
    `constraint`: its kind, and `custom` for a custom grammar: `mask custom`.
    `name`, `note`, `tags` and `score` (1 to `MAX_SCORE`, 0 for none) are the user's; `parent` is the run from which it
    branches off. `sampling` is None if the record is damaged.
    """

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
    name: str = ""
    note: str = ""
    parent: str = ""
    tags: tuple[str, ...] = ()
    score: int = 0
    sampling: Sampling | None = None


class Kin(NamedTuple):
    """A run in a tree of branches: its beginning, and the first characters of its output."""

    row: HistoryRow
    started: RunStarted
    answer: str


class History:
    """Each call opens the file, so any thread and any process may use it.

    A damaged file is renamed and replaced with a new one, which `take_notice` reports. Raises StorageError if the file
    is locked for too long, the disk is full or the folder is not writable, and RecordError if it is of a newer version;
    callers continue without history.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notice = ""

    def take_notice(self) -> str:
        """The notice about the file for the user; returned once."""
        notice, self._notice = self._notice, ""
        return notice

    def add(self, events: Sequence[AnyEvent]) -> HistoryRow:
        """Save a run; a run that was saved before keeps its pin and its description (`describe`). Raises ValueError if
        `events` does not begin with RunStarted.
        """
        kin = kin_of(events)
        columns = zip(_COLUMNS.split(", "), kin.row)
        values: dict[str, Any] = {column: value for column, value in columns if column in _OF_RUN}
        values["answer"] = kin.answer
        values = {column: _storable(value) for column, value in values.items()}
        values["record"] = zlib.compress(encode_record(events), 6)
        again = ", ".join(f"{column} = excluded.{column}" for column in values)
        with self._open() as database:
            database.execute(
                f"INSERT INTO runs ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) "
                f"ON CONFLICT (id) DO UPDATE SET {again}",
                tuple(values.values()),
            )
        return kin.row

    def rows(self, search: str = "", limit: int = 1000) -> list[HistoryRow]:
        """The runs that `search` finds (see `history_search.conditions`), pinned ones first, then the newest."""
        where, values = conditions(search)
        with self._open() as database:
            database.create_function("folded", 1, folded)
            found = database.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY pinned DESC, time DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
        return [_row(values) for values in found]

    def events(self, run: str) -> tuple[AnyEvent, ...]:
        """The run's events. Raises RecordError if it was deleted or is damaged."""
        with self._open() as database:
            found = database.execute("SELECT record FROM runs WHERE id = ?", (run,)).fetchone()
        if found is None:
            raise RecordError("This run is no longer in the history.", where=run)
        try:
            return parse_record(zlib.decompress(found[0]), run).events
        except zlib.error as error:
            raise RecordError(f"This run is damaged: {error}.", where=run, hint="Delete it.") from None

    def family(self, run: str) -> list[Kin]:
        """The runs of the tree of `run`, newest first: its ancestors, as far as they are stored, and all runs that
        branch off one of them; at most `MAX_FAMILY`. `run` itself need not be stored. Unreadable records are
        omitted.
        """
        with self._open() as database:
            found = database.execute(_FAMILY, {"run": run, "limit": MAX_FAMILY}).fetchall()
        return [
            Kin(_row(values), started, answer)
            for *values, answer, record in found
            if (started := _beginning(record)) is not None
        ]

    def describe(
        self,
        run: str,
        *,
        name: str | None = None,
        note: str | None = None,
        tags: Iterable[str] | None = None,
        score: int | None = None,
    ) -> None:
        """Store the user's description of a run; None leaves a part unchanged. `prune` keeps described runs.

        Raises ValueError for a score outside 0 (none) to `MAX_SCORE`.
        """
        if score is not None and not 0 <= score <= MAX_SCORE:
            raise ValueError(f"a score is 0 to {MAX_SCORE}, not {score}")
        said: dict[str, Any] = {
            "name": name, "note": note, "tags": None if tags is None else tag_column(tags), "score": score
        }  # fmt: skip
        with self._open() as database:
            for column, value in said.items():
                if value is not None:
                    database.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (_storable(value), run))

    def find(self, run: str) -> HistoryRow:
        """The run with that id, or the only run whose id begins with it. Raises RecordError."""
        with self._open() as database:
            found = database.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE substr(id, 1, ?) = ? ORDER BY id = ? DESC LIMIT 2",
                (len(run), run, run),
            ).fetchall()
        if not run or not found:
            raise RecordError(
                "There is no such run in the history.", where=run, hint="glyphscope history lists them."
            )
        if len(found) > 1 and found[0][0] != run:
            raise RecordError(
                "Several runs begin with this id.", where=run, hint="Give more characters of the id."
            )
        return _row(found[0])

    def pin(self, run: str, pinned: bool = True) -> None:
        """Pin a run: it is listed first, and `prune` keeps it."""
        with self._open() as database:
            database.execute("UPDATE runs SET pinned = ? WHERE id = ?", (pinned, run))

    def delete(self, *runs: str) -> None:
        with self._open() as database:
            database.executemany("DELETE FROM runs WHERE id = ?", [(run,) for run in runs])

    def clear(self, *, keep_pinned: bool) -> int:
        """Delete all runs, or all but the pinned ones, and free their disk space. Returns their number."""
        with self._open() as database:
            count = database.execute("DELETE FROM runs WHERE NOT (pinned AND ?)", (keep_pinned,)).rowcount
            database.commit()
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(count)

    def prune(self, keep: int) -> None:
        """Delete the oldest runs that are not pinned, so that `keep` of them are left, except those that the user
        described or from which a stored run branches off.
        """
        with self._open() as database:
            database.execute(
                "DELETE FROM runs WHERE NOT pinned AND name = '' AND note = '' AND tags = '' AND score = 0 "
                "AND id NOT IN (SELECT parent FROM runs) AND id NOT IN "
                "(SELECT id FROM runs WHERE NOT pinned ORDER BY time DESC LIMIT ?)",
                (keep,),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        database = self._opened()
        try:
            with database:
                yield database
        except sqlite3.OperationalError as error:
            raise self._storage_error(error) from error
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # others are bugs, not errors of the file
                raise
            database.close()
            self._start_over(error)
            raise StorageError(self.take_notice(), where=str(self.path), hint="Try again.") from error
        finally:
            database.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            raise self._storage_error(error) from error
        except sqlite3.DatabaseError as error:
            self._start_over(error)
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            raise self._storage_error(error) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(error, self.path, "written") from error
        database = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise RecordError(
                    f"The history is of version {version}; this program reads up to version {VERSION}.",
                    where=str(self.path),
                    hint="Use a newer Glyphscope.",
                )
            if version < VERSION:
                database.execute("PRAGMA journal_mode = WAL")
                _migrate(database)
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        return database

    def _start_over(self, error: Exception) -> None:
        """Rename a damaged file and SQLite's files beside it, unless another process already did."""
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
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as database:
                return bool(database.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False

    def _storage_error(self, error: sqlite3.Error) -> StorageError:
        text = str(error)
        if "locked" in text or "busy" in text:
            hint = "Another window or program is using it. Try again."
        elif "full" in text or self._disk_is_full():
            text = "the disk is full"
            hint = "Make room; the runs that were kept before are still there."
        else:
            hint = "Check the folder's permissions."
        return StorageError(f"The history cannot be used: {text}.", where=str(self.path), hint=hint)

    def _disk_is_full(self) -> bool:
        """Whether the disk is full: SQLite reports an I/O error if there is no room for its temporary files."""
        try:
            return shutil.disk_usage(self.path.parent).free < _ROOM
        except OSError:
            return False


def _migrate(database: sqlite3.Connection) -> None:
    """Migrate to the current version in one transaction."""
    database.create_function("sampling_of", 1, _sampling_of)
    database.execute("BEGIN IMMEDIATE")
    version = database.execute("PRAGMA user_version").fetchone()[0]  # another window may have been faster
    for step in _STEPS[version:]:
        for statement in step:
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {max(version, VERSION)}")
    database.commit()


def _storable(value: Any) -> Any:
    """The value in a type that SQLite can store."""
    if isinstance(value, Sampling):
        return msgspec.json.encode(value).decode()
    return whole_text(value) if isinstance(value, str) else value


def _row(values: Sequence[Any]) -> HistoryRow:
    row = HistoryRow._make(values)
    return row._replace(
        pinned=bool(row.pinned), tags=tuple(str(row.tags).split()), sampling=_sampling(str(row.sampling))
    )


def _sampling(text: str) -> Sampling | None:
    try:
        return msgspec.json.decode(text, type=ready(Sampling))
    except msgspec.DecodeError:
        return None


def _sampling_of(record: bytes) -> str:
    """The column `sampling` of a record; empty if the record is damaged."""
    started = _beginning(record)
    return "" if started is None else str(_storable(started.request.sampling))


def _beginning(record: bytes) -> RunStarted | None:
    """The first event of a record, without decompressing the rest; None if it is damaged."""
    unpacking, data = zlib.decompressobj(), b""
    try:
        while data.count(b"\n") < 2 and (more := unpacking.decompress(record, _CHUNK)):
            data, record = data + more, unpacking.unconsumed_tail
        event = decode_event(data.split(b"\n", 2)[1])
    except (zlib.error, ValueError, IndexError, RecursionError):
        return None
    return event if isinstance(event, RunStarted) else None


def kin_of(events: Sequence[AnyEvent], state: RunState | None = None) -> Kin:
    """The history's entry for a run. Raises ValueError if `events` does not begin with RunStarted.

    `state` is that of the events, if it is known: they can be 100,000.
    """
    if not events or not isinstance(started := events[0], RunStarted):
        raise ValueError("a run begins with RunStarted")
    request, tool, answer = started.request, "", ""
    state = run_state(events) if state is None else state
    for event in events:
        if type(event) is Token:
            if len(answer) < MAX_ANSWER:
                answer += event.step.text
        elif isinstance(event, ToolKnown):
            tool = event.name
        elif isinstance(event, CallReady):
            tool = event.tool
    row = HistoryRow(
        id=started.run or secrets.token_hex(8),
        time=started.time or now(),
        title=" ".join(_asked(request)[:MAX_ANSWER].split())[:200],
        model=opened_name(started.model.path, started.model.name).name,
        notation=_notation(request),
        shape=request.shape,
        constraint=_constraint(request),
        outcome=outcome_of(state),
        tool=tool,
        tokens=state.token_count,
        pinned=False,
        parent=request.branch_of.run if request.branch_of is not None else "",
        sampling=request.sampling,
    )
    return Kin(row, started, answer[:MAX_ANSWER])


def _asked(request: RunRequest) -> str:
    """The prompt, or the last user message of a conversation that ends otherwise, such as with a tool's result."""
    earlier = (message.content for message in reversed(request.history) if message.role == "user")
    return request.prompt or next(earlier, "")


def _constraint(request: RunRequest) -> str:
    """The constraint, as in `HistoryRow`."""
    own = request.grammar is not None and request.constraint != "off"
    return f"{request.constraint} custom" if own else request.constraint


def _notation(request: RunRequest) -> str:
    """The notation, as in `HistoryRow`: without a name for a template's own form, and if a run failed too early."""
    if not request.native:
        return request.notation
    return NATIVE if named_call(request.native) is None else f"{NATIVE} {request.native}"
