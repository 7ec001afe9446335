"""The presenter of several seeds: one request run with each of them, and the distribution of its answers."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QObject

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.distribution import Distribution, Divergence, SeedResults
from glyphscope.evals.matrix.seeds import RequestPlan, RunKey, distinct_seeds
from glyphscope.runs import PreparedRequest
from glyphscope.runs.prepared import request_of
from glyphscope_gui.compare.comparison import Comparison
from glyphscope_gui.compare.experiment import Experiment
from glyphscope_gui.compare.experiment_presenter import ExperimentPresenter
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.compare.variants import (
    WARM_TEMPERATURE,
    Variant,
    column_request,
    playground_request,
    value_of,
    variant_of,
)
from glyphscope_gui.compare.words import earlier_words, few_seeds
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import MAX_LABEL
from glyphscope_gui.shared.run_words import model_name

_ARM = "seed"
_NO_RESULT = SeedResults().report()


class SeedsPresenter(ExperimentPresenter):
    """The setting is the playground's, or a column's of `comparison`."""

    def __init__(self, context: AppContext, page: SeedsPage, comparison: Comparison, parent: QObject) -> None:
        stopped = tr("Stopped: the figures cover the finished runs.")
        super().__init__(context, page, Experiment(context.runs, stopped), parent)
        self._page = page
        self._comparison = comparison
        self._chosen = 0
        """The setting: 0 for the playground's, or a column's number from 1."""
        page.source.activated.connect(self._choose)
        page.seeds.returnPressed.connect(self.run)
        page.openRequested.connect(self._open_seed)
        comparison.arranged.connect(self._show_sources)
        context.project.optionsChanged.connect(lambda _options: self._options_changed())
        context.project.prompt.changed.connect(lambda _state: self._show_about())
        page.temperature.valueChanged.connect(lambda _value: self._show_turn())
        self._choose(0)

    @property
    def result(self) -> Distribution:
        """The distribution of the answers so far."""
        results = cast("SeedResults | None", self.experiment.results)
        return _NO_RESULT if results is None else results.report()

    def _begin(self) -> None:
        """Run the setting with each seed; an error in the fields is shown beside them."""
        request = self._request()
        try:
            seeds = few_seeds(self._page.seeds.text(), tr("`glyphscope run --seeds` runs more."))
        except GlyphscopeError as error:
            self._page.show_turn(error.words)
            return
        plan = RequestPlan({_ARM: request}, distinct_seeds(seeds, request.request))
        self.experiment.begin(plan, SeedResults())

    def _request(self) -> PreparedRequest:
        """The request whose seeds are run."""
        settings = {**self._variant, "temperature": self._page.temperature.value()}
        return column_request(settings, self._context.project.next_request())

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
        if not self.experiment.is_running:
            self._show_temperature()
        self._show_about()

    def _show_temperature(self) -> None:
        request = playground_request(self._context.project)
        temperature = value_of(self._variant, "temperature", request)
        self._page.temperature.show_value(temperature or WARM_TEMPERATURE)

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
        model = model_name(value_of(variant, "model", request)).name
        prompt = " ".join(value_of(variant, "prompt", request)[:MAX_LABEL].split())
        self._page.about.setText(tr("{model}, “{prompt}”", model=model, prompt=prompt))
        self._show_turn()

    # -- the runs ----------------------------------------------------------------------------------------------

    def _open_seed(self, seed: int, divergence: Divergence | None) -> None:
        """Show that run in the playground, at the token where its answer diverges."""
        at = None
        if divergence is not None and divergence.token is not None:
            at = TokenPlace(divergence.stage_index, divergence.token)
        self._open(self.experiment.runs.get((_ARM, seed)), at)

    def _show(self) -> None:
        self._page.show_result(self.result, self.experiment.why)

    def _run_words(self, key: RunKey, number: int, count: int) -> tuple[str, str]:
        words = tr("Seed {seed}: run {run} of {runs}", seed=key[1], run=number, runs=count)
        activity = tr("Seeds: run {run} of {runs}", run=number, runs=count)
        return f"{words}, {self.experiment.progress_words}", activity

    def _usual_words(self) -> str:
        if self._page.temperature.value() == 0:
            return tr("At temperature 0 all seeds give the same tokens: one run.")
        return tr("The runs share the prompt cache and are saved in the history.")

    def _earlier_words(self) -> str:
        plan = self.experiment.plan
        return "" if plan is None else earlier_words(request_of(plan.arms[_ARM]), self._request().request)
