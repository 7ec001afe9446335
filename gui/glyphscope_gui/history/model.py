"""The runs of the history as a Qt list."""

from __future__ import annotations

from datetime import UTC, datetime

from glyphscope.runs.endings import outcome_words, status_of
from glyphscope.store import HistoryRow
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import sampling_words, value_words
from glyphscope_gui.shared.table_model import CellLine, ListModel
from glyphscope_gui.shared.verdict import END_VERDICTS

_SAMPLED = 0.6
"""The sampling's share of the line's width beside a long outcome; the tooltip also contains it."""


class HistoryModel(ListModel[HistoryRow]):
    """Rows as they were loaded; a new load replaces them."""

    key = "id"

    def words(self, row: HistoryRow, column: int) -> str:
        return row.name or row.title or tr("(no prompt)")

    def spoken(self, row: HistoryRow, column: int) -> str:
        pinned = tr("pinned") + ", " if row.pinned else ""
        parts = (
            f"{pinned}{self.words(row, column)}", outcome_words(row.outcome, tr), sampled(row), facts(row), row.model,
            when(row.time),
        )  # fmt: skip
        return ", ".join(filter(None, parts))

    def tip(self, row: HistoryRow, column: int) -> str:
        lines = (
            row.title, outcome_words(row.outcome, tr), facts(row), sampled(row), f"{row.model}, {when(row.time)}",
            row.note,
        )  # fmt: skip
        return "\n".join(filter(None, lines))

    def lines(self, row: HistoryRow) -> tuple[CellLine, ...]:
        """Prompt and time, outcome and sampling, facts."""
        time = (tr("Pinned · ") if row.pinned else "") + when(row.time)
        status = status_of(row.outcome)
        outcome = f"{END_VERDICTS[status].sign} {outcome_words(row.outcome, tr)}"
        return (
            CellLine(self.words(row, 0), "text", time, "accent" if row.pinned else "text-faint", small=False),
            CellLine(outcome, status, sampled(row, short=True), share=_SAMPLED),
            CellLine(facts(row), "text-muted"),
        )


def notation_words(notation: str) -> str:
    """`GLYPH`, `native (hermes)`."""
    kind, _, form = notation.partition(" ")
    words = value_words("notation", kind)
    return f"{words} ({form})" if form else words


def constraint_words(constraint: str) -> str:
    """`mask`, `mask (custom grammar)`."""
    kind, _, own = constraint.partition(" ")
    words = value_words("constraint", kind)
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
