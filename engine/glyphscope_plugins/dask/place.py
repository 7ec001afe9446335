"""The address of a Dask scheduler, without the imports of dask.distributed before they are needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.running.place import SamplesPlace, not_a_place
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.evals.running.worker_pool import Workers
from glyphscope.store.named_models import NamedModels

_ADDRESS = re.compile(r"(?:dask|tcp)://([\w.-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})/?")


@dataclass(frozen=True)
class DaskPlace(SamplesPlace):
    """The workers of the Dask scheduler at HOST:PORT."""

    scheduler: str = ""

    @property
    def is_local(self) -> bool:
        return False

    def workers(self, models: NamedModels, sequences: int = 1, servers: ToolServers | None = None) -> Workers:
        from glyphscope_plugins.dask.workers import DaskWorkers  # imports the extra

        return DaskWorkers(self.scheduler, models.open)


def read(text: str) -> DaskPlace:
    """The place of `dask://HOST:PORT` or `tcp://HOST:PORT`. Raises GlyphscopeError, also without dask.distributed."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise not_a_place(text)
    if find_spec("distributed") is None:
        raise GlyphscopeError(
            "dask.distributed is not installed.",
            where=text,
            hint="Install it: pip install 'glyphscope[dask]'.",
        )
    return DaskPlace(scheduler=f"{found[1]}:{found[2]}")
