"""The presenter of the window's frame: header, status line, title, and the actions of every page."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QMessageBox

from glyphscope.base.errors import RequestProblem, StorageError
from glyphscope.base.figures import duration, duration_ms, percent, rate
from glyphscope.evals.costs import decoded
from glyphscope.events import PromptEvaluated
from glyphscope.grammar.tree import Unenforced
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.runs import PreparedRequest, RunState
from glyphscope.runs.strategies import unenforced, unenforced_words
from glyphscope.runs.strategies.reading_ahead import ReadAhead
from glyphscope_gui.context import AppContext, LackingPlace
from glyphscope_gui.project.project_controller import first_project
from glyphscope_gui.run_settings.header import RunHeader
from glyphscope_gui.runs.model_queries import problems_of
from glyphscope_gui.runs.run_controller import NotStarted, Phase
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import open_once, show_whole_title
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from glyphscope_gui.shell.idle_model_presenter import IdleModelPresenter
from glyphscope_gui.shell.navigation import Navigation
from glyphscope_gui.shell.project_dialogs import ProjectDialogs
from glyphscope_gui.shell.status_line import StatusLine

CHECK_MS = 50
"""Delay before the next request is checked: several changes arrive at once when a project is opened."""
COUNT_MS = 600
"""Delay after the last change before the constraints that are not enforced are counted, which makes the grammar."""
MAX_COUNTED = 200_000
"""Bytes of a registry whose constraints are counted: the grammar of a larger one would keep Python's lock from the
window for seconds. The Grammar page lists those of any registry.
"""
FIGURES_MS = 250
"""Four times a second: figures that change faster cannot be read."""


class WindowPresenter(QObject):
    def __init__(
        self,
        context: AppContext,
        header: RunHeader,
        status: StatusLine,
        navigation: Navigation,
        dialogs: ProjectDialogs,
        idle_model: IdleModelPresenter,
    ) -> None:
        super().__init__(context.window)
        self._context = context
        self._runs = context.runs
        self._project = context.project
        self._header = header
        self._status = status
        self._navigation = navigation
        self._dialogs = dialogs
        self._problems: tuple[RequestProblem, ...] = ()
        self._background = Background(self)
        self._known = {tool.name for tool in context.project.tools.registry}
        """The tools of the last check."""
        self._read: PromptEvaluated | None = None
        self._check = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._check.timeout.connect(self._check_request)
        self._count = QTimer(self, singleShot=True, interval=COUNT_MS)
        self._count.timeout.connect(self._count_lacking)
        self._figures = QTimer(self, interval=FIGURES_MS)
        self._figures.timeout.connect(self._show_figures)
        self._connect_runs()
        self._connect_actions()
        self._connect_project()
        self._connect_pages()
        idle_model.begun.connect(lambda: self._status.set_state("busy", tr("Prefilling the next prompt…")))
        idle_model.ended.connect(self._show_read)
        measuring = tr("Measuring prompt batches in the background…")
        idle_model.measuring.connect(lambda: self._status.set_state("busy", measuring))
        idle_model.measured.connect(self._show_measured)
        self._header.show_tools(self._project.tools.registry)
        self._header.show_options(self._project.options)
        self._header.show_custom_grammar(self._project.grammar.is_used)
        self._show_page()
        self._show_title()
        self._status.set_state("none", model_words(self._runs.model))

    def start(self) -> None:
        """Open the model, so that the first run need not wait."""
        self._status.set_note(self._context.settings.notice)
        self._runs.open_model(self._project.model)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_runs(self) -> None:
        runs = self._runs
        runs.shown.connect(lambda shown: self._show_evaluated(shown.run.evaluated))
        runs.continued.connect(lambda continuation: self._show_evaluated(continuation.evaluated))
        for ended in (runs.ended, runs.saved):
            ended.connect(self._show_outcome)
        runs.notStarted.connect(self._show_not_started)
        runs.modelStatusChanged.connect(self._show_model)
        runs.phaseChanged.connect(self._show_phase)
        runs.crashed.connect(self._context.show_error)

    def _connect_actions(self) -> None:
        actions, dialogs = self._context.actions, self._dialogs
        for action, slot in (
            (actions.run, self._run),
            (actions.step, self._step),
            (actions.stop, self._runs.stop),
            (actions.options, self._header.open_options),
            (actions.new, self._new_project),
            (actions.open, dialogs.open),
            (actions.save, dialogs.save),
            (actions.save_as, dialogs.save_as),
            (actions.quit, self._context.window.close),
            (actions.about, self._show_about),
            (actions.focus_notice, self._focus_notice),
        ):
            action.triggered.connect(lambda _checked=False, do=slot: do())

    def _connect_project(self) -> None:
        project, recorder = self._project, self._context.recorder
        self._header.optionsChosen.connect(lambda changes: project.set_options(**changes))
        self._header.lackingRequested.connect(self._show_lacking)
        project.modelChosen.connect(self._runs.open_model)
        project.optionsChanged.connect(self._header.show_options)
        project.tools.changed.connect(self._header.show_tools)
        project.grammar.changed.connect(self._show_grammar)
        # the prompt that was read ahead is then an older one
        for changed in (project.prompt.changed, project.optionsChanged, project.tools.changed):
            changed.connect(lambda _change: self._show_state())
        for changed in (project.optionsChanged, project.tools.changed, project.grammar.changed):
            changed.connect(lambda _change=None: self._check.start())
        project.stateChanged.connect(self._show_title)
        project.permissionsDropped.connect(self._show_permissions)
        recorder.failed.connect(self._context.show_error)
        recorder.saveFailed.connect(self._status.set_note)

    def _connect_pages(self) -> None:
        self._navigation.shown.connect(lambda _page: self._show_page())
        self._navigation.shown.connect(lambda _page: self._status.end_result())
        for page in self._navigation.pages.values():
            page.headerChanged.connect(self._show_page)

    # -- actions -----------------------------------------------------------------------------------------------

    def _focus_notice(self) -> None:
        for notice in self._context.window.findChildren(NoticeBanner):
            if notice.isVisible():
                notice.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _run(self) -> None:
        self._navigation.page.run()

    def _step(self) -> None:
        self._navigation.page.step()

    def _new_project(self) -> None:
        self._dialogs.before_leaving(lambda: self._project.new(first_project(self._context.settings.value)))

    # -- the run -----------------------------------------------------------------------------------------------

    def _show_evaluated(self, read: PromptEvaluated | None) -> None:
        """Show how much of the prompt is read, if that is new."""
        if read is self._read:
            return
        self._read = read
        if read is None:
            return
        if read.done < read.total:
            words = tr("Reading the prompt: {done:,} of {total:,} tokens", done=read.done, total=read.total)
            self._status.set_state("busy", words)
        else:
            self._show_state()

    def _show_outcome(self, _ended: object) -> None:
        self._status.set_note("")
        self._header.panel.show_run(self._runs.state)
        self._show_figures()

    def _show_not_started(self, result: NotStarted) -> None:
        failed = result.failed
        self._status.set_note(
            tr("Stopped before the run started")
            if failed is None
            else tr("The run did not start: {message}", message=failed.message)
        )
        self._show_figures()

    def _check_request(self) -> None:
        """Check the next run's request; a record's was checked by its run."""
        if self._context.record.started is not None:
            self._show_problems(())
            self._header.show_lacking(0, "")
            return
        work = partial(problems_of, request=self._project.next_run())
        self._runs.queries.ask("request", work, self._show_problems)
        self._count.start()

    def _count_lacking(self) -> None:
        request = self._project.next_run()
        show = partial(self._counted, request)
        if len(msgspec.json.encode(request.request.registry)) > MAX_COUNTED:
            show(())
            return
        self._background.start("lacking", partial(unenforced, request), show, lambda _error: show(()))

    def _counted(self, request: PreparedRequest, found: tuple[Unenforced, ...]) -> None:
        """Show beside Run what the next run does not enforce, and above the playground that of imported tools."""
        constraint = request.request.constraint
        is_record = self._context.record.started is not None
        self._header.show_lacking(0 if is_record else len(found), unenforced_words(found, constraint))
        is_call = request.request.answer.is_call  # any other answer has a schema that no tool has
        self._context.panels.show_unenforced(len(found) if is_call else 0)
        names = {tool.name for tool in request.registry}
        new, self._known = names - self._known, names
        imported = tuple(each for each in found if each.tool in new)
        if imported and self._project.tools.undo_stack.index():  # and not another project's
            words = unenforced_words(imported, constraint)
            self._context.offer(words, tr("Show them"), self._show_lacking)

    def _show_lacking(self) -> None:
        self._navigation.show(PageId.GRAMMAR, LackingPlace())

    def _show_problems(self, problems: tuple[RequestProblem, ...]) -> None:
        self._header.show_problems(problems)
        if problems != self._problems:
            self._problems = problems
            self._show_state()

    def _show_model(self, status: ModelStatus) -> None:
        if status.phase == "ready":
            self._check.start()
        self._status.set_state(status.phase, self._idle_words())
        self._header.show_model(status.info)

    def _show_read(self, read: ReadAhead) -> None:
        if self._runs.is_busy:
            return
        words = model_words(self._runs.model)
        if read.complete:
            words = tr("{model}, next prompt prefilled (%n token(s))", "", read.tokens, model=words)
        self._status.set_state(self._runs.model.phase, words)

    def _show_measured(self, result: BatchTimes | BaseException | None) -> None:
        if isinstance(result, BatchTimes):
            words = tr(
                "Prompt batches measured: {tokens} tokens from the next loading on",
                tokens=result.best,
            )
            self._status.set_note(words)
        elif isinstance(result, StorageError):
            self._status.set_note(str(result))
        self._show_state()

    def _show_phase(self, phase: Phase) -> None:
        busy = phase is not Phase.IDLE
        self._show_actions()
        self._header.set_editable(not busy)
        if busy:
            self._figures.start()
            self._status.set_note("")
        else:
            self._figures.stop()
        self._show_state()

    def _show_state(self) -> None:
        """Show the phase of the run, or else the state of the model."""
        words = {
            Phase.RUNNING: tr("Running"),
            Phase.STEPPING: tr("Step by step"),
            Phase.STOPPING: tr("Stopping…"),
        }
        if (phase := self._runs.phase) in words:
            self._status.set_state("busy", words[phase])
        else:
            self._status.set_state(self._runs.model.phase, self._idle_words())

    def _idle_words(self) -> str:
        """The model's state, and whether the next run uses a custom grammar."""
        words = model_words(self._runs.model)
        custom = self._project.grammar.is_used and self._project.options.constraint != "off"
        if self._problems:
            return tr("{model} · the next run has %n problem(s)", "", len(self._problems), model=words)
        return tr("{model} · runs use the custom grammar", model=words) if custom else words

    def _show_grammar(self) -> None:
        self._header.show_custom_grammar(self._project.grammar.is_used)
        self._show_state()

    def _show_page(self) -> None:
        """Show the parts of the top bar that the page in front uses."""
        header = self._navigation.page.header
        self._header.show_parts(header)
        self._status.show_run(HeaderPart.RUN in header)
        self._show_actions()

    def _show_actions(self) -> None:
        """Show the actions of the page in front."""
        actions, phase, page = self._context.actions, self._runs.phase, self._navigation.page
        free = phase in (Phase.IDLE, Phase.STEPPING)
        possible = {
            actions.run: free and page.can_run,
            actions.step: free and HeaderPart.RUN in page.header,
            actions.options: HeaderPart.OPTIONS in page.header,
            actions.stop: phase not in (Phase.IDLE, Phase.STOPPING),
        }
        for action in sorted(possible, key=lambda each: not possible[each]):  # so that the focus can move on
            action.setEnabled(possible[action])

    def _show_figures(self) -> None:
        if self._runs.is_in_background:  # the running job is not the shown run
            return
        state: RunState = self._runs.state
        if state.tokens and self._runs.phase is Phase.RUNNING and not self._runs.is_asking:
            self._status.set_state("busy", tr("Running"))
        self._status.set_figures(figures(state))

    # -- the project -------------------------------------------------------------------------------------------

    def _show_permissions(self, count: int) -> None:
        self._status.set_note(
            tr("Ignored: %n approval rule(s) of this file that allowed calls without asking", "", count)
        )

    def _show_title(self) -> None:
        window = self._context.window
        window.setWindowTitle(f"{self._project.name}[*] – Glyphscope")
        window.setWindowModified(self._project.is_dirty)

    def _show_about(self) -> None:
        words = tr(
            "Inspect tool calls of local language models token by token: the model’s "
            "probabilities, the tokens that the grammar allowed, and the character at which an "
            "argument violated its schema.\n\nApache License 2.0"
        )
        box = QMessageBox(self._context.window, text="Glyphscope", informativeText=words)
        box.setWindowTitle(tr("About Glyphscope"))
        show_whole_title(box)
        open_once(box)


