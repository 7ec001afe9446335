"""The protocol log for users: the last messages, shortened, without the secrets of the configuration.

A server's log messages are read from it; their levels are those of RFC 5424, as in MCP.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import msgspec

from glyphscope.base.shorten import shorten

KEPT = 1_000
"""The number of messages kept."""
TEXT_LIMIT = 8 * 1024
"""The number of characters kept of a message."""
WHOLE_LIMIT = 2_000_000
"""The maximum length, in characters, of a message that `LogEntry.whole` has completely."""
WHOLE_BUDGET = 32_000_000
"""The total characters of complete messages; beyond that, the oldest are cut."""
_RUN, _LOG_RUN = 20, 200
"""The number of consecutive messages kept of one kind without an id; the second for a server's log messages."""
STDERR_LINES = 200
STDERR_LINE = 2_000
"""The number of lines of standard error that are kept, and of characters of each line."""
HIDDEN = "•••"

Direction: TypeAlias = Literal["sent", "received", "dropped"]
"""`dropped`: it was received but not passed on; `note` gives the reason."""


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `time` is seconds since 1970; `size` its bytes; `text` its JSON, at most TEXT_LIMIT characters.

    `whole` is its complete JSON if `text` is only the beginning and the log still has it, otherwise empty.
    `method` is empty for answers; `id` is the request's id as text, empty for notifications. `more` counts messages of
    the same kind directly after it that are not kept, so that a flood does not displace other messages.
    """

    number: int
    time: float
    direction: Direction
    method: str = ""
    id: str = ""
    text: str = ""
    size: int = 0
    note: str = ""
    more: int = 0
    whole: str = ""


class ProtocolLog:
    """The last messages of a server. Thread-safe."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = secrets
        self._entries: deque[LogEntry] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._count = 0
        self.received_bytes = 0
        self.dropped = 0
        self.added: Callable[[], None] | None = None
        """Called in the server's thread when there are new entries, but not again before `entries` was read."""
        self._notified = False
        self._kind: tuple[str, str, str] | None = None
        self._run = 0
        self._more = 0
        self._whole = 0

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        with self._lock:
            self._notified = False
            self._settle()
            return tuple(self._entries)

    def _settle(self) -> None:
        """Add the number of messages that were only counted to the last entry."""
        if self._more:
            self._entries.append(
                msgspec.structs.replace(last := self._entries.pop(), more=last.more + self._more)
            )
            self._more = 0

    def add(
        self,
        direction: Direction,
        text: str | bytes,
        *,
        method: str = "",
        id: int | str | None = None,
        size: int | None = None,
        note: str = "",
    ) -> None:
        """Add a message. `size` is given if `text` is only part of it."""
        with self._lock:
            self._count += 1
            if direction == "dropped":
                self.dropped += 1
            number = self._count
            kind = (direction, method, note) if id is None else None
            self._run = self._run + 1 if kind is not None and kind == self._kind else 0
            self._kind = kind
            if self._run >= (_LOG_RUN if method == "notifications/message" else _RUN):
                self._more += 1
                return
            self._settle()
        whole = self._all_of(text) if size is None or size == len(text) else ""
        size = len(text) if size is None else size
        entry = LogEntry(
            number=number, time=time.time(), direction=direction, method=method[:200],
            id="" if id is None else str(id)[:200], text=self.cut(text), size=size, note=note, whole=whole,
        )  # fmt: skip
        with self._lock:
            if len(self._entries) == KEPT:
                self._whole -= len(self._entries[0].whole)
            self._entries.append(entry)
            self._whole += len(whole)
            if self._whole > WHOLE_BUDGET:
                self._forget_whole()
            notified, self._notified = self._notified, True
        if self.added is not None and not notified:
            self.added()

    def _all_of(self, text: str | bytes) -> str:
        """A long message without secrets; "" for a short or overlong message."""
        if not TEXT_LIMIT < len(text) <= WHOLE_LIMIT:
            return ""
        return self.hide(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)

    def _forget_whole(self) -> None:
        for place, entry in enumerate(self._entries):
            if entry.whole:
                self._entries[place] = msgspec.structs.replace(entry, whole="")
                self._whole -= len(entry.whole)
            if self._whole <= WHOLE_BUDGET // 2:
                return

    def hide_also(self, secrets: Iterable[str]) -> None:
        """Hide more secrets, except short ones, which may be plain words."""
        known = {*self._secrets, *(secret for secret in secrets if len(secret) >= 6)}
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def cut(self, text: str | bytes) -> str:
        """The text's beginning; secrets are hidden before the text is cut."""
        reach = TEXT_LIMIT + max(map(len, self._secrets), default=0)
        if isinstance(text, bytes):
            text = text[: 4 * reach].decode("utf-8", "replace")
        text = self.hide(text[:reach])
        return shorten(text, TEXT_LIMIT)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text


class StderrRing:
    """The last lines that a process printed to standard error."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._open = b""

    def feed(self, data: bytes) -> None:
        *lines, rest = (self._open + data).split(b"\n")
        self._open = rest[: 4 * STDERR_LINE]  # only the beginning of an endless line is kept
        for line in lines[-STDERR_LINES:]:
            self._lines.append(self._shown(line))

    @property
    def text(self) -> str:
        lines = [*self._lines, self._shown(self._open)] if self._open else list(self._lines)
        return "\n".join(lines)

    def _shown(self, line: bytes) -> str:
        return self._hide(line[: 4 * STDERR_LINE].decode("utf-8", "replace").rstrip("\r"))[:STDERR_LINE]


LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[str, ...] = get_args(LogLevel)
"""In order of increasing severity."""
METHOD = "notifications/message"


@dataclass(frozen=True)
class LogMessage:
    """`level` is empty if the server sends an unknown level; `more` counts the messages directly after it."""

    level: str
    logger: str
    text: str
    more: int = 0

    def reaches(self, least: str) -> bool:
        """Whether it is at least that severe; True for an unknown level."""
        return not self.level or not least or LEVELS.index(self.level) >= LEVELS.index(least)


def log_message(entry: LogEntry) -> LogMessage | None:
    """The log message of an entry; None for other messages and unreadable ones."""
    if entry.method != METHOD or entry.direction == "sent":
        return None
    try:
        params = json.loads(entry.whole or entry.text)["params"]
        data, level, logger = params["data"], params.get("level"), params.get("logger")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    known = level if level in LEVELS else ""
    return LogMessage(known, logger if isinstance(logger, str) else "", text, entry.more)
