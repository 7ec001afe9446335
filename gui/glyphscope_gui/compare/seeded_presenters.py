"""The presenters of experiments on several seeds: the A/B of two prompts, and the answers to one request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec
from PySide6.QtCore import QObject

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.ab import AbResults
from glyphscope.evals.answers import Distribution, Divergence, SeedResults
from glyphscope.evals.matrix.seeds import RequestPlan, RunKey, distinct_seeds
from glyphscope.evals.running.requests import changed_request
from glyphscope.evals.suites.expected_text import ExpectedTextError, expected_text, read_expected
from glyphscope.events import ExpectedAnswer, ExpectedCall, RunRequest, Sampling
from glyphscope.registry import parse_document
from glyphscope.runs import PreparedRequest, RunState
from glyphscope.runs.prepared import request_of
from glyphscope.store import load_project
from glyphscope.store.project import SUFFIX, StoredProject
from glyphscope_gui.compare.ab_page import NAMES, AbPage, AbRow
from glyphscope_gui.compare.comparison import Comparison
from glyphscope_gui.compare.experiment import RunExperiment
from glyphscope_gui.compare.experiment_presenter import ExperimentPresenter
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.compare.variants import WARM_TEMPERATURE, Variant, column_request, value_of, variant_of
from glyphscope_gui.compare.words import allowed_tools, earlier_words, few_seeds
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.worker.jobs import TokenPlace
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import MAX_LABEL
from glyphscope_gui.shared.run_words import model_name, value_words

Source: TypeAlias = Literal["now", "last", "kept", "project"]
"""The playground's prompt, its last run's, the prompt kept as A by the button, or a project file's."""
ARMS = ("a", "b")
_FIELDS = {
    "prompt": tr("prompt"),
    "system": tr("system template"),
    "preset": tr("preset"),
    "registry": tr("tools"),
    "history": tr("earlier messages"),
    "sampling": tr("sampling"),
}
"""The names of fields that differ."""


