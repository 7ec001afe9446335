"""The presenter of the A/B view: two prompts, their sources, and their runs on the same seeds."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.ab import AbPlan, AbReport, AbResults, place_of
from glyphscope.evals.ab import Place as AbPlace
from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.sessions import load_project
from glyphscope.sessions.project import SUFFIX, StoredProject
from glyphscope_gui.compare.ab_page import AbPage, AbRow
from glyphscope_gui.compare.ab_prompts import (
    NAMES,
    Source,
    differ_words,
    expected_text,
    plan,
    request_of_prompt,
)
from glyphscope_gui.compare.experiment import Experiment, ExperimentRun
from glyphscope_gui.compare.words import ANOTHER_RUN, allowed_tools, earlier_words
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.run_controller import Phase, RunController
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class AbRuns(Experiment):
    """All seeds of the first prompt, then all of the second; the keys of the runs are `Place`s. `report` counts the
    finished pairs; None before the first one.
    """

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(runs, tr("Stopped: the figures cover the finished pairs."), parent)
        self.results: AbResults | None = None
        self.report: AbReport | None = None

    @property
    def plan(self) -> AbPlan | None:
        return None if self.results is None else self.results.plan

    def begin(self, plan: AbPlan) -> bool:
        """Begin the runs of a plan. Return False while the model is in use. Raises RegistryError."""
        runs: dict[AbPlace, ExperimentRun] = {
            place_of(each): ExperimentRun(each.request) for each in plan.samples
        }
        self._next_plan = plan
        return self.start(runs)

    def rows(self) -> list[AbRow]:
        """A row for each seed, with its results so far."""
        results = self.results
        if results is None:
            return []
        rows = []
        for number, seed in enumerate(results.plan.seeds):
            pair = results.pairs.get(number)
            if pair is not None:
                rows.append(AbRow(seed, pair.first, pair.second, pair.difference))
            else:
                rows.append(AbRow(seed, results.trial((0, number)), results.trial((1, number))))
        return rows

    def _restart(self) -> None:
        self.results, self.report = AbResults(self._next_plan), None

    def _count(self, key: AbPlace, run: ExperimentRun) -> None:
        assert self.results is not None
        self.results.add(key, run.state)
        self.report = self.results.report() if self.results.pairs else None


class AbPresenter(QObject):
    """A sub-presenter of the compare page."""

    def __init__(self, context: AppContext, page: AbPage, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._page = page
        self._runs = context.runs
        self._last: RunRequest | None = None
        self._saved_prompt: RunRequest | None = None
        self._opened: list[tuple[str, RunRequest] | None] = [None, None]
        self._chosen: list[Source] = ["last", "now"]
        self._background = Background(self)
        self.ab = AbRuns(context.runs, self)
        page.sourceChosen.connect(self._choose)
        page.keep_button.clicked.connect(self.keep)
        page.expect_button.clicked.connect(self._expect)
        page.run_button.clicked.connect(self.run)
        page.stop_button.clicked.connect(self.ab.stop)
        page.openRequested.connect(self._open)
        self.ab.changed.connect(lambda _key: self._show())
        self.ab.grew.connect(lambda _grown: self._show_turn())
        self.ab.runningChanged.connect(lambda _running: self._show())
        self.ab.ended.connect(context.recorder.keep)
        self._runs.ended.connect(lambda applied: self._ran(applied.state))
        self._runs.phaseChanged.connect(lambda _phase: self._show_turn())
        project = context.project
        for signal in (project.optionsChanged, project.tools.changed, project.prompt.changed):
            signal.connect(lambda _change: self._show_turn())
        self._show_sources()
        self._show()

    # -- requests of the user ----------------------------------------------------------------------------------

    def keep(self) -> None:
        """Keep the current prompt as A, unaffected by later edits."""
        self._saved_prompt = self._now()
        self._chosen[0] = "kept"
        self._show_sources()

    def run(self) -> None:
        """Run both prompts on all seeds; errors in the settings are shown beside them."""
        if not self._page.run_button.isEnabled():
            return
        first, second = (self._request(place) for place in (0, 1))
        if first is None or second is None:
            name = NAMES[0 if first is None else 1]
            words = tr(
                "There is no prompt for {name} yet: choose another source, or run the playground.", name=name
            )
            self._page.turn.setText(words)
            return
        page = self._page
        settings = (page.seeds.text(), page.temperature.value(), page.expect.text())
        try:
            self.ab.begin(plan(self._now(), first, second, *settings))
        except GlyphscopeError as error:
            self._page.turn.setText(error.words)

    def _choose(self, place: int, key: str) -> None:
        if key == "project":
            self._ask_for_project(place)
        else:
            self._chosen[place] = cast("Source", key)
        self._show_sources()

    def _expect(self) -> None:
        """Expect the call of the playground's run."""
        call = self._runs.state.call
        if call is not None:
            self._page.expect.setText(expected_text(call.tool, call.arguments))

    def _open(self, which: int, place: int) -> None:
        run = self.ab.runs.get((which, place))
        if run is not None and run.has_ended and run.events and not self._runs.is_busy:
            self._runs.show_record(tuple(run.events))
            self._context.navigator.show(PageId.PLAYGROUND)

    def _ask_for_project(self, place: int) -> None:
        filters = tr("Projects (*{suffix})", suffix=SUFFIX)
        window, title = self._context.window, tr("Prompt of a project")
        ask_for_file(window, title, lambda path: self._read(place, path), filters)

    def _read(self, place: int, path: Path) -> None:
        def done(stored: StoredProject) -> None:
            self._opened[place] = (path.stem, stored.project.request)
            self._chosen[place] = "project"
            self._show_sources()

        self._background.start(f"open {place}", lambda: load_project(path), done, self._context.show_error)

    # -- the prompts -------------------------------------------------------------------------------------------

    def _now(self) -> RunRequest:
        return self._context.project.next_request().request

    def _request(self, place: int) -> RunRequest | None:
        match self._chosen[place]:
            case "now":
                return self._now()
            case "last":
                return self._last
            case "kept":
                return self._saved_prompt
            case _:
                opened = self._opened[place]
                return opened[1] if opened is not None else None

    def _ran(self, state: RunState) -> None:
        if state.started is not None:
            self._last = state.started.request
            self._show_sources()

    # -- what is shown -----------------------------------------------------------------------------------------

    def _show_sources(self) -> None:
        for place in (0, 1):
            sources = [("last", tr("Prompt of the run shown")), ("now", tr("Current prompt"))]
            if self._saved_prompt is not None:
                sources.append(("kept", tr("Kept prompt")))
            opened = self._opened[place]
            words = tr("A project…") if opened is None else tr("Project {name}", name=opened[0])
            sources.append(("project", words))
            self._page.show_sources(place, sources, self._chosen[place], self._about(place))
        self._show_turn()

    def _about(self, place: int) -> str:
        """Describe a prompt by its template, tools and text."""
        if self._chosen[place] == "now":
            return tr("The playground’s prompt when you press Run A and B")
        request = self._request(place)
        if request is None:
            return tr("No prompt yet")
        template = tr("custom template") if request.system is not None else request.preset
        tools = allowed_tools(request)
        return tr("{template}, %n tool(s), “{prompt}”", "", tools, template=template, prompt=request.prompt)

    def _show(self) -> None:
        self._page.model.refresh(self.ab.rows())
        self._page.show_choice()
        report, made = self.ab.report, self.ab.plan
        lines: list[str] = []
        if made is not None:
            lines.append(tr("Differences: {fields}.", fields=differ_words(made.differ)))
        if report is not None:
            if None not in report.prompt_tokens:
                counts = ", ".join(f"{name} {count:,}" for name, count in zip(NAMES, report.prompt_tokens))
                lines[0] += tr(" Prompt tokens: {counts}.", counts=counts)
            lines += report.words
        if self.ab.why:
            lines.append(self.ab.why)
        self._page.show_words(lines)
        self._show_turn()

    def _show_turn(self) -> None:
        free = self._runs.phase is Phase.IDLE
        self._page.show_running(running=self.ab.is_running, free=free)
        at, made = self.ab.key, self.ab.plan
        if at is not None and made is not None:
            words = tr(
                "{name}, seed {seed}: run {run} of {runs}",
                name=NAMES[at[0]],
                seed=made.seeds[at[1]],
                run=sum(run.has_ended for run in self.ab.runs.values()) + 1,
                runs=2 * len(made.seeds),
            )
            words = f"{words}, {self.ab.progress_words}"
        elif self.ab.is_running or free:
            words = ("" if self.ab.is_running else self._earlier_words()) or self._last_words()
        else:
            words = ANOTHER_RUN
        self._page.turn.setText(words)

    def _last_words(self) -> str:
        made = self.ab.plan
        if made is not None and len(made.seeds) == 1 and made.requests[0].sampling.temperature == 0:
            return tr("At temperature 0 all seeds give the same tokens: one run per prompt.")
        return tr("All seeds of A run first, then those of B, so each prompt is evaluated once.")

    def _earlier_words(self) -> str:
        """Marks results of prompts that are not the chosen ones."""
        made = self.ab.plan
        for place, ran in enumerate(() if made is None else made.requests):
            chosen = self._request(place)
            if chosen is not None:
                now = request_of_prompt(chosen, self._now(), ran.sampling)
                if words := earlier_words(ran, now):
                    return f"{NAMES[place]}: {words}"
        return ""
