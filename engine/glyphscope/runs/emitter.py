"""The run, the stage and the time of each event."""

from __future__ import annotations

import hashlib
import platform
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec

from glyphscope.events import ModelInfo, RunEvent, RunRequest, RunStarted, StageKind, StageStarted

E = TypeVar("E", bound=RunEvent)
Clock: TypeAlias = Callable[[], float]

PACKAGES = ("glyphscope", "llama-cpp-python", "llguidance", "jsonschema", "glyph-py", "msgspec")
"""The packages whose versions can change a run's result, in addition to Python."""


def span_ids(run: str, time: str, span: str) -> tuple[int, int]:
    """The ids of a run's trace (128 bits) and of a span in it (64 bits), the same whenever they are made."""
    key = f"{run} {time}"
    digests = (hashlib.sha256(text.encode()).digest() for text in (key, f"{key}\n{span}"))
    trace, own = (int.from_bytes(digest[:size], "big") or 1 for digest, size in zip(digests, (16, 8)))
    return trace, own


class Emitter:
    """Stamps events with run, stage and the seconds since its creation. One per run.

    `clock` returns seconds; a clock that stops while a run is paused excludes the pauses from all times and limits.
    """

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self.run = uuid.uuid4().hex[:12]
        self.stage = ""
        self._time = ""
        self._stages: Counter[str] = Counter()
        self._calls = 0
        self._clock = clock
        self._start = clock()

    @property
    def now(self) -> float:
        """Seconds since the run started."""
        return self._clock() - self._start

    def stamp(self, event: E) -> E:
        """The event with run, stage and time."""
        return msgspec.structs.replace(event, run=self.run, stage=self.stage, t=self.now)

    def started(self, request: RunRequest, model: ModelInfo) -> RunStarted:
        """The first event of every run."""
        self._time = datetime.now(UTC).isoformat(timespec="milliseconds")
        return self.stamp(RunStarted(request=request, model=model, versions=versions(), time=self._time))

    def traceparent(self, call: str) -> str:
        """The trace context (W3C) of a call, with the ids of its exported span."""
        trace, span = span_ids(self.run, self._time, call)
        return f"00-{trace:032x}-{span:016x}-01"

    def enter(self, stage: str, title: str, kind: StageKind = "call", turn: int = 0) -> StageStarted:
        """The first event of a stage, to which all events stamped from now on belong.

        A name that the run has already used gets a number.
        """
        self._stages[stage] += 1
        count = self._stages[stage]
        self.stage = stage if count == 1 else f"{stage}-{count}"
        return self.stamp(StageStarted(title=title, kind=kind, turn=turn))

    def call_id(self) -> str:
        """A name for the next call, unique in the run."""
        self._calls += 1
        return f"call-{self._calls}"


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    from importlib import metadata  # slow to import, and needed by runs only

    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def versions() -> dict[str, str]:
    """The installed versions of Python and `PACKAGES`, without packages that are not installed."""
    return dict(_versions())
