"""The runs of the history as a Qt list."""

from __future__ import annotations

from datetime import UTC, datetime

from PySide6.QtCore import Qt

from glyphscope.sessions import HistoryRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_choices import WORDS
from glyphscope_gui.shared.sampling_words import sampling_words
from glyphscope_gui.shared.table_model import ListModel

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""The HistoryRow."""


class HistoryModel(ListModel[HistoryRow]):
    """Rows as they were loaded; a new load replaces them."""

    key = "id"

    def words(self, row: HistoryRow, column: int) -> str:
        return row.name or row.title or tr("(no prompt)")

    def spoken(self, row: HistoryRow, column: int) -> str:
        pinned = tr("pinned") + ", " if row.pinned else ""
        parts = (
            f"{pinned}{self.words(row, column)}", outcome_words(row.outcome), sampled(row), facts(row), row.model,
            when(row.time),
        )  # fmt: skip
        return ", ".join(filter(None, parts))

    def tip(self, row: HistoryRow, column: int) -> str:
        lines = (
            row.title, outcome_words(row.outcome), facts(row), sampled(row), f"{row.model}, {when(row.time)}",
            row.note,
        )  # fmt: skip
        return "\n".join(filter(None, lines))

    def extra(self, row: HistoryRow, column: int, role: int) -> HistoryRow | None:
        return row if role == ROW_ROLE else None


def outcome_words(outcome: str) -> str:
    """An outcome in words."""
    if outcome == "valid relaxed":
        return tr("valid call, relaxed")
    kind, _, code = outcome.partition(" ")
    words = {
        "valid": tr("valid call"),
        "invalid": tr("not a valid call"),
        "aborted": tr("stopped early"),
        "failed": tr("failed"),
        "cancelled": tr("stopped by you"),
        "length": tr("cut off at the token limit"),
        "end-of-text": tr("ended by the model"),
        "stop-string": tr("ended at a stop string"),
        "unfinished": tr("not finished"),
        "answered": tr("answered"),
        "judged": tr("a verdict"),
        "cut-off": tr("the answer was cut off"),
        "no-call": tr("answered without a call"),
        "no-tool": tr("no tool was called"),
        "unanswered": tr("the question was not answered"),
        "limit": tr("ended by a limit"),
        "refused": tr("constraint not met"),
    }
    return f"{words.get(kind, kind)}: {code}" if code else words.get(kind, kind)


def notation_words(notation: str) -> str:
    """`GLYPH`, `native (hermes)`."""
    kind, _, form = notation.partition(" ")
    words = WORDS.get(kind, kind)
    return f"{words} ({form})" if form else words


def constraint_words(constraint: str) -> str:
    """`mask`, `mask (custom grammar)`."""
    kind, _, own = constraint.partition(" ")
    words = WORDS.get(kind, kind)
    return tr("{constraint} (custom grammar)", constraint=words) if own else words


def facts(row: HistoryRow) -> str:
    """The tool, the tokens and the notation in a line."""
    tokens = tr("%n token(s)", "", row.tokens)
    notation = f"{notation_words(row.notation)}, {constraint_words(row.constraint)}"
    branch = tr("branch") if row.parent else ""
    said = " ".join(part for part in ("★" * row.score, *(f"#{tag}" for tag in row.tags)) if part)
    return " · ".join(part for part in (said, branch, row.tool, tokens, notation) if part)


def sampled(row: HistoryRow, *, short: bool = False) -> str:
    """The sampling of its tokens, as `sampling_words`; empty if unknown."""
    return "" if row.sampling is None else sampling_words(row.sampling, short=short)


def when(time: str, now: datetime | None = None) -> str:
    """A record's time in local time: `12:04` today, `Mon 12:04` this week, otherwise the date."""
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
