"""Who hears what: the one place where what a part tells is passed on to the parts that show it or do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QMessageBox

from glyphscope.calling import RunState
from glyphscope.errors import GlyphscopeError
from glyphscope.events import AnyEvent, PromptEvaluated, RunRequest
from glyphscope.models.opening import EMBEDDED
from glyphscope.sessions import Settings
from glyphscope_gui.compare.presenter import COMPARE
from glyphscope_gui.runs.outcome_text import figures, model_words, outcome_words
from glyphscope_gui.runs.recorder import FIRST_RUN, bundled_run, bundled_runs
from glyphscope_gui.runs.run_controller import Applied, Phase, Saving
from glyphscope_gui.runs.run_registry import remember
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.shell.services import first_project

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

FIGURES_MS = 250
"""Four times a second: figures that change faster cannot be read."""


class Wiring(QObject):
    """Every slot of the window that is more than a view's own."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._runs = window.runs
        self._parts = window.parts
        self._page = window.page
        self._evidence = window.evidence
        self._status = window.status
        self._first_model = True
        self._connect_runs()
        self._connect_actions()
        self._connect_parts()
        self._figures = QTimer(self, interval=FIGURES_MS)
        self._figures.timeout.connect(self._show_figures)
        self._show_options(self._parts.project.options)
        self._show_phase(self._runs.phase)
        self._show_title()
        window.picker.set_model(self.model)
        self._status.set_state("none", model_words(self._runs.model))

    def start(self) -> None:
        """Open the model, so that the first run need not wait."""
        self._status.set_note(self._parts.settings.notice)
        self._runs.open_model(self.model, self._settings.context)

    def close(self) -> None:
        self._figures.stop()

    @property
    def model(self) -> str:
        """The model that the next run asks for."""
        return self._parts.project.options.model or self._settings.model or EMBEDDED

    # -- what the user wants -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the prompt, on the compare page in all its columns; while stepping, go on without stops."""
        if self._runs.phase is Phase.STEPPING:
            self._runs.go_on()
        elif self._window.pages.current == COMPARE:
            self._window.compare.run()
        else:
            self._runs.run(self._request())

    def step(self) -> None:
        if self._runs.phase is Phase.STEPPING:
            self._runs.step()
        else:
            self._runs.run(self._request(), stepping=True)

    def continue_aborted(self) -> None:
        if self._runs.can_continue:
            self._page.banner.show_continuing()
            self._runs.continue_aborted()

    def replay(self) -> None:
        """The run that is shown, again, at the speed it had."""
        if self._runs.events:
            self._runs.replay(tuple(self._runs.events))

    def show_record(self, events: tuple[AnyEvent, ...]) -> None:
        """A recorded run as it ended."""
        self._runs.replay(events, 0)

    def choose_model(self, name: str) -> None:
        """Open it now, and use it for the runs to come."""
        settings = self._settings.with_recent_model(name)
        self._parts.settings.replace(msgspec.structs.replace(settings, model=name))
        self._parts.project.set_options(model=name)
        self._window.picker.set_model(name)
        self._runs.open_model(name, self._settings.context)

    def play_bundled(self) -> None:
        """A recording that ships, for where there is no model."""
        try:
            self._runs.replay(bundled_run(FIRST_RUN))
        except GlyphscopeError as error:
            self._window.tell_error(error)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_runs(self) -> None:
        runs = self._runs
        for view in (self._page, self._evidence):
            runs.began.connect(view.begin)
            runs.applied.connect(view.apply)
            runs.ended.connect(view.finish)
        runs.applied.connect(self._applied)
        runs.ended.connect(self._ended)
        runs.measured.connect(self._evidence.show_sizes)
        runs.saved.connect(self._saved)
        runs.modelTold.connect(self._model_told)
        runs.phaseChanged.connect(self._show_phase)
        runs.crashed.connect(self._window.tell_error)
        self._page.tokenChosen.connect(self._token_chosen)
        self._evidence.tokenChosen.connect(self._page.tokens.choose)

    def _connect_actions(self) -> None:
        act, page, dialogs = self._window.actions_, self._page, self._window.dialogs
        for action, slot in (
            (act.run, self.run),
            (act.step, self.step),
            (act.stop, self._runs.stop),
            (act.continue_aborted, self.continue_aborted),
            (act.replay, self.replay),
            (act.new, self._new_project),
            (act.open, dialogs.open),
            (act.save, dialogs.save),
            (act.save_as, dialogs.save_as),
            (act.open_model, self._window.picker.ask_for_file),
            (act.quit, self._window.close),
            (act.about, self._show_about),
            (act.focus_prompt, page.prompt_edit.setFocus),
            (act.focus_stream, page.stream.setFocus),
            (act.focus_timeline, page.timeline.table.setFocus),
            (act.focus_tokens, page.tokens.setFocus),
        ):
            action.triggered.connect(lambda _checked=False, do=slot: do())
        page.runWanted.connect(act.run.trigger)
        page.continueWanted.connect(act.continue_aborted.trigger)
        page.renderedWanted.connect(self._show_prompt_page)

    def _connect_parts(self) -> None:
        window, parts = self._window, self._parts
        window.picker.modelChosen.connect(self.choose_model)
        window.header.optionsChosen.connect(self._change_options)
        window.history_page.runOpened.connect(self._open_run)
        window.history_page.notified.connect(self._status.set_note)
        window.recorder.kept.connect(lambda _row: window.history_page.refresh())
        window.recorder.failed.connect(window.tell_error)
        window.recorder.notKept.connect(self._status.set_note)
        parts.project.optionsChanged.connect(self._show_options)
        parts.project.stateChanged.connect(self._show_title)
        parts.project.permissionsDropped.connect(self._tell_permissions)

    # -- what runs tell ----------------------------------------------------------------------------------------

    def _applied(self, applied: Applied) -> None:
        for event in applied.events:
            if isinstance(event, PromptEvaluated) and event.done < event.total:
                words = tr(
                    "Reading the prompt: {done:,} of {total:,} tokens", done=event.done, total=event.total
                )
                self._status.set_state("busy", words)

    def _ended(self, applied: Applied) -> None:
        if applied.kind == "continuation" and self._runs.can_continue:
            self._page.banner.show_stopped()
        self._status.set_note(outcome_words(applied.state))
        if applied.kind == "run":
            self._window.recorder.keep(applied.events)
        self._show_figures()

    def _saved(self, saving: Saving) -> None:
        self._page.show_saving(saving)
        self._evidence.add_saving(saving)

    def _token_chosen(self, index: int | None) -> None:
        self._evidence.show_token(self._page.stage, index)

    def _model_told(self, status: ModelStatus) -> None:
        picker = self._window.picker
        if status.phase == "opening":
            picker.set_loading(status.progress, tr("Opening…") if status.progress is None else "")
        else:
            picker.set_loading(None)
        if status.phase == "ready" and status.info is not None:
            name = model_name(status.info.path).name if status.info.path else status.info.name
            picker.set_model(status.name, name, status.info.quantisation)
        self._status.set_state(status.phase, model_words(status))
        if status.phase == "failed":
            self._tell_no_model(status)
        if status.phase in ("ready", "failed"):
            self._first_model = False

    def _tell_no_model(self, status: ModelStatus) -> None:
        """A first start without a model shows a recorded run, so that there is something to see."""
        if self._runs.is_busy:
            return
        recordings = FIRST_RUN in bundled_runs()
        get = (tr("Get a model…"), self._window.models.show)
        if self._first_model and recordings and not self._runs.events:
            self.play_bundled()
            self._page.notice.tell(
                tr("{message} A recorded run is shown instead.", message=status.message),
                tr("Play it again"),
                self.play_bundled,
                get,
            )
        else:
            again = tr("Play a recorded run") if recordings else ""
            self._page.notice.tell(status.message, again, self.play_bundled, get)

    def _show_phase(self, phase: Phase) -> None:
        act, busy = self._window.actions_, phase is not Phase.IDLE
        act.run.setEnabled(not busy or phase is Phase.STEPPING)
        act.step.setEnabled(not busy or phase is Phase.STEPPING)
        act.stop.setEnabled(busy and phase is not Phase.STOPPING)
        act.replay.setEnabled(not busy and bool(self._runs.events))
        act.save_record.setEnabled(not busy and bool(self._runs.events))
        act.continue_aborted.setEnabled(self._runs.can_continue)
        self._window.header.set_editable(not busy)
        if busy:
            self._figures.start()
        else:
            self._figures.stop()
        words = {
            Phase.RUNNING: tr("Running"),
            Phase.STEPPING: tr("Step by step"),
            Phase.STOPPING: tr("Stopping…"),
        }
        if busy:
            self._status.set_state("busy", words[phase])
            self._status.set_note("")
        else:
            self._status.set_state(self._runs.model.phase, model_words(self._runs.model))

    def _show_figures(self) -> None:
        if self._runs.is_aside:  # what runs is not the run that is shown
            return
        state: RunState = self._runs.state
        if state.tokens and self._runs.phase is Phase.RUNNING and not self._runs.is_asking:
            self._status.set_state("busy", tr("Running"))
        self._status.set_figures(figures(state))

    # -- what the project and the settings tell ------------------------------------------------------------------

    @property
    def _settings(self) -> Settings:
        return self._parts.settings.value

    def _request(self) -> RunRequest:
        request = self._parts.project.request_for(self.model)
        remember(request.registry, self._parts.document.registry)
        return self._window.grammar.under(request)

    def _change_options(self, changes: dict[str, Any]) -> None:
        self._parts.project.set_options(**changes)

    def _show_options(self, options: RunRequest) -> None:
        self._window.header.show_options(options)

    def _tell_permissions(self, count: int) -> None:
        self._status.set_note(
            tr("A rule of this file that let calls run unasked: left out")
            if count == 1
            else tr("%n rules of this file that let calls run unasked: left out", "", count)
        )

    def _show_title(self) -> None:
        project = self._parts.project
        self._window.setWindowTitle(f"{project.name}[*] – Glyphscope")
        self._window.setWindowModified(project.is_dirty)

    # -- dialogs -----------------------------------------------------------------------------------------------

    def _new_project(self) -> None:
        self._window.dialogs.before_leaving(lambda: self._parts.project.new(first_project(self._settings)))

    def _open_run(self, run: str) -> None:
        self._window.recorder.open(run, self.show_record)

    def _show_prompt_page(self) -> None:
        dock = self._window.left[1]
        dock.show()
        dock.raise_()

    def _show_about(self) -> None:
        box = QMessageBox(self._window)
        box.setWindowTitle(tr("About Glyphscope"))
        box.setText("Glyphscope")
        box.setInformativeText(
            tr(
                "See a tool call being born, token by token: what the model wanted, what the grammar allowed, "
                "and the character at which an argument broke its constraint.\n\nApache License 2.0"
            )
        )
        box.finished.connect(box.deleteLater)
        box.open()