class AbPresenter(ExperimentPresenter):
    def __init__(self, context: AppContext, page: AbPage, parent: QObject) -> None:
        stopped = tr("Stopped: the figures cover the finished pairs.")
        super().__init__(context, page, RunExperiment(context.runs, stopped), parent)
        self._page = page
        self._last: RunRequest | None = None
        self._saved_prompt: RunRequest | None = None
        self._opened: list[tuple[str, RunRequest] | None] = [None, None]
        self._chosen: list[Source] = ["last", "now"]
        self._background = Background(self)
        page.sourceChosen.connect(self._choose)
        page.keep_button.clicked.connect(self.keep)
        page.expect_button.clicked.connect(self._expect)
        page.openRequested.connect(self._open_row)
        self._runs.ended.connect(lambda ended: self._ran(ended.run))
        self._show_sources()
        self._show()

    @property
    def results(self) -> AbResults | None:
        """The runs so far; None before the first one."""
        return cast("AbResults | None", self.experiment.results)

    # -- requests of the user ----------------------------------------------------------------------------------

    def keep(self) -> None:
        """Keep the current prompt as A, unaffected by later edits."""
        self._saved_prompt = self._now()
        self._chosen[0] = "kept"
        self._show_sources()

    def _begin(self) -> None:
        """Run both prompts on all seeds; errors in the settings are shown beside them."""
        first, second = (self._request(index) for index in (0, 1))
        if first is None or second is None:
            name = NAMES[0 if first is None else 1]
            words = tr(
                "There is no prompt for {name} yet: choose another source, or run the playground.", name=name
            )
            self._page.show_turn(words)
            return
        page = self._page
        settings = (page.seeds.text(), page.temperature.value(), page.expect.text())
        try:
            results = planned_results(self._now(), first, second, *settings)
            self.experiment.begin(results.plan, results)
        except GlyphscopeError as error:
            page.show_turn(error.words)

    def _choose(self, place: int, key: str) -> None:
        if key == "project":
            self._ask_for_project(place)
        else:
            self._chosen[place] = cast("Source", key)
        self._show_sources()

    def _expect(self) -> None:
        """Expect the call of the playground's run, or its other answer."""
        state = self._runs.state
        started, call = state.started, state.call
        if state.answer is not None and not state.asks_for_call:
            self._page.expect.setText(state.answer.text.strip())
        if call is not None and started is not None:
            expected = ExpectedAnswer(calls=(ExpectedCall(tools=(call.tool,), arguments=call.arguments),))
            request = started.request
            self._page.expect.setText(expected_text(expected, request.notation, request.shape))

    def _open_row(self, which: int, row: int) -> None:
        self._open(self.experiment.runs.get((ARMS[which], self._page.model.rows[row].seed)))

    def _ask_for_project(self, index: int) -> None:
        filters = tr("Projects (*{suffix})", suffix=SUFFIX)
        window, title = self._context.window, tr("Prompt of a project")
        ask_for_file(window, title, lambda path: self._read(index, path), filters)

    def _read(self, place: int, path: Path) -> None:
        def done(stored: StoredProject) -> None:
            self._opened[place] = (path.stem, stored.project.request)
            self._chosen[place] = "project"
            self._show_sources()

        self._background.start(f"open {place}", lambda: load_project(path), done, self._context.show_error)

    # -- the prompts -------------------------------------------------------------------------------------------

    def _now(self) -> RunRequest:
        return self._context.project.next_request().request

    def _request(self, index: int) -> RunRequest | None:
        match self._chosen[index]:
            case "now":
                return self._now()
            case "last":
                return self._last
            case "kept":
                return self._saved_prompt
            case _:
                opened = self._opened[index]
                return opened[1] if opened is not None else None

    def _ran(self, state: RunState) -> None:
        if state.started is not None:
            self._last = state.started.request
            self._show_sources()

    # -- what is shown -----------------------------------------------------------------------------------------

    def _show_sources(self) -> None:
        for index in (0, 1):
            sources = [("last", tr("Prompt of the run shown")), ("now", tr("Current prompt"))]
            if self._saved_prompt is not None:
                sources.append(("kept", tr("Kept prompt")))
            opened = self._opened[index]
            words = tr("A project…") if opened is None else tr("Project {name}", name=opened[0])
            sources.append(("project", words))
            self._page.show_sources(index, sources, self._chosen[index], self._about(index))
        self._show_turn()

    def _about(self, index: int) -> str:
        """Describe a prompt by its template, tools and text."""
        if self._chosen[index] == "now":
            return tr("The playground’s prompt when you press Run A and B")
        request = self._request(index)
        if request is None:
            return tr("No prompt yet")
        template = tr("custom template") if request.system is not None else request.preset
        if not request.answer.is_call:
            answer = value_words("answer", request.answer)
            return tr(
                "{template}, {answer}, “{prompt}”", template=template, answer=answer, prompt=request.prompt
            )
        tools = allowed_tools(request)
        return tr("{template}, %n tool(s), “{prompt}”", "", tools, template=template, prompt=request.prompt)

    def _show(self) -> None:
        results, lines = self.results, []
        if results is not None:
            self._page.model.refresh(list(_rows(results)))
            lines = result_lines(results)
        self._page.show_choice()
        self._page.show_words("\n".join(filter(None, (*lines, self.experiment.why))))

    def _run_words(self, key: RunKey, number: int, count: int) -> tuple[str, str]:
        arm, seed = key
        name = NAMES[ARMS.index(arm)]
        words = tr("{name}, seed {seed}: run {run} of {runs}", name=name, seed=seed, run=number, runs=count)
        activity = tr("Two prompts: run {run} of {runs}", run=number, runs=count)
        return f"{words}, {self.experiment.progress_words}", activity

    def _usual_words(self) -> str:
        plan = self.experiment.plan
        if plan is not None and len(plan.seeds) == 1 and self._ran_requests()[0].sampling.temperature == 0:
            return tr("At temperature 0 all seeds give the same tokens: one run per prompt.")
        return tr("All seeds of A run first, then those of B, so each prompt is evaluated once.")

    def _earlier_words(self) -> str:
        for index, ran in enumerate(self._ran_requests()):
            chosen = self._request(index)
            if chosen is not None:
                now = request_of_prompt(chosen, self._now(), ran.sampling)
                if words := earlier_words(ran, now):
                    return f"{NAMES[index]}: {words}"
        return ""

    def _ran_requests(self) -> list[RunRequest]:
        """The requests of the results."""
        plan = self.experiment.plan
        return [] if plan is None else [request_of(request) for request in plan.arms.values()]


def _rows(results: AbResults) -> Iterator[AbRow]:
    """A row for each seed, with its results so far."""
    for seed in results.plan.seeds:
        first, second = (results.trials.get((arm, seed)) for arm in ARMS)
        pair = results.pairs.get(seed)
        yield AbRow(seed, first, second, "" if pair is None else pair.difference)


