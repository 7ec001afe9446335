"""The progress reports of an evaluation, which the window's page reads, and in words for terminals and notebooks."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from glyphscope.base.figures import estimate, pluralize
from glyphscope.base.visible import visible
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import sample_words


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
class EvaluationEnded:
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
    | EvaluationEnded
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


# in words


@dataclass
class ProgressWords:
    """The state after the reports so far: `done` of `total` samples, the present sample as `now`, the results so far
    with the time left as `left`. `name` is that of the last finished sample.
    """

    total: int = 0
    done: int = 0
    now: str = "beginning"
    left: str = ""
    name: str = ""
    _manifest: Manifest = field(default_factory=Manifest)
    _names: dict[str, str] = field(default_factory=dict)
    _ok: int = 0
    _made: int = 0

    def add(self, report: Progress) -> None:
        """Include the next report."""
        match report:
            case Begun(manifest=manifest, done=done):
                self._manifest, self.total, self.done = manifest, manifest.planned, done
            case ModelOpened(name=name):
                self.now = visible(f"{name} is open")
            case SampleBegun():
                self._names[report.id] = words = sample_words(self._manifest, report)
                self.now = visible(f"{words}: reading the prompt")
            case SampleGrew(id=id, tokens=tokens, judge=judge):
                name = self._names.get(id, id) + (f", judge {judge}" if judge else "")
                self.now = visible(
                    f"{name}: {pluralize(tokens, 'token') if tokens else 'reading the prompt'}"
                )
            case SampleDone(sample=sample, done=done, left=left):
                self._made += 1
                self._ok += sample.ok
                self.done, self.name = done, self._names.pop(sample.id, sample.id)
                self.left = f"{self._ok}/{self._made} ok, about {estimate(left)} left"
            case _:
                pass
