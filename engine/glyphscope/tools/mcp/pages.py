"""Read all pages of a server's list, with limits on entries, pages, bytes and time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions

from glyphscope.text.figures import byte_size
from glyphscope.tools.mcp.log import ProtocolLog

Ask: TypeAlias = Callable[[str, dict[str, Any], CallOptions], Awaitable[dict[str, Any]]]

LIST_SECONDS = 30.0
"""The time limit for all pages of one list."""
MAX_ENTRIES = 20_000
MAX_PAGES = 1_000
MAX_BYTES = 128_000_000
"""Limits of a whole list; the part beyond them is omitted and reported."""


class NoList(Exception):
    """Not even the first page was returned."""


async def read_pages(
    ask: Ask,
    method: str,
    key: str,
    take: Callable[[Any], None],
    log: ProtocolLog,
    words: Callable[[MCPError], str],
    *,
    empty_cursors: bool,
) -> str:
    """Pass every entry to `take`. Returns the problem of the list as a whole, "" if there is none. Raises NoList.

    `empty_cursors`: an empty cursor leads to another page, as since MCP 2026-07-28; before, it is the end for some
    servers.
    """
    entries_are = "resource templates" if key == "resourceTemplates" else key
    noun = f"list of {entries_are}"
    seen, cursor, numbers = set[str](), None, count(1)
    received, until = log.received_bytes, anyio.current_time() + LIST_SECONDS
    for page in range(MAX_PAGES):
        try:
            left = max(0.01, until - anyio.current_time())
            result = await ask(method, {} if cursor is None else {"cursor": cursor}, {"timeout": left})
        except MCPError as error:
            why = words(error)
            if page == 0:
                raise NoList(why) from None
            return why
        entries = result.get(key)
        if not isinstance(entries, list):
            return f"The server's {noun} is not a list."
        for entry, number in zip(entries, numbers):
            if number > MAX_ENTRIES:
                return f"The server lists more than {MAX_ENTRIES:,} {entries_are}: the rest is left out."
            take(entry)
            if number % 50 == 0:  # checking schemas takes time; let other tasks run
                await anyio.lowlevel.checkpoint()
        cursor = result.get("nextCursor")
        if cursor is None or (cursor == "" and not empty_cursors):
            return ""
        if not isinstance(cursor, str) or cursor in seen:
            return f"The server's {noun} repeats a page: it would never end."
        seen.add(cursor)
        if log.received_bytes - received > MAX_BYTES:
            return f"The server's {noun} has more than {byte_size(MAX_BYTES)}."
    return f"The server's {noun} has more than {MAX_PAGES:,} pages: the rest is left out."
