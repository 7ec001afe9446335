"""One request with several seeds, run in the background, and the presenter of the distribution of its answers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QObject

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.distribution import Distribution, Divergence, SeedRun, distribution, seed_run
from glyphscope.evals.matrix.seeds import distinct_seeds, seed_samples
from glyphscope.events import RunRequest
from glyphscope.runs import PreparedRequest
from glyphscope_gui.compare.ab_prompts import few_seeds
from glyphscope_gui.compare.comparison import Comparison
from glyphscope_gui.compare.experiment import Experiment, ExperimentRun
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.compare.variants import WARM_TEMPERATURE, Variant, playground_request, variant_of
from glyphscope_gui.compare.words import ANOTHER_RUN, earlier_words
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.run_controller import Phase, RunController
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.plain_text import MAX_LABEL
from glyphscope_gui.shared.run_words import model_name


class SeedRuns(Experiment):
    """A run for each seed, its key. `result` is the distribution of the answers so far."""

    def __init__(self, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(runs, tr("Stopped: the figures cover the finished runs."), parent)
        self._restart()

    def begin(self, request: PreparedRequest, seeds: Sequence[int]) -> bool:
        """Run the request with each of the seeds. Return False if the model is in use: the results are kept."""
        return self.start(
            {each.seed: ExperimentRun(each.request) for each in seed_samples({"seed": request}, seeds)}
        )

    def _restart(self) -> None:
        self._seed_runs: list[SeedRun] = []
        self.result: Distribution = distribution(())

    def _count(self, key: int, run: ExperimentRun) -> None:
        self._seed_runs.append(seed_run(key, run.state))
        self.result = distribution(self._seed_runs)


class SeedsPresenter(QObject):
    """A sub-presenter of the compare page; the setting is the playground's, or a column's of `comparison`."""

    def __init__(self, context: AppContext, page: SeedsPage, comparison: Comparison, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._page = page
        self._comparison = comparison
        self._runs = context.runs
        self._ran: RunRequest | None = None
        """The request of the results."""
        self._chosen = 0
        """The setting: 0 for the playground's, or a column's number from 1."""
        self.seed_runs = SeedRuns(context.runs, self)
        page.source.activated.connect(self._choose)
        for asked in (page.seeds.returnPressed, page.run_button.clicked):
            asked.connect(self.run)
        page.stop_button.clicked.connect(self.seed_runs.stop)
        page.openRequested.connect(self._open)
        self.seed_runs.changed.connect(lambda _key: self._show())
        self.seed_runs.grew.connect(lambda _grown: self._show_turn())
        self.seed_runs.runningChanged.connect(self._running_changed)
        self.seed_runs.ended.connect(context.recorder.keep)
        self._runs.phaseChanged.connect(lambda _phase: self._show_turn())
        comparison.arranged.connect(self._show_sources)
        context.project.optionsChanged.connect(lambda _options: self._options_changed())
        context.project.prompt.changed.connect(lambda _state: self._show_about())
        context.project.tools.changed.connect(lambda _registry: self._show_about())
        page.temperature.valueChanged.connect(lambda _value: self._show_turn())
        self._choose(0)
        self._show_turn()

    def run(self) -> None:
        """Run the setting with each seed; an error in the fields is shown beside them."""
        page = self._page
        if not page.run_button.isEnabled():
            return
        request = self._request()
        try:
            seeds = few_seeds(page.seeds.text(), tr("`glyphscope run --seeds` runs more."))
        except GlyphscopeError as error:
            page.turn.setText(error.words)
            return
        if self.seed_runs.begin(request, distinct_seeds(seeds, request.request)):
            self._ran = request.request

    def _request(self) -> PreparedRequest:
        """The request whose seeds are run."""
        request = self._variant.request(self._context.project.next_request())
        temperature = self._page.temperature.value()
        return request.changed(
            sampling=msgspec.structs.replace(request.request.sampling, temperature=temperature)
        )

    # -- the setting -------------------------------------------------------------------------------------------

    @property
    def _variant(self) -> Variant:
        if self._chosen:
            return self._comparison.variants[self._chosen - 1]
        return variant_of(self._context.project.options)

    def _choose(self, place: int) -> None:
        self._chosen = place
        self._show_temperature()
        self._show_sources()

    def _options_changed(self) -> None:
        if not self.seed_runs.is_running:
            self._show_temperature()
        self._show_about()

    def _show_temperature(self) -> None:
        request = playground_request(self._context.project)
        self._page.temperature.show_value(self._variant.value("temperature", request) or WARM_TEMPERATURE)

    def _show_sources(self) -> None:
        names = [tr("Playground")]
        columns = self._comparison.columns
        names += [
            tr("Column {number}: {name}", number=place + 1, name=column.name)
            for place, column in enumerate(columns)
        ]
        if self._chosen > len(columns):  # its column was removed
            self._chosen = 0
            self._show_temperature()
        self._page.show_sources(names, self._chosen)
        self._show_about()

    def _show_about(self) -> None:
        request, variant = playground_request(self._context.project), self._variant
        model = model_name(variant.value("model", request)).name
        prompt = " ".join(variant.value("prompt", request)[:MAX_LABEL].split())
        self._page.about.setText(tr("{model}, “{prompt}”", model=model, prompt=prompt))
        self._show_turn()

    # -- the runs ----------------------------------------------------------------------------------------------

    def _open(self, seed: int, divergence: Divergence | None) -> None:
        """Show that run in the playground, at the token where its answer diverges."""
        run = self.seed_runs.runs.get(seed)
        if run is None or not (run.has_ended and run.events):
            return
        if self._runs.is_busy:
            self._page.turn.setText(
                tr("A run is in progress: stop it or wait until it finishes to open another.")
            )
            return
        at = None
        if divergence is not None and divergence.token is not None:
            at = TokenPlace(divergence.stage_index, divergence.token)
        self._runs.show_record(tuple(run.events), at)
        self._context.navigator.show(PageId.PLAYGROUND)

    def _running_changed(self, running: bool) -> None:
        if not running:
            self._context.status.set_activity("")
        self._show()

    def _show(self) -> None:
        self._page.show_result(self.seed_runs.result, self.seed_runs.why)
        self._show_turn()

    def _show_turn(self) -> None:
        runs, free = self.seed_runs, self._runs.phase is Phase.IDLE
        self._page.show_running(running=runs.is_running, free=free)
        if runs.is_running and runs.key is not None:
            at, count = sum(run.has_ended for run in runs.runs.values()) + 1, len(runs.runs)
            words = tr("Seed {seed}: run {run} of {runs}", seed=runs.key, run=at, runs=count)
            self._page.turn.setText(f"{words}, {runs.progress_words}")
            self._context.status.set_activity(tr("Seeds: run {run} of {runs}", run=at, runs=count))
        elif free and (words := self._earlier_words()):
            self._page.turn.setText(words)
        elif runs.is_running or free:
            self._page.turn.setText(
                tr("At temperature 0 all seeds give the same tokens: one run.")
                if self._page.temperature.value() == 0
                else tr("The runs share the prompt cache and are saved in the history.")
            )
        else:
            self._page.turn.setText(ANOTHER_RUN)

    def _earlier_words(self) -> str:
        return earlier_words(self._ran, self._request().request) if self._ran is not None else ""
