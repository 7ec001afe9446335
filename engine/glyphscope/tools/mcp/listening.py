"""Notifications of servers of 2026-07-28 and later, which send only requested ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types import METHOD_NOT_FOUND

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
