"""The words of the servers' page: states, claims, sizes and times, each in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.models.plain_words import shown_exactly
from glyphscope_gui.models.servers_known import Known


class StateWords(NamedTuple):
    """`sign` and `role` say it besides the words; `role` is the theme's."""

    words: str
    role: str
    sign: str


_PHASES = {
    "stopped": StateWords("stopped", "text-muted", "○"),
    "starting": StateWords("starting…", "open", "◌"),
    "ready": StateWords("ready", "holds", "●"),
    "failed": StateWords("failed", "impossible", "✕"),
    "ended": StateWords("ended by itself", "impossible", "✕"),
    "stopping": StateWords("stopping…", "open", "◌"),
}
_CLAIMS = {
    "readOnlyHint": ("reads only", "may change things"),
    "destructiveHint": ("may destroy", "destroys nothing"),
    "idempotentHint": ("twice is once", ""),
    "openWorldHint": ("reaches outside", "stays inside"),
}


def state_words(known: Known) -> StateWords:
    """What a server is doing, for the list and its own card."""
    if known.source is None:
        return StateWords("cannot be used", "impossible", "✕")
    phase = known.source.phase
    if phase == "ready":
        count = len(known.source.tools())
        return _PHASES["ready"]._replace(words=f"ready · {count:,} tool{'' if count == 1 else 's'}")
    if phase in ("stopped", "failed", "ended"):
        if not known.enabled:
            return StateWords("switched off", "text-faint", "○")
        if not known.source.may_run:
            return StateWords("not allowed yet", "open", "?")
    return _PHASES[phase]


def claim_words(claims: Mapping[str, Any]) -> str:
    """What a tool says of itself, in a few words; "" where it says nothing that is known."""
    found = []
    for key, (yes, no) in _CLAIMS.items():
        value = claims.get(key)
        if value is True:
            found.append(yes)
        elif value is False and no:
            found.append(no)
    return ", ".join(found)


def size_words(size: int) -> str:
    """`812 B`, `3.4 kB`, `12 MB`."""
    if size < 1000:
        return f"{size} B"
    for unit in ("kB", "MB"):
        size_in = size / (1000 if unit == "kB" else 1_000_000)
        if size_in < 1000 or unit == "MB":
            return f"{size_in:.1f} {unit}" if size_in < 10 else f"{size_in:,.0f} {unit}"
    return ""


def time_words(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def secret_words(config: ServerConfig) -> str:
    """The names of what is set and not shown."""
    parts = []
    if config.env:
        parts.append(f"Variables: {', '.join(config.env)}")
    if config.headers:
        parts.append(f"Headers: {', '.join(config.headers)}")
    if config.cwd:
        parts.append(f"Folder: {config.cwd}")
    return shown_exactly(" · ".join(parts))
