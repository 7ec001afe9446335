"""The runs of the history as a Qt list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from glyphscope.sessions import HistoryRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The HistoryRow."""

_Index = QModelIndex | QPersistentModelIndex

_NOTATIONS = {"glyph": "GLYPH", "json": "JSON", "native": tr("Native")}
_CONSTRAINTS = {
    "off": tr("no constraint"),
    "mask": tr("mask"),
    "gbnf": "GBNF",
    "endpoint": tr("the endpoint’s"),
}


class HistoryModel(QAbstractListModel):
    """Rows as they were loaded; a new load replaces them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HistoryRow] = []

    def set_rows(self, rows: Sequence[HistoryRow]) -> None:
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def row_of(self, run: str) -> int:
        """The row of a run; -1 when it is not shown."""
        return next((place for place, row in enumerate(self._rows) if row.id == run), -1)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    @plain_data
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.name or row.title or tr("(no prompt)")
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(
                    f"{row.title}\n{outcome_words(row.outcome)}\n{facts(row)}\n{row.model}, {when(row.time)}"
                    + (f"\n{row.note}" if row.note else "")
                )
            case Qt.ItemDataRole.AccessibleTextRole:
                pinned = tr("pinned") + ", " if row.pinned else ""
                return f"{pinned}{row.name or row.title}, {outcome_words(row.outcome)}, {facts(row)}, {when(row.time)}"
            case _ if role == ROW_ROLE:
                return row
        return None


def outcome_status(outcome: str) -> str:
    """The verdict that an outcome is shown as: holds, impossible or open."""
    if outcome in ("valid", "answered"):
        return "holds"
    bad = ("invalid", "aborted", "failed", "limit", "refused")
    return "impossible" if outcome.split()[0] in bad else "open"


def outcome_words(outcome: str) -> str:
    """An outcome as a person says it."""
    kind, _, code = outcome.partition(" ")
    words = {
        "valid": tr("valid call"),
        "invalid": tr("not a valid call"),
        "aborted": tr("stopped early"),
        "failed": tr("failed"),
        "cancelled": tr("stopped by you"),
        "length": tr("cut off at the length limit"),
        "end-of-text": tr("ended without a call"),
        "stop-string": tr("ended at a stop string"),
        "unfinished": tr("not finished"),
        "answered": tr("answered"),
        "no-call": tr("answered without a call"),
        "no-tool": tr("no tool was called"),
        "unanswered": tr("ended with a question"),
        "limit": tr("ended by a limit"),
        "refused": tr("constraint not met"),
    }
    return f"{words.get(kind, kind)}: {code}" if code else words.get(kind, kind)


def notation_words(notation: str) -> str:
    """`GLYPH`, `Native (hermes)`."""
    kind, _, form = notation.partition(" ")
    words = _NOTATIONS.get(kind, kind)
    return f"{words} ({form})" if form else words


def facts(row: HistoryRow) -> str:
    """Tool, tokens and the way of writing in a line."""
    tokens = tr("%n token(s)", "", row.tokens)
    notation = f"{notation_words(row.notation)}, {_CONSTRAINTS.get(row.constraint, row.constraint)}"
    branch = tr("branch") if row.parent else ""
    said = " ".join(part for part in ("★" * row.score, *(f"#{tag}" for tag in row.tags)) if part)
    return " · ".join(part for part in (said, branch, row.tool, tokens, notation) if part)


def when(time: str, now: datetime | None = None) -> str:
    """A wall clock of the record in local time: `12:04` of today, `Mon 12:04` of this week, else the date."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return time
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    moment = moment.astimezone()
    now = (now or datetime.now(UTC)).astimezone()
    days = (now.date() - moment.date()).days
    if days == 0:
        return f"{moment:%H:%M}"
    return f"{moment:%a %H:%M}" if 0 < days < 7 else f"{moment:%Y-%m-%d}"
