"""The progress of an evaluation on stderr: a bar with the remaining time, and each sample that is not ok."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from glyphscope.cli.output import diagnostics
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.running.progress import (
    Begun,
    ModelMissing,
    ModelOpened,
    SampleDone,
    WorkerJoined,
    WorkerLeft,
)
from glyphscope.evals.running.progress import Progress as ProgressEvent
from glyphscope.evals.running.progress_words import ProgressWords
from glyphscope.text.figures import pluralize
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
        self._words = ProgressWords()

    def __enter__(self) -> ProgressView:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def show(self, event: ProgressEvent) -> None:
        words = self._words
        words.add(event)
        match event:
            case Begun(folder=folder, manifest=manifest, done=done):
                there = f", {done:,} of them already done" if done else ""
                self._say(
                    f"{pluralize(manifest.planned, 'sample')}{there}: {pluralize(len(manifest.arms), 'arm')}, "
                    f"{pluralize(sum(suite.scenarios for suite in manifest.suites), 'scenario')}, "
                    f"{pluralize(manifest.trials, 'trial')}. Into {folder}"
                )
                self._task = self._bar.add_task(words.now, total=words.total, completed=done, left="")
            case ModelMissing(name=name, why=why):
                self._say(f"{name} was skipped: {why}", "bold red")
            case ModelOpened(name=name, problems=problems):
                for problem in problems:
                    self._say(f"{name} cannot run {problem}", "bold red")
            case WorkerJoined(address=address):
                self._say(f"The worker {address} joined.")
            case WorkerLeft(address=address, why=why) if address:
                self._say(f"The worker {address} left: {why}", "bold red")
            case SampleDone(sample=sample, done=done) if not self._out.is_terminal:
                mark = "✓" if sample.ok else "✗"
                why = f" {sample.failures[0].reason}" if sample.failures else ""
                self._say(f"{mark} {done}/{self._plan.cost.samples} {words.name}{why}")
            case _:
                pass
        if self._task is not None:
            self._bar.update(self._task, completed=words.done, description=words.now, left=words.left)

    def _say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._bar.console.print(Text(visible(text), style))
