"""Looking at a repository: what models are in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TypeVar

from glyphscope.errors import ModelError
from glyphscope.models.hub.cancellable import Cancellable
from glyphscope.models.hub.files import Listing
from glyphscope.models.hub.names import HubRequest
from glyphscope.models.remote.retry import RequestFailed, Retries, Timeouts

T = TypeVar("T")

TIMEOUTS = Timeouts(connect=10.0, first=30.0, between=15.0, attempts=3, retrying=30.0, wait=1.0, longest=15.0)
"""For a question that somebody waits for."""


def need_hub() -> None:
    """Raises ModelError where the extra is not installed."""
    if find_spec("huggingface_hub") is None:
        raise ModelError(
            "Downloading by name needs huggingface_hub, which is not installed.",
            hint="Install it: pip install 'glyphscope[hub]'.",
        )


async def patiently(ask: Callable[[], Awaitable[T]], patience: Timeouts) -> T:
    """The result of a request that is repeated as long as that may help. Raises ModelError."""
    retries = Retries(patience)
    while True:
        try:
            return await ask()
        except RequestFailed as refused:
            await asyncio.sleep(retries.pause(refused))


class Lookup(Cancellable):
    """One question, that any thread can end."""

    def __init__(self, wanted: HubRequest, patience: Timeouts = TIMEOUTS) -> None:
        super().__init__()
        self._wanted, self._patience = wanted, patience

    def listing(self) -> Listing:
        """The repository's files. Raises ModelError, and Stopped after `cancel`."""
        need_hub()
        return self.run(self._look())

    async def _look(self) -> Listing:
        from glyphscope.models.hub.client import Hub  # an extra

        async with Hub(self._patience) as hub:
            return await patiently(lambda: hub.look(self._wanted), self._patience)
