"""Log messages of a server, read from the protocol log; the levels are those of RFC 5424, as in MCP."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from glyphscope.tools.mcp.log import Entry

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


def log_message(entry: Entry) -> LogMessage | None:
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
