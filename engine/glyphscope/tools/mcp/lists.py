"""A server's lists in its loop: all pages of one, within limits, and the notifications that one has changed.

Servers of 2026-07-28 and later send only requested notifications.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.dispatcher import CallOptions
from mcp_types import METHOD_NOT_FOUND

from glyphscope.base.figures import byte_size
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


_KINDS = ("tools", "prompts", "resources")
_MAX_WAIT = 60.0
"""The maximum wait, in seconds, before another attempt after several failed ones."""


class Listening:
    """Keeps one `subscriptions/listen` request open, in the loop's thread.

    Received notifications go to the session's message handler, like those of older servers. `reopened` is called after
    a stream was opened again, because changes in between were not reported.
    """

    def __init__(self, reopened: Callable[[], None]) -> None:
        self._reopened = reopened
        self._uris: tuple[str, ...] = ()
        self._changed = anyio.Event()
        self._open: anyio.CancelScope | None = None

    def subscribe(self, uris: Iterable[str]) -> None:
        """Set the resources whose updates are requested."""
        self._uris = tuple(uris)
        self._changed.set()
        if self._open is not None:
            self._open.cancel()

    async def run(self, session: ClientSession, features: tuple[str, ...]) -> None:
        """Run until cancelled, or until the server rejects the request as unknown."""
        tools, prompts, resources = (f"{kind}/listChanged" in features for kind in _KINDS)
        wait, opened = 1.0, False
        while True:
            if not (tools or prompts or resources or self._uris):
                await self._changed.wait()
            self._changed = anyio.Event()
            try:
                async with listen(
                    session,
                    tools_list_changed=tools,
                    prompts_list_changed=prompts,
                    resources_list_changed=resources,
                    resource_subscriptions=self._uris,
                ) as stream:
                    if opened:
                        self._reopened()
                    wait, opened = 1.0, True
                    with anyio.CancelScope() as self._open:
                        if self._changed.is_set():  # while it was opened
                            continue
                        async for _event in stream:
                            pass
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return
            except SubscriptionLost:
                pass
            finally:
                self._open = None
            if not self._changed.is_set():  # otherwise request the other resources at once
                await anyio.sleep(wait)
                wait = min(2 * wait, _MAX_WAIT)
