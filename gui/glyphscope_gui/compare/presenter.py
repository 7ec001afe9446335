"""The presenters of the compare page: of its columns, and of the page with its views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QSize, QTimer, Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from glyphscope.base.figures import byte_size
from glyphscope.evals.alignment import align, difference_words, in_quotes
from glyphscope.evals.matrix.questions import MODELS
from glyphscope.events import AnyEvent, RunRequest, RunStarted
from glyphscope.models.finding import FoundModel, find_models
from glyphscope.models.opening import model_name_of
from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.comparison import Comparison, has_turn
from glyphscope_gui.compare.experiment import RunPhase
from glyphscope_gui.compare.experiment_presenter import ExperimentPresenter
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.seeded_presenters import AbPresenter, SeedsPresenter
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.compare.variants import (
    CHANGEABLE,
    MAX_COLUMNS,
    MIN_COLUMNS,
    OWN,
    PICKED,
    PRESETS,
    Basis,
    Variant,
    column_request,
    differing,
    recorded_variant,
    value_of,
    variant_of,
)
from glyphscope_gui.compare.words import allowed_tools, earlier_words
from glyphscope_gui.context import AppContext, Page, Place, PromptsPlace, RunsPlace
from glyphscope_gui.runs.export_formats import PAGE_SUFFIX, page_name
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from glyphscope_gui.shared.run_words import model_name, opened_name, value_words

_RECORDED = tr(
    "Recorded runs, each with its prompt and tools. Run all runs their settings again, with today’s tools."
)
PROGRESS_MS = 250
"""Four times a second: figures and fields that change faster cannot be read."""
_TURNS = tr("The columns run one after the other and share the model’s prompt cache.")


class KnownModels(QObject):
    """The models that a comparison can name: recently used ones, and those on this computer. `found` is emitted when
    the background search has ended.
    """

    found = Signal()

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._background = Background(self)
        self._found: dict[str, FoundModel] = {}
        self._looked = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names with which models are opened, the most recently used first."""
        return tuple(dict.fromkeys((*self._context.settings.value.recent_models, *self._found)))

    def look(self) -> None:
        """Search for models, once."""
        if self._looked:
            return
        self._looked = True
        settings, own = self._context.settings.value, self._context.services.places.models
        folders = (own, *(Path(folder) for folder in settings.model_folders))
        self._background.start("look", lambda: find_models(folders), self._show, lambda _error: None)

    def cost_words(self, models: Sequence[str]) -> str:
        """The cost of running several models in turn; empty for one."""
        if len(models) < 2:
            return ""
        sizes = [self._bytes(model) for model in models]
        size = tr(", {size} in total", size=byte_size(sum(sizes))) if all(sizes) else ""
        return tr(
            "%n model(s){size}, loaded one after the other; only one is in memory at a time.",
            "",
            len(models),
            size=size,
        )

    def _show(self, found: Sequence[FoundModel]) -> None:
        self._found = {model_name_of(model.path): model for model in found if not model.problem}
        self.found.emit()

    def _bytes(self, model: str) -> int:
        if model in self._found:
            return self._found[model].bytes
        try:
            return Path(model).stat().st_size
        except OSError:
            return 0


