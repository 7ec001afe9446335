"""The presenter of the compare page: its two views, the comparison, and the request that every column runs."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from glyphscope.evals.align import align
from glyphscope.evals.align_words import difference_words
from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.ab_presenter import AbPresenter
from glyphscope_gui.compare.column_state import ColumnPhase, has_turn
from glyphscope_gui.compare.comparison import Comparison, Grown
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.tabs import CompareTabs
from glyphscope_gui.compare.variants import FEWEST, MOST, OWN, PRESETS, Variant, variant_of
from glyphscope_gui.context import AppContext, Page, Place, PromptsPlace
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.shared.page_ids import HeaderPart, PageId

LOOK_MS = 250
"""Four times a second: figures and fields that change faster cannot be read."""
_TURNS = tr("Columns take turns on the one model, and share its prompt cache.")
_WAIT = tr("The playground’s run goes on: the model writes one text at a time.")
_ENDED = (ColumnPhase.DONE, ColumnPhase.STOPPED)


class ComparePresenter(Page):
    """`view` compares ways of asking, `ab_view` two prompts; `tabs` shows one of them."""

    id = PageId.COMPARE
    title = tr("Compare")
    tip = tr("Ask the same in several ways, and see where the answers part")
    can_run = True

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.view = ComparePage(context.project.prompt)
        self.ab_view = AbPage()
        self.tabs = self.widget = CompareTabs(self.view, self.ab_view)
        self._runs = context.runs
        self._preset = PRESETS[0].key
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self._show_progress)
        self.comparison = Comparison(context.runs, PRESETS[0].variants(self._base), self)
        self.ab = AbPresenter(context, self.ab_view, self)
        self._connect_comparison()
        self._connect_view()
        self._connect_context()
        self.tabs.tabs.currentChanged.connect(lambda _place: self.headerChanged.emit())
        self._arranged()
        self._show_facts()
        self._show_turn()

    @property
    def header(self) -> frozenset[HeaderPart]:
        """The columns have settings of their own, the two prompts a seed and a temperature."""
        if self.tabs.shows_prompts:
            return frozenset(HeaderPart) - {HeaderPart.DRAW, HeaderPart.RUN}
        return frozenset({HeaderPart.MODEL, HeaderPart.DRAW, HeaderPart.SAMPLING})

    def run(self) -> None:
        """Run what is shown: all columns, or both prompts on their seeds."""
        if self._runs.phase is Phase.STEPPING:
            super().run()
        elif self.tabs.shows_prompts:
            self.ab.run()
        else:
            self._run_columns()

    def go_to(self, place: Place) -> None:
        if isinstance(place, PromptsPlace):
            self.tabs.show_prompts()

    def close(self) -> None:
        self._look.stop()
        self.ab.close()

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
        view.runWanted.connect(self._run_columns)
        view.stop_button.clicked.connect(comparison.stop)
        view.add_button.clicked.connect(self._add)
        view.presetChosen.connect(self._choose_preset)
        view.variantChosen.connect(self._change)
        view.removeWanted.connect(self._remove)
        view.openWanted.connect(self._open)

    def _connect_context(self) -> None:
        self._runs.phaseChanged.connect(self._show_turn)
        self._runs.modelTold.connect(lambda _status: self._show_facts())
        self.context.project.optionsChanged.connect(self._options_changed)
        self.context.project.tools.changed.connect(lambda _registry: self._show_facts())

    # -- what the user wants -----------------------------------------------------------------------------------

    def _run_columns(self) -> None:
        """Run all columns on what the playground asks now."""
        if not self.view.run_button.isEnabled():
            return
        self.view.notice.hide()
        if self.context.project.grammar.work.use:
            self.view.notice.tell(
                tr(
                    "The columns are held to the grammar of the tools: a grammar text of one’s own is for one notation."
                )
            )
        self.comparison.begin(self.context.project.next_request())

    def _choose_preset(self, key: str) -> None:
        self._preset = key
        preset = next((preset for preset in PRESETS if preset.key == key), None)
        if preset is not None:
            self.comparison.arrange(preset.variants(self._base))

    def _change(self, place: int, variant: Variant) -> None:
        self._preset = OWN
        self.comparison.change(place, variant)

    def _add(self) -> None:
        self._preset = OWN
        self.comparison.add()

    def _remove(self, place: int) -> None:
        self._preset = OWN
        self.comparison.remove(place)
        self.view.prompt_edit.setFocus()  # the button that had it may be gone

    def _open(self, place: int) -> None:
        """Show the run of that column in the playground, as it ended."""
        events = tuple(self.comparison.columns[place].events)
        if events and not self._runs.is_busy:
            self._runs.show_record(events)
            self.context.navigator.show(PageId.PLAYGROUND)

    # -- the columns -------------------------------------------------------------------------------------------

    def _arranged(self) -> None:
        count = len(self.comparison.columns)
        self.view.show_columns(count)
        beginnings = {variant.constrain_from for variant in self.comparison.variants}
        for place in range(count):
            self.view.columns[place].picker.show_beginning(len(beginnings) > 1)
            self._show_column(place)
        self.view.show_preset(self._preset)
        self._show_editable()
        self._show_fields()

    def _changed(self, place: int) -> None:
        column = self.comparison.columns[place]
        if column.phase in _ENDED:
            self.view.columns[place].show_phase()
            self._show_fields()
        else:
            self._show_column(place)
        if column.phase is ColumnPhase.RUNNING:
            self.view.show_column(place)
            self._show_turn()

    def _show_column(self, place: int) -> None:
        self.view.columns[place].show_column(
            self.comparison.columns[place], editable=self._is_free, removable=self._is_removable
        )

    def _grew(self, grown: Grown) -> None:
        self.view.columns[grown.place].apply(grown.applied)

    def _running_changed(self, running: bool) -> None:
        if running:
            self._look.start()
        else:
            self._look.stop()
            self.context.status.set_activity("")
        self._show_editable()
        self._show_turn()
        self._show_fields()

    def _show_progress(self) -> None:
        place = self.comparison.running_place
        if place is not None:
            self.view.columns[place].show_figures()
            self._show_fields()

    def _show_fields(self) -> None:
        columns = self.comparison.columns
        names = [column.name for column in columns]
        alignment = align([column.state if has_turn(column) else None for column in columns])
        self.view.fields_model.show(alignment, names)
        self.view.show_words(difference_words(alignment, names))

    # -- settings, model and phase ------------------------------------------------------------------------------

    @property
    def _base(self) -> Variant:
        return variant_of(self.context.project.options)

    @property
    def _is_free(self) -> bool:
        return not self.comparison.is_running

    @property
    def _is_removable(self) -> bool:
        return len(self.comparison.columns) > FEWEST

    def _options_changed(self, _options: object) -> None:
        """The columns of a question follow the playground as long as nothing was run."""
        untouched = all(column.phase is ColumnPhase.NEW for column in self.comparison.columns)
        if untouched and self._preset != OWN:
            self._choose_preset(self._preset)
        self._show_facts()

    def _show_editable(self) -> None:
        view, count = self.view, len(self.comparison.columns)
        view.presets.setEnabled(self._is_free)
        view.add_button.setEnabled(self._is_free and count < MOST)
        view.prompt_edit.setReadOnly(not self._is_free)
        for place in range(count):
            view.columns[place].set_editable(self._is_free, self._is_removable)

    def _show_turn(self, _phase: object = None) -> None:
        view, comparison = self.view, self.comparison
        stopping = self._runs.phase is Phase.STOPPING
        view.run_button.setEnabled(not self._runs.is_busy and self._is_free)
        view.stop_button.setEnabled(comparison.is_running and not stopping)
        place = comparison.running_place
        if place is not None:
            count, name = len(comparison.columns), comparison.columns[place].name
            words = (
                tr("Stopping…")
                if stopping
                else tr(
                    "Column {number} of {count} runs: {name}. The others wait.",
                    number=place + 1,
                    count=count,
                    name=name,
                )
            )
            view.show_turn(words)
            self.context.status.set_activity(
                tr("Stopping…")
                if stopping
                else tr("Comparing {number} of {count}", number=place + 1, count=count)
            )
        else:
            view.show_turn(_WAIT if self._runs.is_busy else _TURNS)

    def _show_facts(self) -> None:
        """What is the same in every column."""
        project, status = self.context.project, self._runs.model
        options, wanted = project.options, project.model
        name = model_name(wanted).name
        if status.phase == "ready" and status.name == wanted and status.info is not None:
            name = model_name(status.info.path).name if status.info.path else status.info.name
        tools = len(project.tools.registry.allowed)
        words = [
            tr("The same in every column: {model}", model=name),
            tr("%n tool(s) allowed", "", tools),
            tr("seed {seed}", seed=options.sampling.seed),
            tr("temperature {temperature:g}", temperature=options.sampling.temperature),
            tr("at most %n token(s)", "", options.max_tokens),
        ]
        if options.repair.attempts:
            words.append(tr("%n repair(s) allowed", "", options.repair.attempts))
        self.view.facts.setText(" · ".join(words))
