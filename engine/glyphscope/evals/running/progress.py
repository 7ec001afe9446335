"""The progress reports of an evaluation, which the command line's bar and the window's page read."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample


@dataclass(frozen=True)
class Begun:
    """The folder exists; `done` of the manifest's `planned` samples were already in it."""

    folder: Path
    manifest: Manifest
    done: int


@dataclass(frozen=True)
class ModelOpened:
    """A model is open: its arms begin. `problems` are those of the requests that it cannot run, with their arms."""

    name: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelMissing:
    """A model could not be opened: its arms are left out, the others continue, and the report says so."""

    name: str
    why: str


@dataclass(frozen=True)
class WorkerJoined:
    """A worker of another process has opened the model."""

    address: str


@dataclass(frozen=True)
class WorkerLeft:
    """A worker of another process makes no more samples: it was lost, or is left out."""

    address: str
    why: str


@dataclass(frozen=True)
class SampleBegun:
    """A sample is begun: a scenario of a suite in an arm; `trial` counts from 1."""

    id: str
    arm: str
    suite: str
    scenario: str
    trial: int


@dataclass(frozen=True)
class SampleGrew:
    """The model writes: `tokens` so far, and the end of the `text`. The first token is reported at once, later ones a
    few times per second. With `judge`, the name of the judge model, both are that model's: 0 while it reads its prompt.
    """

    id: str
    tokens: int
    text: str
    judge: str = ""


@dataclass(frozen=True)
class SampleDone:
    """A sample is in the folder. `left` is the forecast of the time for the others, in seconds."""

    sample: Sample
    done: int
    left: float


@dataclass(frozen=True)
class Ended:
    """The last report. `complete`: every possible sample is in the folder; if not, the result can be continued."""

    folder: Path
    complete: bool


_LOOK_SECONDS = 0.05

Progress: TypeAlias = (
    Begun
    | ModelOpened
    | ModelMissing
    | WorkerJoined
    | WorkerLeft
    | SampleBegun
    | SampleGrew
    | SampleDone
    | Ended
)


@dataclass
class Control:
    """Control of an evaluation by another thread: pause between samples, stop in the middle of one."""

    stopped: threading.Event = field(default_factory=threading.Event)
    _going: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._going.set()

    def pause(self) -> None:
        self._going.clear()

    def resume(self) -> None:
        self._going.set()

    def stop(self) -> None:
        """Cancel the sample in progress; the folder keeps the others."""
        self.stopped.set()
        self._going.set()

    def wait(self, ended: threading.Event) -> bool:
        """Wait while paused; returns whether to continue. `ended` ends the wait, as does `stop`."""
        while not self._going.wait(_LOOK_SECONDS) and not ended.is_set():
            pass
        return not (self.stopped.is_set() or ended.is_set())
