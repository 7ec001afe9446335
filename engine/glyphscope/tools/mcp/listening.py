"""Notifications of a server of 2026-07-28 and later, which sends none that it was not asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types import METHOD_NOT_FOUND

_KINDS = ("tools", "prompts", "resources")
_LONGEST_WAIT = 60.0
"""Seconds before another attempt after several that failed."""


class Listening:
    """Keeps one `subscriptions/listen` request open. In the loop's thread.

    What arrives goes to the message handler of the session, as the notifications of older servers do. `reopened` is
    called after a stream was opened again: what changed meanwhile was not reported.
    """

    def __init__(self, reopened: Callable[[], None]) -> None:
        self._reopened = reopened
        self._uris: tuple[str, ...] = ()
        self._changed = anyio.Event()
        self._open: anyio.CancelScope | None = None

    def subscribe(self, uris: Iterable[str]) -> None:
        """The resources whose updates are wanted."""
        self._uris = tuple(uris)
        self._changed.set()
        if self._open is not None:
            self._open.cancel()

    async def run(self, session: ClientSession, features: tuple[str, ...]) -> None:
        """Until it is cancelled, or the server does not know the request."""
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
            if not self._changed.is_set():  # else other resources are wanted at once
                await anyio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
