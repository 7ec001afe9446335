"""Who hears what about comparisons: the page, the comparison, and what they take from the rest of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from glyphscope.evals.align import align
from glyphscope.evals.align_words import difference_words
from glyphscope_gui.compare.column_state import ColumnPhase, has_turn
from glyphscope_gui.compare.comparison import Comparison, Grown
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.variants import FEWEST, MOST, OWN, PRESETS, Variant, variant_of
from glyphscope_gui.grammar.presenter import PLAYGROUND
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.runs.run_registry import remember
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

COMPARE = "compare"
"""The page's name."""
LOOK_MS = 250
"""Four times a second: figures and fields that change faster cannot be read."""
_TURNS = tr("Columns take turns on the one model, and share its prompt cache.")
_WAIT = tr("The playground’s run goes on: the model writes one text at a time.")
_ENDED = (ColumnPhase.DONE, ColumnPhase.STOPPED)


class CompareWiring(QObject):
    """Made after `Wiring`. Nothing else knows both the page and the rest of the window."""

    def __init__(self, window: MainWindow, page: ComparePage) -> None:
        super().__init__(window)
        self._window = window
        self._page = page
        self._parts = window.parts
        self._runs = window.runs
        self._preset = PRESETS[0].key
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self._show_progress)
        self.comparison = Comparison(window.runs, PRESETS[0].variants(self._base), self)
        self._connect_comparison()
        self._connect_page()
        self._connect_window()
        self._arranged()
        self._show_facts()
        self._show_turn()

    def close(self) -> None:
        self._look.stop()

    def run(self) -> None:
        """All columns, on what the playground asks now; of two prompts, both on their seeds."""
        if self._window.compare_tabs.shows_prompts:
            self._window.ab.run()
            return
        request = self._parts.project.request_for(self._window.wiring.model)
        remember(request.registry, self._parts.document.registry)
        self._page.notice.hide()
        if self._parts.project.grammar.work.use:
            self._page.notice.tell(
                tr(
                    "The columns are held to the grammar of the tools: a grammar text of one’s own is for one notation."
                )
            )
        self.comparison.begin(request)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_comparison(self) -> None:
        comparison = self.comparison
        comparison.arranged.connect(self._arranged)
        comparison.changed.connect(self._changed)
        comparison.grew.connect(self._grew)
        comparison.ended.connect(self._window.recorder.keep)
        comparison.runningChanged.connect(self._running_changed)

    def _connect_page(self) -> None:
        page, comparison = self._page, self.comparison
        page.runWanted.connect(self._run_wanted)
        page.stop_button.clicked.connect(comparison.stop)
        page.add_button.clicked.connect(self._add)
        page.presetChosen.connect(self._choose_preset)
        page.variantChosen.connect(self._change)
        page.removeWanted.connect(self._remove)
        page.openWanted.connect(self._open)

    def _connect_window(self) -> None:
        self._runs.phaseChanged.connect(self._show_turn)
        self._runs.modelTold.connect(self._model_told)
        self._parts.project.optionsChanged.connect(self._options_changed)
        self._parts.document.changed.connect(lambda _registry: self._show_facts())

    # -- what the user wants -----------------------------------------------------------------------------------

    def _run_wanted(self) -> None:
        if self._page.run_button.isEnabled():
            self.run()

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
        self._page.prompt_edit.setFocus()  # the button that had it may be gone

    def _open(self, place: int) -> None:
        """As from the history."""
        events = tuple(self.comparison.columns[place].events)
        if events and not self._runs.is_busy:
            self._window.wiring.show_record(events)
            self._window.pages.show(PLAYGROUND)

    # -- what the comparison tells -----------------------------------------------------------------------------

    def _arranged(self) -> None:
        count = len(self.comparison.columns)
        self._page.show_columns(count)
        for place in range(count):
            self._show_column(place)
        self._page.show_preset(self._preset)
        self._show_editable()
        self._show_fields()

    def _changed(self, place: int) -> None:
        column = self.comparison.columns[place]
        if column.phase in _ENDED:
            self._page.columns[place].show_phase()
            self._show_fields()
        else:
            self._show_column(place)
        if column.phase is ColumnPhase.RUNNING:
            self._page.show_column(place)
            self._show_turn()

    def _show_column(self, place: int) -> None:
        self._page.columns[place].show_column(
            self.comparison.columns[place], editable=self._is_free, removable=self._is_removable
        )

    def _grew(self, grown: Grown) -> None:
        self._page.columns[grown.place].apply(grown.applied)

    def _running_changed(self, running: bool) -> None:
        if running:
            self._look.start()
        else:
            self._look.stop()
        self._show_editable()
        self._show_turn()
        self._show_fields()

    def _show_progress(self) -> None:
        place = self.comparison.running_place
        if place is not None:
            self._page.columns[place].show_figures()
            self._show_fields()

    def _show_fields(self) -> None:
        columns = self.comparison.columns
        names = [column.name for column in columns]
        alignment = align([column.state if has_turn(column) else None for column in columns])
        self._page.fields_model.show(alignment, names)
        self._page.show_words(difference_words(alignment, names))

    # -- what the window tells ---------------------------------------------------------------------------------

    @property
    def _base(self) -> Variant:
        return variant_of(self._parts.project.options)

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

    def _model_told(self, status: ModelStatus) -> None:
        self._show_facts()
        if status.phase == "ready":
            self._show_turn()  # the status line is the comparison's again

    def _show_editable(self) -> None:
        page, count = self._page, len(self.comparison.columns)
        page.presets.setEnabled(self._is_free)
        page.add_button.setEnabled(self._is_free and count < MOST)
        page.prompt_edit.setReadOnly(not self._is_free)
        for place in range(count):
            page.columns[place].set_editable(self._is_free, self._is_removable)

    def _show_turn(self, _phase: object = None) -> None:
        page, comparison = self._page, self.comparison
        stopping = self._runs.phase is Phase.STOPPING
        page.run_button.setEnabled(not self._runs.is_busy and self._is_free)
        page.stop_button.setEnabled(comparison.is_running and not stopping)
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
            page.show_turn(words)
            self._window.status.set_state(
                "busy",
                tr("Stopping…")
                if stopping
                else tr("Comparing {number} of {count}", number=place + 1, count=count),
            )
        else:
            page.show_turn(_WAIT if self._runs.is_busy else _TURNS)

    def _show_facts(self) -> None:
        """What is the same in every column."""
        options, status = self._parts.project.options, self._runs.model
        wanted = self._window.wiring.model
        name = model_name(wanted).name
        if status.phase == "ready" and status.name == wanted and status.info is not None:
            name = model_name(status.info.path).name if status.info.path else status.info.name
        tools = len(self._parts.document.registry.allowed)
        words = [
            tr("The same in every column: {model}", model=name),
            tr("%n tool(s) allowed", "", tools),
            tr("seed {seed}", seed=options.sampling.seed),
            tr("temperature {temperature:g}", temperature=options.sampling.temperature),
            tr("at most %n token(s)", "", options.max_tokens),
        ]
        if options.repair.attempts:
            words.append(tr("%n repair(s) allowed", "", options.repair.attempts))
        self._page.facts.setText(" · ".join(words))
