"""The words of the servers' page: states, changes, updates and hidden values, each in one place."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from glyphscope.base.shorten import listed
from glyphscope.base.visible import visible
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.listing import ToolChanges
from glyphscope.tools.mcp.server import Updates
from glyphscope_gui.enforcement.table import EnforcementRow
from glyphscope_gui.mcp.server_source import IDLE, ServerSource
from glyphscope_gui.shared.language import tr


class StateWords(NamedTuple):
    """`sign` and `role`, a theme role, show the state in addition to the words."""

    words: str
    role: str
    sign: str


_PHASES = {
    "stopped": StateWords(tr("stopped"), "text-muted", "○"),
    "starting": StateWords(tr("starting…"), "open", "◌"),
    "ready": StateWords(tr("ready"), "holds", "●"),
    "failed": StateWords(tr("failed"), "impossible", "✕"),
    "ended": StateWords(tr("exited"), "impossible", "✕"),
    "stopping": StateWords(tr("stopping…"), "open", "◌"),
}
MAX_NAMED = 3


def changes_words(changes: ToolChanges) -> str:
    """`12:03:04: 2 changed (a: schema, b: description), 1 added (new)`; with the day, since an earlier connection."""
    named = ((tr("changed"), changes.named), (tr("added"), changes.added), (tr("removed"), changes.removed))
    parts = []
    for words, names in named:
        if names:
            parts.append(
                tr(
                    "{count:,} {changed} ({names})",
                    count=len(names),
                    changed=words,
                    names=listed(names, MAX_NAMED),
                )
            )
    if changes.since:
        before = datetime.fromtimestamp(changes.since).strftime("%Y-%m-%d %H:%M")
        return tr("Since {time}: {changes}", time=before, changes=", ".join(parts))
    at = datetime.fromtimestamp(changes.at).strftime("%H:%M:%S")
    return tr("{time}: {changes}", time=at, changes=", ".join(parts))


def updates_words(updates: Updates | None) -> str:
    """Describe the updates of a subscribed resource; "" without a subscription."""
    if updates is None:
        return ""
    if not updates.times:
        return tr("No update yet")
    at = datetime.fromtimestamp(updates.last).strftime("%H:%M:%S")
    return tr("%n update(s), last at {time}", "", updates.times, time=at)


def state_words(source: ServerSource) -> StateWords:
    """Describe a server's state, for the list and the card."""
    if source.problem:
        return StateWords(tr("cannot be used"), "impossible", "✕")
    phase = source.phase
    if phase == "ready":
        return _PHASES[phase]._replace(words=tr("ready · %n tool(s)", "", len(source.tools())))
    if phase in IDLE:
        if not source.enabled:
            return StateWords(tr("disabled"), "text-faint", "○")
        if not source.may_run:
            return StateWords(tr("not allowed yet"), "open", "?")
    return _PHASES[phase]


def demo_words(count: int) -> StateWords:
    """Describe the demo tools in the same places."""
    return StateWords(tr("built in · %n tool(s)", "", count), "holds", "●")


def secret_words(config: ServerConfig) -> str:
    """List the names of values that are set but not shown."""
    parts = []
    if config.env:
        parts.append(tr("Variables: {names}", names=", ".join(config.env)))
    if config.headers:
        parts.append(tr("Headers: {names}", names=", ".join(config.headers)))
    if config.cwd:
        parts.append(tr("Folder: {folder}", folder=config.cwd))
    return visible(" · ".join(parts), spaces=True)


class EnforcementSummary(NamedTuple):
    """The part of a tool's schema that the engine in use enforces: words, their pill's role, and the details."""

    words: str
    role: str
    tip: str


_STATES = {
    "enforced": tr("enforced: no call can violate it"),
    "checked": tr("checked by the validator while the call is generated"),
    "unsupported": tr("neither enforced nor checked"),
    "leaks": tr("leaks"),
    "unknown": tr("unknown: no text can demonstrate it"),
    "error": tr("no grammar could be built"),
}


def enforcement_words(rows: tuple[EnforcementRow, ...]) -> EnforcementSummary:
    """The part of a schema that the mask enforces, in a few words and in full."""
    states = [row.cells["mask"].state for row in rows if "mask" in row.cells]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    total, enforced = len(states), counts.get("enforced", 0)
    if not total:
        return EnforcementSummary(tr("no constraints"), "open", tr("The schema has no constraints."))
    lines = [
        tr("{count} of {total}: {state}", count=counts[state], total=total, state=words)
        for state, words in _STATES.items()
        if state in counts
    ]
    tip = "\n".join(lines)
    if enforced == total:
        return EnforcementSummary(tr("{total} enforced", total=total), "holds", tip)
    bad = counts.get("unsupported", 0) + counts.get("leaks", 0) + counts.get("error", 0)
    return EnforcementSummary(
        tr("{enforced} of {total} enforced", enforced=enforced, total=total),
        "impossible" if bad else "open",
        tip,
    )
