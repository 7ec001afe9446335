"""The progress reports of an evaluation, which the window's page reads, and in words for terminals and notebooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
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


@dataclass(frozen=True)
class SampleNow:
    """A sample that is being made: its name, the tokens decoded so far, and the end of their text; those of the judge
    model once it has begun.
    """

    name: str
    tokens: int = 0
    text: str = ""
    judge: str = ""


@dataclass
class EvaluationState:
    """An evaluation after the reports so far. `name_of` names its samples.

    `ok` of the `made` samples are right, `last` is the name of the newest. `left` is in seconds, None while unknown;
    `now` has the samples being made, by id. `workers` are the addresses of other processes that make samples. `lost`
    are those that left, and `missing` the models without samples, with the reasons. `rejected` are models with the
    problems of requests that they cannot run.
    """

    planned: int = 0
    done: int = 0
    made: int = 0
    ok: int = 0
    last: str = ""
    left: float | None = None
    model: str = ""
    now: dict[str, SampleNow] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    rejected: list[tuple[str, str]] = field(default_factory=list)
    workers: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)
    name_of: Callable[[Manifest, SampleBegun], str] = sample_words
    _manifest: Manifest = field(default_factory=Manifest)

    def add(self, report: Progress) -> None:
        """Include the next report."""
        match report:
            case Begun(manifest=manifest, done=done):
                self._manifest, self.planned, self.done = manifest, manifest.planned, done
            case ModelOpened(name=name, problems=problems):
                self.model = name
                self.rejected += ((name, problem) for problem in problems)
            case ModelMissing(name=name, why=why):
                self.missing[name] = why
            case WorkerJoined(address=address):
                self.workers.add(address)
                self.lost.pop(address, None)
            case WorkerLeft(address=address, why=why) if address:
                self.workers.discard(address)
                self.lost[address] = why
            case SampleBegun(id=id):
                self.now[id] = SampleNow(self.name_of(self._manifest, report))
            case SampleGrew(id=id) if id in self.now:
                self.now[id] = SampleNow(self.now[id].name, report.tokens, report.text, report.judge)
            case SampleDone(sample=sample, done=done, left=left):
                made = self.now.pop(sample.id, None)
                self.done, self.left, self.last = done, left, sample.id if made is None else made.name
                self.made += 1
                self.ok += sample.ok


@dataclass
class ProgressWords(EvaluationState):
    """The same in words: the newest report as `words`, the results so far with the time left as `rest`."""

    words: str = "beginning"

    def add(self, report: Progress) -> None:
        super().add(report)
        match report:
            case ModelOpened(name=name):
                self.words = visible(f"{name} is open")
            case SampleBegun(id=id) | SampleGrew(id=id) if id in self.now:
                sample = self.now[id]
                name = sample.name + (f", judge {sample.judge}" if sample.judge else "")
                tokens = pluralize(sample.tokens, "token") if sample.tokens else "reading the prompt"
                self.words = visible(f"{name}: {tokens}")

    @property
    def rest(self) -> str:
        """Empty before the first sample is done."""
        return "" if self.left is None else f"{self.ok}/{self.made} ok, about {estimate(self.left)} left"
