"""The messages of the log that match the filter, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QObject

from glyphscope.text.figures import byte_size
from glyphscope.tools.mcp.log import Entry
from glyphscope.tools.mcp.notices import log_message
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import NO_INDEX, FilteredModel

TIME, WAY, METHOD, ID, SIZE, TEXT = range(6)
WAYS = {"sent": tr("→ sent"), "received": tr("← received"), "dropped": tr("✕ dropped")}
_ROLES = {"sent": "accent", "received": "holds", "dropped": "impossible"}
SHOWN = 300
"""The maximum number of characters of a message in its row; the full message is shown beside the table."""


class ServersLogModel(FilteredModel[Entry]):
    titles = (tr("Time"), tr("Direction"), tr("Method"), tr("Id"), tr("Size"), tr("Message"))
    tips = (
        tr("Time of writing or reading, to the millisecond"),
        tr("Sent by Glyphscope, received from the server, or received and dropped"),
        tr("The JSON-RPC method; empty for responses"),
        tr("The JSON-RPC id that a response shares with its request; empty for notifications"),
        tr("Bytes of the message"),
        tr("The message as JSON; secrets from the configuration are redacted"),
    )
    figures = frozenset({SIZE})
    key = "number"

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notifications_only = False
        self._least = ""
        """The least severity of shown log messages; "" for all."""
        self._rows: list[Entry] = []

    def show(self, entries: Sequence[Entry]) -> None:
        """Show the current log: append new entries, remove those that the log dropped."""
        before, self._all = self._all, tuple(entries)
        old_last = before[-1].number if before else 0
        first = self._all[0].number if self._all else 0
        if not (before and self._all and before[0].number <= first <= old_last):
            self._show_all(self._all)
            return
        gone = sum(entry.number < first for entry in self._rows)
        if gone:
            self.beginRemoveRows(NO_INDEX, 0, gone - 1)
            del self._rows[:gone]
            self.endRemoveRows()
        more = [entry for entry in self._all if entry.number > old_last and self.fits(entry)]
        self._insert(len(self._rows), more)

    def set_notifications_only(self, only: bool) -> None:
        """Set whether only the server's unsolicited messages are shown, in words instead of JSON."""
        if only != self._notifications_only:
            self._notifications_only = only
            self._show_all(self._all)

    def set_least(self, level: str) -> None:
        """Set the least severity of the log messages shown among the notifications; "" for all."""
        if level != self._least:
            self._least = level
            self._show_all(self._all)

    def text(self) -> str:
        """Return all visible messages, one per line."""
        return "\n".join(
            "\t".join((_time(e), WAYS[e.direction], e.method, e.id, str(e.size), e.text)) for e in self._rows
        )

    def words(self, row: Entry, column: int) -> str:
        if self._notifications_only and column == METHOD:
            return row.method.removeprefix("notifications/")
        words = notification_words(row) if self._notifications_only and column == TEXT else ""
        return words or _cell(row, column)

    def tip(self, row: Entry, column: int) -> str:
        return row.note

    def color(self, row: Entry, column: int) -> str:
        return _ROLES[row.direction] if column == WAY else "text" if column == METHOD else "text-muted"

    def searched(self, row: Entry) -> str:
        return "\n".join((row.method, row.id, row.text, row.note, row.direction)) if self._filter else ""

    def fits(self, row: Entry) -> bool:
        if self._notifications_only:
            message = log_message(row) if self._least else None
            if not is_notification(row) or (message is not None and not message.reaches(self._least)):
                return False
        return super().fits(row)


def is_notification(entry: Entry) -> bool:
    """Whether the entry is an unsolicited message of the server."""
    return entry.direction != "sent" and not entry.id and entry.method.startswith("notifications/")


def notification_words(entry: Entry) -> str:
    """`info · db: connected`, `3 of 10 · copying`; "" if the message has no such form."""
    try:
        if (message := log_message(entry)) is not None:
            about = " · ".join(part for part in (message.level, message.logger) if part)
            return f"{about}: {message.text}"[:SHOWN] + (f" ×{entry.more + 1}" if entry.more else "")
        params = json.loads(entry.text).get("params") or {}
        if entry.method == "notifications/progress":
            total, message = params.get("total"), params.get("message")
            done = (
                tr("{done} of {total}", done=params["progress"], total=total) if total else params["progress"]
            )
            words = f"{done} · {message}" if message else str(done)
        else:
            words = str(params.get("uri") or "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    more = f" ×{entry.more + 1}" if entry.more else ""
    return words[:SHOWN] + more


def _cell(entry: Entry, column: int) -> str:
    note = f"{entry.note} " if entry.note else ""
    return (
        _time(entry),
        WAYS[entry.direction],
        entry.method,
        entry.id[:40],
        byte_size(entry.size),
        note + entry.text[:SHOWN],
    )[column]


def _time(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.time).strftime("%H:%M:%S.%f")[:-3]