def figures(state: RunState) -> list[str]:
    """Speed, first token, mask and forced tokens of the running stage, and the tokens of all stages; each only if it is
    known.
    """
    tokens = state.tokens
    if not tokens:
        return []
    words = []
    timed, seconds = decoded(state.present)
    if len(tokens) > 1 and timed and seconds > 0:
        words.append(rate(timed / seconds))
    first = next(stage.tokens[0].t for stage in state.stages if stage.tokens)
    words.append(tr("first token {time}", time=duration(first)))
    sampled = len(tokens) - state.forced
    if sampled and state.started is not None and state.started.request.constraint != "off":
        words.append(tr("mask {time}", time=duration_ms(state.present.mask_ms / sampled)))
    if state.forced:
        words.append(tr("{forced:,} of {tokens:,} tokens forced", forced=state.forced, tokens=len(tokens)))
    texts = [stage for stage in state.stages if stage.tokens]
    if len(texts) > 1 and (total := state.counted_tokens) is not None:
        words.append(tr("{tokens:,} tokens in {stages} stages", tokens=total, stages=len(texts)))
    return words


def model_words(status: ModelStatus) -> str:
    """The state of the model's process, in a few words for the status line."""
    match status.phase:
        case "opening" if status.is_endpoint:
            return tr("Connecting to the endpoint…")
        case "opening":
            if status.progress is None:
                return tr("Loading the model…")
            return tr("Loading the model: {progress}", progress=percent(status.progress, 0))
        case "unloading":
            return tr("Unloading the model…")
        case "ready":
            return tr("Model process ready")
        case "failed":
            return tr("No model")
        case _:
            return tr("No model is loaded")
