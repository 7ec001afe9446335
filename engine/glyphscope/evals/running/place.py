"""The place of an evaluation's samples, as `--on` names it: this machine, or an address that a plug-in reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.plugins import PluginGroup
from glyphscope.evals.running.local_workers import LocalWorkers
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.evals.running.worker_pool import Workers
from glyphscope.store.named_models import NamedModels

MAX_JOBS = 64
_LOCAL = re.compile(r"local(?::(\d{1,3}))?")


@dataclass(frozen=True)
class SamplesPlace:
    """`jobs` samples at once on this machine, or a place elsewhere, whose workers open the models they have there."""

    jobs: int = 1

    @property
    def is_local(self) -> bool:
        return True

    def workers(self, models: NamedModels, sequences: int = 1, servers: ToolServers | None = None) -> Workers:
        """The workers there, with models that `models` opens; those to be evaluated with so many sequences. `servers`
        execute calls, on this machine only.
        """
        opener = partial(models.open, models=self.jobs)
        return LocalWorkers(opener, partial(opener, sequences=sequences), servers)


PLACES: PluginGroup[Callable[[str], SamplesPlace]] = PluginGroup("glyphscope.workers", Callable)
"""Functions that make the place of an address, by its scheme. They raise GlyphscopeError for an invalid address, and if
a package is not installed."""


def read_place(text: str) -> SamplesPlace:
    """`local`, `local:N`, or `dask://HOST:PORT`, for which Dask prints `tcp://HOST:PORT`.

    Raises GlyphscopeError, also without dask.distributed.
    """
    if local := _LOCAL.fullmatch(text):
        jobs = int(local[1] or 1)
        if 1 <= jobs <= MAX_JOBS:
            return SamplesPlace(jobs)
        raise GlyphscopeError(f"local:N takes 1 to {MAX_JOBS} jobs.", where=text)
    scheme, separator, _ = text.partition("://")
    reader = PLACES.get(scheme) if separator else None
    if reader is None:
        raise not_a_place(text)
    return reader(text)


def not_a_place(text: str) -> GlyphscopeError:
    """The error for an invalid address."""
    return GlyphscopeError(
        "Not a place for samples.",
        where=text,
        hint="Give local:N, or dask://HOST:PORT of a Dask scheduler.",
    )
