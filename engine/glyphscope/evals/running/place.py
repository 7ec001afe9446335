"""The place of an evaluation's samples, as `--on` names it: this machine, or a Dask cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.running.local_workers import LocalWorkers
from glyphscope.evals.running.worker_pool import Workers
from glyphscope.sessions.named_models import NamedModels

MAX_JOBS = 64
_LOCAL, _DASK = (
    re.compile(r"local(?::(\d{1,3}))?"),
    re.compile(r"(?:dask|tcp)://([\w.-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})/?"),
)


@dataclass(frozen=True)
class Place:
    """`jobs` samples at once on this machine; or the workers of the Dask scheduler at `scheduler`, HOST:PORT."""

    jobs: int = 1
    scheduler: str = ""

    def workers(self, models: NamedModels, sequences: int = 1) -> Workers:
        """The workers there, with models that `models` opens; those to be evaluated with so many sequences."""
        if not self.scheduler:
            opener = partial(models.open, models=self.jobs)
            return LocalWorkers(opener, partial(opener, sequences=sequences))
        from glyphscope.evals.running.dask_workers import DaskWorkers  # an extra

        return DaskWorkers(self.scheduler, models.open)


def read_place(text: str) -> Place:
    """`local`, `local:N`, or `dask://HOST:PORT`, for which Dask prints `tcp://HOST:PORT`.

    Raises GlyphscopeError, also without dask.distributed.
    """
    if local := _LOCAL.fullmatch(text):
        jobs = int(local[1] or 1)
        if 1 <= jobs <= MAX_JOBS:
            return Place(jobs)
        raise GlyphscopeError(f"local:N takes 1 to {MAX_JOBS} jobs.", where=text)
    dask = _DASK.fullmatch(text)
    if dask is None or not 0 < int(dask[2]) < 1 << 16:
        raise GlyphscopeError(
            "Not a place for samples.",
            where=text,
            hint="Give local:N, or dask://HOST:PORT of a Dask scheduler.",
        )
    if find_spec("distributed") is None:
        raise GlyphscopeError(
            "dask.distributed is not installed.",
            where=text,
            hint="Install it: pip install 'glyphscope[dask]'.",
        )
    return Place(scheduler=f"{dask[1]}:{dask[2]}")