class ColumnsPresenter(ExperimentPresenter):
    """Its experiment is the `comparison`."""

    def __init__(self, context: AppContext, page: ComparePage, parent: QObject) -> None:
        project = context.project
        self.comparison = Comparison(
            context.runs, PRESETS[0].of(Basis(variant_of(project.options), project.request_without_tools))
        )
        super().__init__(context, page, self.comparison, parent)
        self._page = page
        self.preset = PRESETS[0].key
        """The question that the columns answer; OWN after the user changed a column."""
        self._added: set[str] = set()
        """The settings that are shown in the columns though they do not differ yet."""
        self.models = KnownModels(context, self)
        self.models.found.connect(self._models_found)
        self._progress_timer = QTimer(self, interval=PROGRESS_MS)
        self._progress_timer.timeout.connect(self._show_progress)
        self.comparison.arranged.connect(self._arranged)
        self._runs.modelStatusChanged.connect(lambda _status: self._show_facts())
        project.optionsChanged.connect(self._options_changed)
        project.tools.changed.connect(lambda _registry: self._show_facts())
        page.prompt_edit.submitted.connect(self.run)
        page.add_button.clicked.connect(self._add)
        page.export_button.clicked.connect(self._ask_for_page)
        page.presetChosen.connect(self.choose_preset)
        page.variantChosen.connect(self._change)
        page.removeRequested.connect(self._remove)
        page.openRequested.connect(lambda index: self._open(self.comparison.columns[index]))
        page.varied.toggled_.connect(self._vary)
        self._arranged()

    # -- requests of the user ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Run all columns on the playground's current request."""
        self._page.notice.hide()
        if self._context.project.grammar.work.use:
            self._page.notice.show_words(
                tr(
                    "The columns use grammars generated from the tools: a custom grammar works with one "
                    "notation only."
                )
            )
        self.comparison.run(self._context.project.next_request())

    def choose_preset(self, key: str) -> None:
        self.preset = key
        self._added.clear()
        preset = next((preset for preset in PRESETS if preset.key == key), None)
        if key == MODELS:
            self.models.look()
        if preset is not None:
            self.comparison.arrange(preset.of(self._basis))

    def show_runs(self, runs: Sequence[tuple[AnyEvent, ...]]) -> None:
        """Show recorded runs side by side."""
        requests = [events[0].request for events in runs if isinstance(events[0], RunStarted)]
        self.preset = OWN
        self._added.clear()
        self.comparison.show_runs([recorded_variant(request) for request in requests], runs)

    @property
    def _shown_names(self) -> list[str]:
        """The settings with a field in each column: those that differ, and those that were added."""
        differ = differing(self.comparison.variants, self._basis.request)
        return [name for name in (*PICKED, *CHANGEABLE) if name in differ or name in self._added]

    def _vary(self, name: str) -> None:
        """Add a setting to the columns, or give it the playground's value in all of them."""
        if name == "model":
            self.models.look()
        if name not in self._shown_names:
            self._added.add(name)
            self._arranged()
            return
        self._added.discard(name)
        basis = self._basis.variant
        for place, variant in enumerate(self.comparison.variants):
            others = {key: value for key, value in variant.items() if key != name}
            self._change(place, others | ({name: basis[name]} if name in PICKED else {}))
        self._arranged()

    def _models_found(self) -> None:
        """Complete the columns of the question with the models that were found, unless a column has run."""
        if "model" in self._shown_names:
            self._arranged()
        if self.preset == MODELS and self._is_untouched:
            self.choose_preset(MODELS)
            if len(self._column_models) < MIN_COLUMNS:
                found = tr(
                    "Only one model was found. Get another, or open a file, from the model menu at the top."
                )
                none = tr("No model was found. Get one, or open a file, from the model menu at the top.")
                self._page.notice.show_words(found if self.models.names else none)

    def _change(self, index: int, variant: Variant) -> None:
        self.preset = OWN
        self.comparison.change(index, variant)

    def _add(self) -> None:
        self.preset = OWN
        self.comparison.add()

    def _remove(self, index: int) -> None:
        self.preset = OWN
        self.comparison.remove(index)
        self._page.prompt_edit.setFocus()  # the focused button may be gone

    # -- the columns -------------------------------------------------------------------------------------------

    def _arranged(self) -> None:
        count = len(self.comparison.columns)
        self._page.show_columns(count)
        self._page.varied.show_names(self._shown_names)
        for index in range(count):
            self._show_column(index)
        self._page.show_preset(self.preset)
        self._show_editable()
        self._show_fields()
        self._show_facts()
        self._show_turn()

    def _changed(self, index: int | None) -> None:
        if index is None:
            for each in range(len(self.comparison.columns)):
                self._show_column(each)
            return
        column = self.comparison.columns[index]
        if column.has_ended:
            self._page.columns[index].show_phase()
            self._show_fields()
        else:
            self._show_column(index)
        if column.phase is RunPhase.RUNNING:
            self._page.show_column(index)
            self._show_turn()

    def _show_column(self, index: int) -> None:
        basis = self._basis
        self._page.columns[index].show_column(
            self.comparison.columns[index], self._shown_names, basis.request, basis.models,
            editable=self._is_free, removable=self._is_removable,
        )  # fmt: skip

    def _grew(self, index: int) -> None:
        self._page.columns[index].show_run(self.comparison.columns[index].state)

    def _running_changed(self, running: bool) -> None:
        if running:
            self._progress_timer.start()
        else:
            self._progress_timer.stop()
        super()._running_changed(running)

    def _show(self) -> None:
        self._show_editable()
        self._show_fields()

    def _show_progress(self) -> None:
        place = self.comparison.key
        if place is not None:
            self._page.columns[place].show_figures()
            self._show_fields()

    @property
    def _ended(self) -> list[tuple[AnyEvent, ...]]:
        """The ended runs of the columns."""
        return [
            tuple(column.events)
            for column in self.comparison.columns
            if column.has_ended and column.state.started is not None
        ]

    def _ask_for_page(self) -> None:
        if runs := self._ended:
            ask_where_to_save(
                self._context.window,
                tr("Export the columns"),
                lambda path: self._context.recorder.write_page(path, runs),
                tr("HTML pages (*.html);;All files (*)"),
                start=page_name(runs[0]),
                suffix=PAGE_SUFFIX[1:],
                name="savePageDialog",
            )

    def _show_fields(self) -> None:
        columns = self.comparison.columns
        names = [column.name for column in columns]
        alignment = align([column.state if has_turn(column) else None for column in columns])
        self._page.fields_model.show(alignment, names)
        self._page.show_words(difference_words(alignment, in_quotes(names)))

    # -- settings, model and phase ------------------------------------------------------------------------------

    @property
    def _basis(self) -> Basis:
        project = self._context.project
        return Basis(variant_of(project.options), project.request_without_tools, self.models.names)

    @property
    def _is_free(self) -> bool:
        return not self.comparison.is_running

    @property
    def _is_untouched(self) -> bool:
        """Whether no column has run."""
        return all(column.phase is RunPhase.NEW for column in self.comparison.columns)

    @property
    def _is_removable(self) -> bool:
        return len(self.comparison.columns) > MIN_COLUMNS

    def _options_changed(self, _options: object) -> None:
        """Let the columns of a question follow the playground, unless a column has run."""
        if self._is_untouched and self.preset != OWN:
            self.choose_preset(self.preset)
        else:
            self._changed(None)
        self._show_facts()

    def _show_editable(self) -> None:
        view, count = self._page, len(self.comparison.columns)
        view.presets.setEnabled(self._is_free)
        view.varied.setEnabled(self._is_free)
        view.add_button.setEnabled(self._is_free and count < MAX_COLUMNS)
        view.prompt_edit.setReadOnly(not self._is_free)
        for index in range(count):
            view.columns[index].set_editable(self._is_free, self._is_removable)

    def _show_turn(self) -> None:
        super()._show_turn()
        self._page.export_button.setEnabled(bool(self._ended) and self._is_free)

    def _run_words(self, key: int, number: int, count: int) -> tuple[str, str]:
        name = self.comparison.columns[key].name
        words = tr("Running column {number} of {count}: {name}.", number=key + 1, count=count, name=name)
        return words, tr("Comparing {number} of {count}", number=key + 1, count=count)

    def _show_idle(self) -> None:
        earlier = self._earlier_words()
        if self.comparison.is_recorded:
            self._page.show_turn(_RECORDED)
            return
        words = earlier or self.models.cost_words(self._column_models)
        self._page.show_turn(words or _TURNS, hint=not words, earlier=bool(earlier))

    def _earlier_words(self) -> str:
        base, now = self.comparison.base, self._context.project.next_request()
        if base is None:
            return ""
        columns = (column for column in self.comparison.columns if column.state.started is not None)
        pairs = ((column_request(each.variant, base), column_request(each.variant, now)) for each in columns)
        return next(filter(None, (earlier_words(ran.request, next_.request) for ran, next_ in pairs)), "")

    @property
    def _column_models(self) -> list[str]:
        """The models of the columns, each once."""
        request = self._basis.request
        return list(
            dict.fromkeys(value_of(variant, "model", request) for variant in self.comparison.variants)
        )

    def _show_facts(self) -> None:
        """Show the settings that are the same in every column."""
        status, request, variants = self._runs.model, self._basis.request, self.comparison.variants
        differ = differing(variants, request)
        same = {
            name: value_of(variants[0], name, request)
            for name in (*PICKED, *CHANGEABLE)
            if name not in differ
        }
        words = []
        if "model" in same:
            model = same["model"]
            name = model_name(model).name
            if status.phase == "ready" and status.name == model and status.info is not None:
                name = opened_name(status.info).name
            words.append(name)
        if same.get("notation") == "native":
            del same["shape"]
        if same.get("constrain_from") == "reasoning":
            del same["constrain_from"]
        answer = same.get("answer")
        is_call = answer is None or answer.is_call  # others have neither a shape nor tools
        if not is_call:
            same.pop("shape", None)
        words += [value_words(name, same[name]) for name in PICKED if name in same]
        if not is_call:
            words.append(value_words("answer", answer))
        tools = {allowed_tools(run) for run in self._recorded} or {
            len(self._context.project.tools.registry.allowed)
        }
        if is_call and len(tools) == 1:
            words.append(tr("%n tool(s) allowed", "", tools.pop()))
        words += [
            value_words(name, same[name]) for name in ("seed", "temperature", "max_tokens") if name in same
        ]
        if request.repair.attempts and not self._recorded:
            words.append(tr("%n repair(s) allowed", "", request.repair.attempts))
        self._page.facts.setText(tr("The same in every column: {facts}", facts=" · ".join(words)))

    @property
    def _recorded(self) -> list[RunRequest]:
        """The requests of the recorded runs that are shown."""
        columns = self.comparison.columns if self.comparison.is_recorded else ()
        return [column.state.started.request for column in columns if column.state.started is not None]


