"""The prompt panel: the prompts of past runs, the prompt of the next run, and edits to their sources."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, QTimer

from glyphscope.prompting.costs import Cost
from glyphscope.runs import PreparedRequest
from glyphscope_gui.context import AppContext, PromptsPlace
from glyphscope_gui.prompt.dock import PromptDock
from glyphscope_gui.prompt.places import PartPlace, edit, place_of
from glyphscope_gui.prompt.watch import PromptWatch, ShownPrompt
from glyphscope_gui.runs.model_queries import FIRST_PROMPT_KNOWN
from glyphscope_gui.runs.worker.jobs import ModelStatus, PricedPrompt
from glyphscope_gui.shared.page_ids import PageId

ASK_MS = 50
"""Delay before the next prompt is counted: several changes arrive at once when a project is opened."""


class PromptPresenter(QObject):
    """Connects the dock with the runs, the template and the tools."""

    def __init__(self, context: AppContext, dock: PromptDock) -> None:
        super().__init__(context.window)
        self._context = context
        self._dock = dock
        self._project = context.project
        self._runs = context.runs
        self._shown: ShownPrompt | None = None
        self._place: PartPlace | None = None
        self.watch = PromptWatch(self)
        self._ask = QTimer(self, singleShot=True, interval=ASK_MS)
        self._ask.timeout.connect(self._ask_price)
        runs, project = context.runs, context.project
        runs.shown.connect(self.watch.show_run)
        runs.continued.connect(lambda continuation: self.watch.note(continuation.prompt))
        runs.background.connect(lambda background: self.watch.note(background.prompt))
        runs.modelStatusChanged.connect(self._model_changed)
        runs.phaseChanged.connect(lambda _phase: self._expect())
        project.prompt.rendered.connect(lambda _messages: self._ask.start())
        project.optionsChanged.connect(lambda _options: self._ask.start())
        project.prompt.changed.connect(lambda _state: self._show_place())
        project.tools.changed.connect(lambda _registry: self._show_place())
        context.record.changed.connect(lambda _started: self._ask.start())
        self.watch.shown.connect(self._show)
        dock.partChosen.connect(self._choose)
        dock.part.edited.connect(self._edit)
        dock.part.link.clicked.connect(self._go_to_source)
        dock.run_button.clicked.connect(context.actions.run.trigger)
        dock.changes.link.clicked.connect(self._compare)
        context.actions.run.changed.connect(self._show_run)
        self._show_run()

    # -- what runs report --------------------------------------------------------------------------------------

    def _model_changed(self, status: ModelStatus) -> None:
        if status.phase == "opening" and status.progress is None:
            self.watch.forget()
        elif status.phase == "ready":
            self._ask.start()
        self._expect()

    def _ask_price(self) -> None:
        """Count the next run's prompt. For strategies that make it during a run, the last sent prompt stays while its
        messages do.

        Their messages are also counted, as they have the same tokens in the direct strategy's prompt.
        """
        options = self._project.options
        self._expect()
        if (
            self._project.prompt.problem or self._context.record.started is not None
        ):  # a record's prompt is shown
            return
        request = msgspec.structs.replace(options, **self._project.prompt.request_fields())
        self._runs.queries.price(PreparedRequest(request, self._project.tools.registry), self._priced)

    def _priced(self, priced: PricedPrompt | None) -> None:
        counted = priced or PricedPrompt(None)  # no model can count it
        self._dock.conversation.show_counted(counted.prompt, counted.problem)
        if self._context.record.started is not None:  # a record was opened meanwhile
            return
        if counted.prompt is not None and self._is_direct:
            chat = self._project.options.chat
            self.watch.show_next(counted.prompt, chat, is_shown=self._dock.shows_prompt)
        else:
            self._dock.show_messages()

    def _show(self, shown: ShownPrompt) -> None:
        self._shown = shown
        self._dock.show_prompt(shown, is_own=self._context.record.started is None)
        self._choose(self._dock.costs.chosen())

    def _show_run(self) -> None:
        self._dock.run_button.setEnabled(self._context.actions.run.isEnabled())
        self._expect()

    @property
    def _is_direct(self) -> bool:
        """Whether the next run's first prompt is independent of the model's output."""
        return self._project.options.strategy in FIRST_PROMPT_KNOWN

    def _expect(self) -> None:
        """Set whether a change of the prompt is counted at once."""
        model = self._runs.model
        ready = model.phase == "ready" and model.info is not None and model.info.kind != "recorded"
        self._dock.expects_price = ready and self._is_direct and not self._runs.is_busy

    # -- what the user wants -----------------------------------------------------------------------------------

    def _choose(self, cost: object) -> None:
        if cost is None and self._dock.part.edit.hasFocus():
            return  # the user's edit made the part empty, so that it has no row
        self._place = None
        if isinstance(cost, Cost) and self._shown is not None:
            own = self._shown.origin != "record"
            self._place = place_of(cost, self._project.tools, self._project.prompt, is_own=own)
        self._dock.show_place(self._place)

    def _show_place(self) -> None:
        """Show the part again after its text was edited elsewhere or undone."""
        if self._place is not None and not self._dock.part.edit.hasFocus():
            self._choose(self._dock.costs.chosen())

    def _edit(self, text: str) -> None:
        if self._place is not None:
            problem = edit(self._place, text, self._project.tools, self._project.prompt)
            self._dock.part.say(problem or self._place.words)

    def _compare(self) -> None:
        """Open the A/B with the last run's prompt as A and the edited one as B."""
        self._context.navigator.show(PageId.COMPARE, PromptsPlace())

    def _go_to_source(self) -> None:
        place = self._place
        if place is None:
            return
        if place.tool:
            self._context.panels.reveal_argument(place.tool, place.argument, focus=True)
        elif place.source == "line":
            self._dock.show_template_line(place.line)
        else:
            self._context.actions.focus_prompt.trigger()