def result_lines(results: AbResults) -> list[str]:
    """The differences of the prompts and, once a seed has both runs, their figures and the conclusion."""
    differ = ", ".join(_FIELDS.get(name, name.replace("_", " ")) for name in results.differ)
    words = tr("Differences: {fields}.", fields=differ)
    if not results.pairs:
        return [words]
    report = results.report()
    if None not in report.prompt_tokens:
        counts = ", ".join(f"{name} {count:,}" for name, count in zip(NAMES, report.prompt_tokens))
        words += tr(" Prompt tokens: {counts}.", counts=counts)
    return [words, *report.words]


def planned_results(
    base: RunRequest, first: RunRequest, second: RunRequest, seeds: str, temperature: float, expected: str
) -> AbResults:
    """The results to come of both prompts on all seeds, with the other settings of `base`. `seeds` and `expected` are
    the texts of their fields. Raises GlyphscopeError if they are invalid.
    """
    sampling = msgspec.structs.replace(base.sampling, temperature=temperature)
    base = _expecting(base, expected)
    requests = [request_of_prompt(request, base, sampling) for request in (first, second)]
    numbers = few_seeds(seeds, tr("`glyphscope ab` runs more."))
    plan = RequestPlan(dict(zip(ARMS, requests)), distinct_seeds(numbers, *requests))
    results = AbResults(plan)
    if not results.differ:
        raise GlyphscopeError(
            tr("A and B are the same prompt."), hint=tr("Edit the prompt, or choose another one for A.")
        )
    return results


def request_of_prompt(request: RunRequest, base: RunRequest, sampling: Sampling) -> RunRequest:
    """The prompt of `request` with the settings of `base`, so that only the prompts differ."""
    settings: dict[str, Any] = {
        name: getattr(request, name) for name in ("prompt", "system", "preset", "registry", "history")
    }
    settings |= msgspec.structs.asdict(sampling)
    return changed_request(
        base, {**settings, "strategy": "direct", "written": (), "relaxed": (), "branch_of": None}
    )


def _expecting(request: RunRequest, text: str) -> RunRequest:
    """The request with the expected answer in a text, if there is one. Raises GlyphscopeError."""
    if not text.strip():
        return request
    try:
        expected = read_expected(text, parse_document(request.registry), request.answer)
    except ExpectedTextError as error:
        raise GlyphscopeError(tr("Expected answer: {problem}", problem=error)) from None
    return msgspec.structs.replace(request, expected=expected)


_ARM = "seed"
_NO_RESULT = SeedResults().report()


class SeedsPresenter(ExperimentPresenter):
    """The setting is the playground's, or a column's of `comparison`."""

    def __init__(self, context: AppContext, page: SeedsPage, comparison: Comparison, parent: QObject) -> None:
        stopped = tr("Stopped: the figures cover the finished runs.")
        super().__init__(context, page, RunExperiment(context.runs, stopped), parent)
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

    def _choose(self, index: int) -> None:
        self._chosen = index
        self._show_temperature()
        self._show_sources()

    def _options_changed(self) -> None:
        if not self.experiment.is_running:
            self._show_temperature()
        self._show_about()

    def _show_temperature(self) -> None:
        request = self._context.project.request_without_tools
        temperature = value_of(self._variant, "temperature", request)
        self._page.temperature.show_value(temperature or WARM_TEMPERATURE)

    def _show_sources(self) -> None:
        names = [tr("Playground")]
        columns = self._comparison.columns
        names += [
            tr("Column {number}: {name}", number=index + 1, name=column.name)
            for index, column in enumerate(columns)
        ]
        if self._chosen > len(columns):  # its column was removed
            self._chosen = 0
            self._show_temperature()
        self._page.show_sources(names, self._chosen)
        self._show_about()

    def _show_about(self) -> None:
        request, variant = self._context.project.request_without_tools, self._variant
        model = model_name(value_of(variant, "model", request)).name
        prompt = " ".join(value_of(variant, "prompt", request)[:MAX_LABEL].split())
        words = [value_words(name, variant[name]) for name in ("notation", "constraint", "strategy")]
        if not (answer := value_of(variant, "answer", request)).is_call:
            words.append(value_words("answer", answer))
        settings = " · ".join(words)
        self._page.about.setText(
            tr("{model} · {settings} · “{prompt}”", model=model, settings=settings, prompt=prompt)
        )
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