class CompareTabs(QWidget):
    """The views of the page: several settings, two prompts, several seeds. The visible one gets the focus."""

    def __init__(
        self, columns: ComparePage, prompts: AbPage, seeds: SeedsPage, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("compareViews")
        self.tabs = QTabWidget(self, documentMode=True)
        self.tabs.setObjectName("compareTabs")
        self.tabs.tabBar().setAccessibleName(tr("Compare settings, two prompts, or seeds"))
        self.tabs.addTab(columns, tr("Side by side"))
        self.tabs.addTab(prompts, tr("Two prompts"))
        self.tabs.addTab(seeds, tr("Seeds"))
        vbox(self.tabs, parent=self)
        self.tabs.currentChanged.connect(lambda _place: self.setFocusProxy(self.tabs.currentWidget()))
        self.setFocusProxy(columns)

    @property
    def shown(self) -> QWidget:
        return self.tabs.currentWidget()

    def show_view(self, view: QWidget) -> None:
        self.tabs.setCurrentWidget(view)

    def minimumSizeHint(self) -> QSize:
        inside = self.shown.minimumSizeHint()
        return QSize(inside.width(), inside.height() + self.tabs.tabBar().sizeHint().height())


class ComparePresenter(Page):
    """`view` compares settings, `ab_view` two prompts, `seeds_view` several seeds; `tabs` shows one of them."""

    id = PageId.COMPARE
    title = tr("Compare")
    tip = tr("Run one prompt under several settings and compare the results")
    can_run = True

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.view = ComparePage(context.project.prompt)
        self.ab_view = AbPage()
        self.seeds_view = SeedsPage()
        self.tabs = self.widget = CompareTabs(self.view, self.ab_view, self.seeds_view)
        self.columns = ColumnsPresenter(context, self.view, self)
        self.comparison = self.columns.comparison
        self.ab = AbPresenter(context, self.ab_view, self)
        self.seeds = SeedsPresenter(context, self.seeds_view, self.comparison, self)
        self.tabs.tabs.currentChanged.connect(lambda _place: self.headerChanged.emit())

    @property
    def header(self) -> frozenset[HeaderPart]:
        """Columns have separate settings, and the seeds those of a column or the playground."""
        if self.tabs.shown is self.ab_view:
            return frozenset(HeaderPart) - {HeaderPart.RUN}
        if self.tabs.shown is self.seeds_view:
            return frozenset({HeaderPart.MODEL})
        return frozenset({HeaderPart.MODEL, HeaderPart.OPTIONS})

    def run(self) -> None:
        """Run the shown tab: all columns, both prompts on their seeds, or one setting on its seeds."""
        if self.context.runs.phase is Phase.STEPPING:
            super().run()
        else:
            shown = {self.view: self.columns, self.ab_view: self.ab, self.seeds_view: self.seeds}
            shown[self.tabs.shown].run()

    def go_to(self, place: Place) -> None:
        if isinstance(place, PromptsPlace):
            self.tabs.show_view(self.ab_view)
        elif isinstance(place, RunsPlace):
            self.tabs.show_view(self.view)
            self.columns.show_runs(place.runs)
