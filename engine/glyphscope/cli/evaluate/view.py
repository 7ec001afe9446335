"""The progress of an evaluation on stderr: a bar with the remaining time, and each sample that is not ok."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from glyphscope.cli.output import diagnostics
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.words import sample_words
from glyphscope.evals.running.progress import (
    Begun,
    Ended,
    ModelMissing,
    ModelOpened,
    SampleBegun,
    SampleDone,
    SampleGrew,
)
from glyphscope.evals.running.progress import Progress as ProgressEvent
from glyphscope.text.figures import estimate, pluralize
from glyphscope.visible import visible


class ProgressView:
    """The progress of `evaluate`: a bar on a terminal, otherwise a line per sample; `quiet` shows neither."""

    def __init__(self, plan: Plan, *, quiet: bool) -> None:
        self._plan = plan
        self._out: Console = diagnostics()
        self._quiet = quiet
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TimeElapsedColumn(),
            console=self._out,
            disable=quiet or not self._out.is_terminal,
        )
        self._task: TaskID | None = None
        self._manifest = Manifest()
        self._now: dict[str, str] = {}
        self._ok = self._done = 0

    def __enter__(self) -> ProgressView:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def show(self, event: ProgressEvent) -> None:
        match event:
            case Begun(folder=folder, manifest=manifest, done=done):
                self._manifest = manifest
                there = f", {done:,} of them already done" if done else ""
                self._say(
                    f"{pluralize(manifest.planned, 'sample')}{there}: {pluralize(len(manifest.arms), 'arm')}, "
                    f"{pluralize(sum(suite.scenarios for suite in manifest.suites), 'scenario')}, "
                    f"{pluralize(manifest.trials, 'trial')}. Into {folder}"
                )
                self._task = self._bar.add_task("beginning", total=manifest.planned, completed=done, left="")
            case ModelOpened(name=name):
                self._update(description=visible(f"{name} is open"))
            case ModelMissing(name=name, why=why):
                self._say(f"{name} was skipped: {why}", "bold red")
            case SampleBegun(id, arm, suite, scenario, trial):
                self._now[id] = words = sample_words(self._manifest, arm, suite, scenario, trial)
                self._update(description=visible(f"{words}: reading the prompt"))
            case SampleGrew(id=id, tokens=tokens, judge=judge):
                name = self._now.get(id, id) + (f", judge {judge}" if judge else "")
                grown = pluralize(tokens, "token") if tokens else "reading the prompt"
                self._update(description=visible(f"{name}: {grown}"))
            case SampleDone(sample=sample, done=done, left=left):
                self._done += 1
                name = self._now.pop(sample.id, sample.id)
                self._ok += sample.ok
                self._update(completed=done, left=f"{self._ok}/{self._done} ok, about {estimate(left)} left")
                if not self._out.is_terminal:
                    mark = "✓" if sample.ok else "✗"
                    why = f" {sample.failures[0].reason}" if sample.failures else ""
                    self._say(f"{mark} {done}/{self._plan.cost.samples} {name}{why}")
            case Ended():
                pass

    def _update(self, **more: object) -> None:
        if self._task is not None:
            self._bar.update(self._task, **more)  # type: ignore[arg-type]

    def _say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._bar.console.print(Text(visible(text), style))
