"""The words of the servers' page: states, changes, updates and hidden values, each in one place."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from glyphscope.text.shorten import listed
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope.tools.mcp.listing import ToolChanges
from glyphscope.tools.mcp.server import Updates
from glyphscope.visible import visible
from glyphscope_gui.mcp.server_source import KnownServer
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
    """`12:03:04: 1 added (new), 2 changed (a, b)`."""
    named = ((tr("added"), changes.added), (tr("changed"), changes.changed), (tr("removed"), changes.removed))
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


def state_words(known: KnownServer) -> StateWords:
    """Describe a server's state, for the list and the card."""
    if known.source is None:
        return StateWords(tr("cannot be used"), "impossible", "✕")
    phase = known.source.phase
    if phase == "ready":
        count = len(known.source.tools())
        return _PHASES["ready"]._replace(words=tr("ready · %n tool(s)", "", count))
    if phase in ("stopped", "failed", "ended"):
        if not known.enabled:
            return StateWords(tr("disabled"), "text-faint", "○")
        if not known.source.may_run:
            return StateWords(tr("not allowed yet"), "open", "?")
    return _PHASES[phase]


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
