"""Searching the Hub by words: repositories with models in GGUF, and which of their files fits in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from glyphscope.errors import ModelError
from glyphscope.models.hub.cancellable import Cancellable
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.files import Listing
from glyphscope.models.hub.listing import TIMEOUTS, need_hub, patiently
from glyphscope.models.hub.names import HubRequest
from glyphscope.models.remote.retry import Timeouts

if TYPE_CHECKING:
    from glyphscope.models.hub.client import Hub

FEWEST_LETTERS = 2
LONGEST_WORDS = 200
MOST_HITS = 30
_AT_ONCE = 4
"""Repositories whose files are requested at the same time."""


class Hit(NamedTuple):
    """A repository. `pick` is the file that suits the free memory best; None where none does by itself, then `problem`.

    Without a `listing`, its files could not be listed. `fits` is None where the size or the free memory is unknown.
    """

    repo: str
    downloads: int = 0
    listing: Listing | None = None
    pick: Pick | None = None
    fits: bool | None = None
    problem: ModelError | None = None


class Search(Cancellable):
    """One search, that any thread can cancel. `memory` is the free memory in bytes, None where it is unknown."""

    def __init__(
        self, words: str, memory: int | None, limit: int = 10, patience: Timeouts = TIMEOUTS
    ) -> None:
        """Raises ModelError for words that cannot be searched."""
        super().__init__()
        self._words, self._memory, self._limit, self._patience = words.strip(), memory, limit, patience
        if not FEWEST_LETTERS <= len(self._words) <= LONGEST_WORDS:
            raise ModelError(
                f"The words to search have {len(self._words)} characters; {FEWEST_LETTERS} to {LONGEST_WORDS} are "
                "possible.",
                hint="Use words of a model's name, as in: qwen3 0.6b",
            )

    def hits(self) -> list[Hit]:
        """Most downloaded first. Raises ModelError, and Stopped after `cancel`."""
        need_hub()
        return self.run(self._search())

    async def _search(self) -> list[Hit]:
        from glyphscope.models.hub.client import Hub  # an extra

        async with Hub(self._patience) as hub:
            found = await patiently(lambda: hub.search(self._words, self._limit), self._patience)
            places = asyncio.Semaphore(_AT_ONCE)
            return list(await asyncio.gather(*(self._hit(hub, places, *each) for each in found)))

    async def _hit(self, hub: Hub, places: asyncio.Semaphore, repo: str, downloads: int) -> Hit:
        hit = Hit(repo, downloads)
        try:
            async with places:
                listing = await patiently(lambda: hub.look(HubRequest(repo)), self._patience)
        except ModelError as error:
            return hit._replace(problem=error)
        try:
            picked = pick(listing, "", self._memory)
        except ModelError as error:
            return hit._replace(listing=listing, problem=error)
        size = picked.choice.bytes
        fits = None if self._memory is None or not size else size <= self._memory
        return hit._replace(listing=listing, pick=picked, fits=fits)
