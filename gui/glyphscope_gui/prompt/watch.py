"""The shown prompt, of the last or the next run, with its changes and its cached part.

Costs, differences and advice are computed in the background. The last prompt that a model evaluated is tracked over all
its runs, including background runs, as each of them replaces the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from glyphscope.events import DEFAULT_CHAT, ChatOptions, PromptEvaluated, PromptRendered
from glyphscope.prompting.changes import CacheLoss, Changes, advice, cache_loss, in_common, prompt_changes
from glyphscope.prompting.costs import prompt_costs
from glyphscope.runs import RunState
from glyphscope.runs.state import StageState
from glyphscope_gui.prompt.costs import CostRows
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.background import Background

Origin: TypeAlias = Literal["run", "record", "now"]


@dataclass(frozen=True)
class ShownPrompt:
    """`origin`: sent by a run, sent by a recorded run, or the next run's prompt (`now`).

    `changes` are the changes since the previous run, `loss` the lost part of the cache; `common` is the number of
    tokens that a prompt of `now` shares with the last evaluated one. None if unknown.
    """

    prompt: PromptRendered
    origin: Origin
    rows: CostRows = field(default_factory=CostRows)
    changes: Changes | None = None
    loss: CacheLoss | None = None
    advice: tuple[str, ...] = ()
    common: int | None = None


@dataclass(frozen=True)
class _Job:
    prompt: PromptRendered
    origin: Origin
    evaluated: PromptEvaluated | None = None
    previous: PromptRendered | None = None
    read: PromptRendered | None = None
    chat: ChatOptions = DEFAULT_CHAT


class PromptWatch(QObject):
    """`shown` carries a ShownPrompt."""

    shown = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._run = RunState()
        self._place = 0
        """The last stage whose prompt was taken."""
        self._taken: tuple[PromptRendered | None, PromptEvaluated | None] = (None, None)
        """Its prompt and its evaluation so far."""
        self._previous: dict[str, PromptRendered] = {}
        self._last: dict[str, PromptRendered] = {}
        self._read: PromptRendered | None = None
        """The last prompt that the model evaluated; None if its cache is empty."""
        self._job: _Job | None = None
        self._chat: ChatOptions = DEFAULT_CHAT

    def show_run(self, shown: ShownRun) -> None:
        """Take what is new in a run of the playground."""
        run = shown.run
        if run.started is None:
            return
        if run is not self._run:
            self._run, self._place, self._taken = run, 0, (None, None)
            if shown.kind == "run":
                self._previous, self._last = self._last or self._previous, {}
                self._chat = run.started.request.chat
        for index in range(self._place, len(run.stages)):
            if index != self._place:
                self._place, self._taken = index, (None, None)
            self._take(run.stages[index], is_record=shown.kind == "replay")

    def _take(self, stage: StageState, *, is_record: bool) -> None:
        """Take the prompt of a stage, and its evaluation once it is complete."""
        prompt, evaluated = self._taken
        self._taken = stage.prompt, stage.evaluated
        if stage.prompt is not None and stage.prompt is not prompt:
            self._rendered(stage.prompt, is_record=is_record)
        done = stage.evaluated
        if done is not None and done is not evaluated and done.done == done.total:
            self._evaluated(done)

    def note(self, prompt: PromptRendered | None) -> None:
        """Take the prompt of another evaluation by the same model, which replaces the cache."""
        if prompt is not None:
            self._read = prompt

    def forget(self) -> None:
        """Forget the evaluated prompt, as another model is opened: its cache is empty, and it counts other tokens."""
        self._read = self._job = None

    def show_next(
        self, prompt: PromptRendered, chat: ChatOptions = DEFAULT_CHAT, *, is_shown: bool = True
    ) -> None:
        """Show the prompt of the next run; the last sent prompt stays shown while it is the same, and is shown again
        unless it still is (`is_shown`).

        The text alone is not enough: with an endpoint's template, it is the same for all options `chat`.
        """
        job = self._job
        if (
            job is not None
            and job.origin == "run"
            and (job.prompt.text, job.prompt.plain, job.chat) == (prompt.text, prompt.plain, chat)
        ):
            if not is_shown:
                self._start(job)
            return
        previous = next(iter((self._last or self._previous).values()), None)
        self._start(_Job(prompt, "now", previous=previous, read=self._read))

    def _rendered(self, event: PromptRendered, *, is_record: bool) -> None:
        if is_record:
            self._start(_Job(event, "record"))
            return
        previous, read = self._previous.get(event.stage), self._read
        self._last[event.stage] = self._read = event
        self._start(_Job(event, "run", None, previous, read, self._chat))

    def _evaluated(self, event: PromptEvaluated) -> None:
        job = self._job
        if job is not None and job.origin != "now" and job.prompt.stage == event.stage and event.total:
            self._start(replace(job, evaluated=event))

    def _start(self, job: _Job) -> None:
        self._job = job
        self._background.start("prompt", partial(_worked_out, job), self.shown.emit)


def _worked_out(job: _Job) -> ShownPrompt:
    prompt = job.prompt
    loss = None
    if job.origin != "now":
        first = job.origin == "run" and job.read is None
        loss = cache_loss(prompt, job.evaluated, job.read, first=first)
    return ShownPrompt(
        prompt=prompt,
        origin=job.origin,
        rows=CostRows(prompt_costs(prompt)),
        changes=None if job.previous is None else prompt_changes(job.previous, prompt),
        loss=loss,
        advice=advice(prompt, loss),
        common=in_common(job.read, prompt) if job.origin == "now" and job.read is not None else None,
    )
