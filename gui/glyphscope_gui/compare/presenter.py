"""The presenter of the compare page: its two views, the comparison, and the request that every column runs."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, QTimer
from PySide6.QtWidgets import QTabWidget, QWidget

from glyphscope.evals.align import align, difference_words
from glyphscope.events import AnyEvent
from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.ab_presenter import AbPresenter
from glyphscope_gui.compare.comparison import Comparison, has_turn
from glyphscope_gui.compare.experiment import Grown, RunPhase
from glyphscope_gui.compare.known_models import KnownModels
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.compare.seeds_presenter import SeedsPresenter
from glyphscope_gui.compare.variants import (
    CHANGEABLE,
    MAX_COLUMNS,
    MIN_COLUMNS,
    OWN,
    PRESETS,
    Basis,
    Variant,
    playground_request,
    variant_of,
)
from glyphscope_gui.compare.words import ANOTHER_RUN, earlier_words
from glyphscope_gui.context import AppContext, Page, Place, PromptsPlace
from glyphscope_gui.runs.export_formats import PAGE_SUFFIX, page_name
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from glyphscope_gui.shared.run_words import model_name, opened_name

PROGRESS_MS = 250
"""Four times a second: figures and fields that change faster cannot be read."""
MODELS = "models"
"""The key of the question about models."""
_TURNS = tr("The columns run one after the other and share the model’s prompt cache.")


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
        self._runs = context.runs
        self._preset = PRESETS[0].key
        """The question that the columns answer; OWN after the user changed a column."""
        self._open_settings: int | None = None
        """The last column whose settings were opened."""
        self.models = KnownModels(context, self)
        self.models.found.connect(self._models_found)
        self._progress_timer = QTimer(self, interval=PROGRESS_MS)
        self._progress_timer.timeout.connect(self._show_progress)
        self.comparison = Comparison(context.runs, PRESETS[0].of(self._basis), self)
        self.ab = AbPresenter(context, self.ab_view, self)
        self.seeds = SeedsPresenter(context, self.seeds_view, self.comparison, self)
        self.seeds.seed_runs.runningChanged.connect(lambda running: None if running else self._reopen())
        self._connect_comparison()
        self._connect_view()
        self._connect_context()
        self.tabs.tabs.currentChanged.connect(lambda _place: self.headerChanged.emit())
        self._arranged()

    @property
    def header(self) -> frozenset[HeaderPart]:
        """Columns have separate settings; the A/B and the seeds have fields for temperature and seeds."""
        if self.tabs.shown is not self.view:
            return frozenset(HeaderPart) - {HeaderPart.SEED, HeaderPart.RUN}
        return frozenset({HeaderPart.MODEL, HeaderPart.SEED, HeaderPart.SAMPLING})

    def run(self) -> None:
        """Run the shown tab: all columns, both prompts on their seeds, or one setting on its seeds."""
        if self._runs.phase is Phase.STEPPING:
            super().run()
        else:
            runs = {self.view: self._run_columns, self.ab_view: self.ab.run, self.seeds_view: self.seeds.run}
            runs[self.tabs.shown]()

    def go_to(self, place: Place) -> None:
        if isinstance(place, PromptsPlace):
            self.tabs.show_view(self.ab_view)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_comparison(self) -> None:
        comparison = self.comparison
        comparison.arranged.connect(self._arranged)
        comparison.changed.connect(self._changed)
        comparison.grew.connect(self._grew)
        comparison.ended.connect(self.context.recorder.keep)
        comparison.runningChanged.connect(self._running_changed)

    def _connect_view(self) -> None:
        view, comparison = self.view, self.comparison
        for asked in (view.prompt_edit.submitted, view.run_button.clicked):
            asked.connect(self._run_columns)
        view.stop_button.clicked.connect(comparison.stop)
        view.add_button.clicked.connect(self._add)
        view.export_button.clicked.connect(self._ask_for_page)
        view.presetChosen.connect(self._choose_preset)
        view.variantChosen.connect(self._change)
        view.removeRequested.connect(self._remove)
        view.openRequested.connect(self._open)
        view.settingsRequested.connect(self._show_settings)
        view.settings.changed.connect(self._set)
        view.settings.reset_button.clicked.connect(self._reset)

    def _connect_context(self) -> None:
        self._runs.phaseChanged.connect(self._show_turn)
        self._runs.modelStatusChanged.connect(lambda _status: self._show_facts())
        project = self.context.project
        project.optionsChanged.connect(self._options_changed)
        project.tools.changed.connect(lambda _registry: self._show_facts())
        for signal in (project.optionsChanged, project.tools.changed, project.prompt.changed):
            signal.connect(lambda _change: self._show_turn())

    # -- requests of the user ----------------------------------------------------------------------------------

    def _run_columns(self) -> None:
        """Run all columns on the playground's current request."""
        if not self.view.run_button.isEnabled():
            return
        self.view.notice.hide()
        if self.context.project.grammar.work.use:
            self.view.notice.show_words(
                tr(
                    "The columns use grammars generated from the tools: a custom grammar works with one "
                    "notation only."
                )
            )
        self.comparison.begin(self.context.project.next_request())

    def _choose_preset(self, key: str) -> None:
        self._preset = key
        preset = next((preset for preset in PRESETS if preset.key == key), None)
        if key == MODELS:
            self.models.look()
        if preset is not None:
            self.comparison.arrange(preset.of(self._basis))

    def _show_settings(self, place: int) -> None:
        """Open the popup of the column's differing settings below its button."""
        self.models.look()
        self._open_settings = place
        self._fill_settings()
        self.view.settings.show_below(self.view.columns[place].settings_button)

    def _fill_settings(self) -> None:
        place = self._open_settings
        if place is not None and place < len(self.comparison.columns):
            column, basis = self.comparison.columns[place], self._basis
            name = tr("Column {number}", number=place + 1)
            self.view.settings.show_variant(name, column.variant, basis.request, basis.models)

    def _set(self, name: str, value: object) -> None:
        if self._open_settings is not None:
            place = self._open_settings
            self._change(place, self.comparison.columns[place].variant.changed(**{name: value}))
            self.view.settings.reset_button.setEnabled(True)

    def _reset(self) -> None:
        if self._open_settings is not None:
            place = self._open_settings
            self._change(place, replace(self.comparison.columns[place].variant, changes=()))
            self._fill_settings()

    def _models_found(self) -> None:
        """Complete the columns of the question with the models that were found, unless a column has run."""
        if self.view.settings.isVisible():
            self._fill_settings()
        if self._preset == MODELS and self._is_untouched:
            self._choose_preset(MODELS)
            if len(self._column_models) < MIN_COLUMNS:
                self.view.notice.show_words(
                    tr(
                        "Only one model was found. Get another, or open a file, from the model menu at the top."
                    )
                )

    def _change(self, place: int, variant: Variant) -> None:
        self._preset = OWN
        self.comparison.change(place, variant)

    def _add(self) -> None:
        self._preset = OWN
        self.comparison.add()

    def _remove(self, place: int) -> None:
        self._preset = OWN
        self.comparison.remove(place)
        self.view.prompt_edit.setFocus()  # the focused button may be gone

    def _open(self, place: int) -> None:
        """Show the ended run of that column in the playground."""
        events = tuple(self.comparison.columns[place].events)
        if events and not self._runs.is_busy:
            self._runs.show_record(events)
            self.context.navigator.show(PageId.PLAYGROUND)

    # -- the columns -------------------------------------------------------------------------------------------

    def _arranged(self) -> None:
        count = len(self.comparison.columns)
        self.view.show_columns(count)
        starts = {variant.constrain_from for variant in self.comparison.variants}
        for place in range(count):
            self.view.columns[place].picker.show_start(len(starts) > 1)
            self._show_column(place)
        self.view.show_preset(self._preset)
        self._show_editable()
        self._show_fields()
        self._show_facts()
        self._show_turn()

    def _changed(self, place: int | None) -> None:
        if place is None:
            for each in range(len(self.comparison.columns)):
                self._show_column(each)
            return
        column = self.comparison.columns[place]
        if column.has_ended:
            self.view.columns[place].show_phase()
            self._show_fields()
        else:
            self._show_column(place)
        if column.phase is RunPhase.RUNNING:
            self.view.show_column(place)
            self._show_turn()

    def _show_column(self, place: int) -> None:
        self.view.columns[place].show_column(
            self.comparison.columns[place], editable=self._is_free, removable=self._is_removable
        )

    def _grew(self, grown: Grown) -> None:
        self.view.columns[grown.key].apply(grown.applied)

    def _running_changed(self, running: bool) -> None:
        if running:
            self._progress_timer.start()
        else:
            self._progress_timer.stop()
            self.context.status.set_activity("")
            self._reopen()
        self._show_editable()
        self._show_turn()
        self._show_fields()

    def _reopen(self) -> None:
        """Reopen the playground's model after a column ran another one, as panels count tokens with the open model."""
        runs, project = self._runs, self.context.project
        if runs.model.name and runs.model.name != project.model:
            runs.open_model(project.model)

    def _show_progress(self) -> None:
        place = self.comparison.key
        if place is not None:
            self.view.columns[place].show_figures()
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
                self.context.window,
                tr("Export the columns"),
                lambda path: self.context.recorder.write_page(path, runs),
                tr("HTML pages (*.html);;All files (*)"),
                start=page_name(runs[0]),
                suffix=PAGE_SUFFIX[1:],
                name="savePageDialog",
            )

    def _show_fields(self) -> None:
        columns = self.comparison.columns
        names = [column.name for column in columns]
        alignment = align([column.state if has_turn(column) else None for column in columns])
        self.view.fields_model.show(alignment, names)
        self.view.show_words(difference_words(alignment, names))

    # -- settings, model and phase ------------------------------------------------------------------------------

    @property
    def _basis(self) -> Basis:
        project = self.context.project
        return Basis(variant_of(project.options), playground_request(project), self.models.names)

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
        if self._is_untouched and self._preset != OWN:
            self._choose_preset(self._preset)
        self._show_facts()

    def _show_editable(self) -> None:
        view, count = self.view, len(self.comparison.columns)
        view.presets.setEnabled(self._is_free)
        view.add_button.setEnabled(self._is_free and count < MAX_COLUMNS)
        view.prompt_edit.setReadOnly(not self._is_free)
        for place in range(count):
            view.columns[place].set_editable(self._is_free, self._is_removable)

    def _show_turn(self, _phase: object = None) -> None:
        view, comparison = self.view, self.comparison
        stopping = self._runs.phase is Phase.STOPPING
        view.run_button.setEnabled(not self._runs.is_busy and self._is_free)
        for column in view.columns:
            column.show_free(not self._runs.is_busy)
        view.stop_button.setEnabled(comparison.is_running and not stopping)
        view.export_button.setEnabled(bool(self._ended) and not comparison.is_running)
        place = comparison.key
        if place is not None:
            count, name = len(comparison.columns), comparison.columns[place].name
            words = tr(
                "Running column {number} of {count}: {name}.", number=place + 1, count=count, name=name
            )
            activity = tr("Comparing {number} of {count}", number=place + 1, count=count)
            view.show_turn(tr("Stopping…") if stopping else words)
            self.context.status.set_activity(tr("Stopping…") if stopping else activity)
        elif self._runs.is_busy:
            view.show_turn(ANOTHER_RUN)
        else:
            earlier = self._earlier_words
            words = earlier or self.models.cost_words(self._column_models)
            view.show_turn(words or _TURNS, hint=not words)
            view.show_earlier(bool(earlier))

    @property
    def _earlier_words(self) -> str:
        """Marks columns whose runs are of an earlier request."""
        base, now = self.comparison.base, self.context.project.next_request()
        if base is None:
            return ""
        columns = (column for column in self.comparison.columns if column.state.started is not None)
        pairs = ((column.variant.request(base), column.variant.request(now)) for column in columns)
        return next(filter(None, (earlier_words(ran.request, next_.request) for ran, next_ in pairs)), "")

    @property
    def _column_models(self) -> list[str]:
        """The models of the columns, each once."""
        request = self._basis.request
        return list(dict.fromkeys(variant.value("model", request) for variant in self.comparison.variants))

    def _show_facts(self) -> None:
        """Show the settings that are the same in every column."""
        project, status = self.context.project, self._runs.model
        request, variants = self._basis.request, self.comparison.variants
        same = {
            name: values.pop()
            for name in CHANGEABLE
            if len(values := {variant.value(name, request) for variant in variants}) == 1
        }
        tools = len(project.tools.registry.allowed)
        words = [tr("%n tool(s) allowed", "", tools)]
        if "model" in same:
            model = same["model"]
            name = model_name(model).name
            if status.phase == "ready" and status.name == model and status.info is not None:
                name = opened_name(status.info).name
            words.insert(0, name)
        words += [
            CHANGEABLE[name](same[name]) for name in ("seed", "temperature", "max_tokens") if name in same
        ]
        if request.repair.attempts:
            words.append(tr("%n repair(s) allowed", "", request.repair.attempts))
        self.view.facts.setText(tr("The same in every column: {facts}", facts=" · ".join(words)))
