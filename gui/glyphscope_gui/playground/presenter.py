"""The presenter of the playground: it passes the events of the run to every view and sub-presenter, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import PromptRendered, RunFailed, RunStarted
from glyphscope.explain.segments import reasoning_tokens
from glyphscope.runs import RunState, answer_messages, history_after
from glyphscope.runs.endings import RunEnd, answered_without_call, end_of
from glyphscope.runs.strategies.reading_ahead import ReadAhead
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.playground.branch_presenter import BranchPresenter
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.examples import ExamplePrompts, ExamplesMenu
from glyphscope_gui.playground.expected import ExpectedPresenter
from glyphscope_gui.playground.influence import InfluencePresenter
from glyphscope_gui.playground.live_lecture import LiveLecture
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.playground.stage_presenter import RulesPresenter, StagePresenter
from glyphscope_gui.runs.model_queries import FIRST_PROMPT_KNOWN
from glyphscope_gui.runs.recorder import FIRST_RUN, bundled_run, bundled_runs
from glyphscope_gui.runs.run_controller import EndedRun, NotStarted, Phase, Saving
from glyphscope_gui.runs.shown_record import differing_settings
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.runs.worker.jobs import Measured, ModelStatus, TokenPlace
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import HeaderPart, MenuId, PageId


class ConversationPresenter(QObject):
    """A reply replaces the project's messages with the run's; Undo restores them."""

    def __init__(self, context: AppContext, view: RunPage) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._prompt = context.project.prompt
        self._state = RunState()
        self._is_own = True
        view.reply.sendRequested.connect(self._send)
        view.reply.edit_button.clicked.connect(self._edit)
        view.history_link.clicked.connect(context.panels.reveal_messages)
        view.new_link.clicked.connect(self._start_new)
        self._prompt.changed.connect(self._show_history)
        context.record.changed.connect(self._show_history)
        context.actions.run.changed.connect(self._show_run)
        self._show_history()
        self._show_run()

    def show_run(self, shown: ShownRun) -> None:
        if shown.run is not self._state:
            self._state, self._is_own = shown.run, shown.kind == "run"
            self._view.show_reply(False)

    def finish(self, _ended: EndedRun) -> None:
        """Offer a reply, unless the run has no answer."""
        started = self._state.started
        self._view.show_reply(started is not None and bool(answer_messages(self._state, started.request)))

    def _take_over(self, text: str) -> None:
        """Copy the messages of the shown run into the project; for a record, its system prompt too."""
        started = self._state.started
        if started is not None:
            request = started.request
            system_prompt = None if self._is_own else request.system_prompt
            self._prompt.set_conversation(history_after(self._state, request), text, system_prompt)

    def _send(self, text: str) -> None:
        self._take_over(text)
        self._view.reply.edit.clear()
        self._context.actions.run.trigger()

    def _edit(self) -> None:
        self._take_over(self._view.reply.edit.toPlainText().strip())
        self._view.reply.edit.clear()
        self._context.panels.reveal_messages()

    def _start_new(self) -> None:
        self._prompt.set_conversation(())

    def _show_history(self, _change: object = None) -> None:
        """Show the project's earlier messages, which do not belong to a record's prompt."""
        count = len(self._prompt.state.history) if self._context.record.started is None else 0
        self._view.history_link.set_words(tr("After %n message(s)", "", count))
        self._view.history_link.setVisible(bool(count))
        self._view.new_link.setVisible(bool(count))

    def _show_run(self) -> None:
        self._view.reply.set_can_send(self._context.actions.run.isEnabled())


_OF_THE_REQUEST = frozenset({"PROMPT_FAILED", "BAD_REQUEST", "CONSTRAINT_FAILED", "CONTEXT_OVERFLOW"})
"""The codes of failures that another request may not have."""
COMPARE_MS = 100
"""Delay after the last change before the shown run's settings are compared with the next run's."""


class PlaygroundPresenter(Page):
    """`_connect_runs` defines the order in which the views get a run's events."""

    id = PageId.PLAYGROUND
    title = tr("Playground")
    tip = tr("Run a prompt and see the answer token by token")
    can_run = True

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._runs = context.runs
        self._first_model = True
        """Whether no model has been opened or has failed to open yet."""
        self._phase = Phase.IDLE
        self._failed_request = False
        self._compare = QTimer(self, singleShot=True, interval=COMPARE_MS)
        self._compare.timeout.connect(self._show_difference)
        self.view = self.widget = RunPage(context.project.prompt)
        self.evidence = EvidenceDock()
        self.stages = StagePresenter(context, self.view, self.evidence)
        self.rules = RulesPresenter(context, self.view, self.evidence)
        self.branches = BranchPresenter(context, self.view, self.evidence)
        evidence = self.evidence
        self.influence = InfluencePresenter(context, evidence.influence_place, evidence.pairs_place)
        self.conversation = ConversationPresenter(context, self.view)
        self.expected = ExpectedPresenter(context, self.view.verdict)
        self.lecture = LiveLecture(context, self.view)
        self.examples = ExamplesMenu(self.view)
        self.examples.chosen.connect(self.show_bundled)
        self.prompts = ExamplePrompts(context, self.view)
        self._connect_runs()
        self._connect_views()
        self._connect_actions()
        self._show_phase(self._runs.phase)

    @property
    def header(self) -> frozenset[HeaderPart]:
        return frozenset(HeaderPart)

    @property
    def side_panel(self) -> QWidget:
        return self.evidence

    @property
    def menu_actions(self) -> Mapping[MenuId, Sequence[QAction]]:
        kept = [self.expected.action, self.expected.suite_action]
        run = [*self.branches.actions, *kept, self.examples.menuAction(), self.prompts.menu.menuAction()]
        return {MenuId.RUN: run, MenuId.VIEW: [self.lecture.action]}

    def offer(self, words: str, button: str, do: Callable[[], None]) -> None:
        self.view.notice.show_words(words, button, do)

    def complete(self) -> None:
        """Prepare the panel of tabs."""
        self.view.prepare_details()

    # -- the run -----------------------------------------------------------------------------------------------

    def not_started(self, failure: NotStarted) -> None:
        """Keep the shown run, and show above it why the next one did not start."""
        self.context.recorder.keep(failure.events)
        if (failed := failure.failed) is not None:
            started = failure.events[0]
            self._show_failure(failed, started if isinstance(started, RunStarted) else None)

    def finish(self, ended: EndedRun) -> None:
        run = ended.run
        if run.failed is not None:
            self._show_failure(run.failed, run.started)
        elif ended.kind == "run":
            self._show_end(end_of(run, tr), run)
        if ended.at is not None:
            self._choose(ended.at)

    def _show_step(self, shown: ShownRun) -> None:
        """Select the newest token while the user steps."""
        if self._runs.phase is Phase.STEPPING and not shown.over:
            self.view.choose_newest()

    def _show_next_prompt(self, read: ReadAhead) -> None:
        """Show the tokens of the prompt that was read ahead."""
        if read.prompt is not None:
            self._show_next_costs(read.prompt)

    def _show_difference(self) -> None:
        """Mark the settings of the shown run that are not those shown around it."""
        state, record = self._runs.state, self.context.record.started
        settings: list[str] = []
        if state.started is not None and record is None and (registry := state.whole_registry):
            started = msgspec.structs.replace(
                state.started,
                request=msgspec.structs.replace(state.started.request, registry=registry.to_document()),
            )
            following = self.context.project.next_run().request
            settings = differing_settings(started, following, self._runs.model.info)
        self.view.show_difference(settings)

    def _show_next_costs(self, prompt: PromptRendered | None) -> None:
        if self.context.record.started is None:
            self.view.show_next_costs(prompt)

    def _hide_failure(self, _change: object = None) -> None:
        """Hide the error of a request that has changed since."""
        if self._failed_request and not self._runs.is_busy:
            self._failed_request = False
            self.view.notice.hide()

    def _forget_costs(self, _change: object = None, *, other_model: bool = False) -> None:
        if self.context.record.started is None:
            model = self._runs.model
            counts = model.phase == "ready" and model.info is not None and model.info.kind != "recorded"
            first = self.context.project.options.strategy in FIRST_PROMPT_KNOWN
            self.view.forget_costs(counted=counts and first, other_model=other_model)

    def _show_sizes(self, measured: Measured) -> None:
        called = next((stage for stage in reversed(self._runs.state.stages) if stage.calls), None)
        self.view.sizes.show_sizes(measured, 0 if called is None else reasoning_tokens(called))

    def _show_saving(self, saving: Saving | None) -> None:
        self.stages.unpin()
        if saving is None:
            self.view.verdict.show_stopped()
        else:
            self.view.verdict.show_saving(saving)
            self.evidence.add_saving(saving)

    def _show_phase(self, phase: Phase) -> None:
        if self._phase is Phase.IDLE and phase is not Phase.IDLE and not self._runs.is_in_background:
            self.view.notice.hide()  # the error of the previous start
        self._phase = phase
        actions, recorded = self.context.actions, phase is Phase.IDLE and bool(self._runs.events)
        actions.replay.setEnabled(recorded)
        actions.save_record.setEnabled(recorded)
        actions.continue_aborted.setEnabled(self._runs.can_continue)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_runs(self) -> None:
        runs, stages, branches, conversation = self._runs, self.stages, self.branches, self.conversation
        for each in (stages.choice, branches, conversation, self.expected):
            runs.shown.connect(each.show_run)
        runs.shown.connect(self._show_step)
        for finish in (self.context.recorder.finish, stages.unpin, branches.finish, conversation.finish):
            runs.ended.connect(finish)
        runs.ended.connect(self.finish)
        runs.notStarted.connect(self.not_started)
        runs.measured.connect(self._show_sizes)
        runs.continued.connect(lambda continuation: self.view.stream.show_continuation(continuation.text))
        runs.saved.connect(self._show_saving)
        runs.modelStatusChanged.connect(self._model_changed)
        runs.phaseChanged.connect(self._show_phase)
        runs.queries.promptRead.connect(self._show_next_prompt)
        runs.queries.promptPriced.connect(self._show_next_costs)
        project, record = self.context.project, self.context.record
        prompted = (project.prompt.changed, project.optionsChanged, project.tools.changed)
        requested = (*prompted, project.grammar.changed)
        for signal in prompted:
            signal.connect(self._forget_costs)
        for signal in (*requested, record.changed, runs.modelStatusChanged, runs.ended):
            signal.connect(lambda _change=None: self._compare.start())
        for signal in requested:
            signal.connect(self._hide_failure)
        record.changed.connect(self.view.show_record)
        record.changed.connect(self._forget_costs)

    def _connect_views(self) -> None:
        view, settings, actions = self.view, self.context.settings, self.context.actions
        view.tokenChosen.connect(self._show_token)
        view.set_share(settings.value.transcript_share)
        view.shareChosen.connect(lambda share: settings.update(transcript_share=share))
        view.show_detail(settings.value.run_detail)
        view.detailChosen.connect(lambda name: settings.update(run_detail=name))
        for name, section in self.evidence.sections.items():
            settings.remember(section, name)
        view.prompt_edit.submitted.connect(actions.run.trigger)
        view.verdict.when_continued(actions.continue_aborted.trigger)
        view.copy_menu.copyRequested.connect(self._copy)
        view.share_button.clicked.connect(actions.share.trigger)
        actions.share.changed.connect(lambda: view.share_button.setEnabled(actions.share.isEnabled()))
        view.rendered_link.clicked.connect(self.context.panels.reveal_rendered_prompt)

    def _connect_actions(self) -> None:
        view, actions = self.view, self.context.actions
        for action, slot in (
            (actions.continue_aborted, self.continue_aborted),
            (actions.replay, self.replay),
            (actions.focus_prompt, view.prompt_edit.setFocus),
            (actions.focus_stream, view.stream.setFocus),
            (actions.focus_tokens, view.focus_tokens),
        ):
            action.triggered.connect(lambda _checked=False, do=slot: do())

    # -- actions -----------------------------------------------------------------------------------------------

    def continue_aborted(self) -> None:
        """Continue the aborted run in the background, to measure the saving."""
        if self._runs.can_continue:
            self.view.verdict.show_continuing()
            self._runs.continue_aborted()

    def replay(self) -> None:
        """Replay the shown run at its original speed."""
        if self._runs.events:
            self._runs.replay(tuple(self._runs.events))

    def show_bundled(self, name: str) -> None:
        """Show all of a bundled recording."""
        try:
            self._runs.show_record(bundled_run(name))
        except GlyphscopeError as error:
            self.context.show_error(error)
        self.context.navigator.show(PageId.PLAYGROUND)

    def play_bundled(self) -> None:
        """Replay the first bundled recording, which needs no model."""
        try:
            self._runs.replay(bundled_run(FIRST_RUN))
        except GlyphscopeError as error:
            self.context.show_error(error)

    def _copy(self, form: str) -> None:
        self.context.recorder.copy(tuple(self._runs.events), form)

    def _choose(self, place: TokenPlace) -> None:
        """Select a token of the opened record."""
        self.stages.choice.choose(place.stage, pin=False)
        self.view.tokens.choose(place.token)
        self.view.focus_tokens()

    def _show_token(self, index: int | None) -> None:
        self.evidence.show_token(self.view.stage, index)
        self.rules.show_token(index)
        self.branches.show_token(index)
        self.influence.show_token(index)

    # -- notices, with a button if there is a fix --------------------------------------------------------------

    def _show_failure(self, failed: RunFailed, started: RunStarted | None) -> None:
        """Show a failure."""
        self._failed_request = failed.code in _OF_THE_REQUEST
        words = " ".join(part for part in (failed.message, failed.hint) if part)
        if self._failed_request and failed.detail:
            words = f"{words}\n{failed.detail}"  # the request's other problems
        fix: tuple[str, Callable[[], None] | None] = ("", None)
        if started is not None and started.request.native and failed.code in ("PROMPT_FAILED", "BAD_REQUEST"):
            fix = (tr("Use GLYPH"), self._use_glyph)
        elif started is None and failed.code == "MODEL_FAILED":
            fix = (tr("Get a model…"), self.context.actions.get_model.trigger)
        self.view.notice.show_words(words, *fix, error=True)

    def _show_end(self, end: RunEnd, state: RunState) -> None:
        """Show that a run ended without a valid call and what can be done, with its notes."""
        if not end.hint:
            return
        words = " ".join((end.hint, *state.notes)).rstrip()
        request = state.started.request if state.started is not None else None
        fix: tuple[str, Callable[[], None] | None] = ("", None)
        if end.status == "impossible" and request is not None and request.constraint == "off":
            fix = (tr("Use Mask"), self._use_mask)
        elif answered_without_call(state):
            fix = (tr("Require a call"), self._require_call)
        self.view.verdict.offer(words, *fix)

    def _use_mask(self) -> None:
        self.context.project.set_options(constraint="mask")

    def _require_call(self) -> None:
        project = self.context.project
        loop = msgspec.structs.replace(project.options.loop, tool_use="enforced")
        project.set_options(tool_choice="required", loop=loop)

    def _use_glyph(self) -> None:
        self.context.project.set_options(native="", notation="glyph")

    def _model_changed(self, status: ModelStatus) -> None:
        if status.phase == "opening" and status.progress is None:
            self._forget_costs(other_model=True)
        if status.phase == "failed" and not self._runs.is_busy:
            self._show_no_model(status)
        if status.phase in ("ready", "failed"):
            self._first_model = False

    def _show_no_model(self, status: ModelStatus) -> None:
        """Show that no model could be opened; at the first start, with a recorded run."""
        recordings = FIRST_RUN in bundled_runs()
        get = (tr("Get a model…"), self.context.actions.get_model.trigger)
        if self._first_model and recordings and not self._runs.events:
            self.play_bundled()
            self.view.notice.show_words(
                tr("{message} A recorded run is shown instead.", message=status.message),
                tr("Replay"),
                self.play_bundled,
                get,
            )
        else:
            again = tr("Replay a recorded run") if recordings else ""
            self.view.notice.show_words(status.message, again, self.play_bundled, get, error=True)
