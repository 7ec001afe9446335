"""Who hears what about the prompt: its dock, the runs, the tools, and the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer

from glyphscope.prompting.costs import Cost
from glyphscope_gui.compare.presenter import COMPARE
from glyphscope_gui.prompt.dock import RENDERED
from glyphscope_gui.prompt.places import PartPlace, edit, place_of
from glyphscope_gui.prompt.watch import PromptWatch, ShownPrompt
from glyphscope_gui.runs.worker.jobs import ModelStatus, Priced

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

ASK_MS = 50
"""After a change that the prompt's own rendering does not tell: several come at once as a project is opened."""


class PromptWiring(QObject):
    """Made after `Wiring`. Nothing else knows the dock, the runs and the documents together."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dock = window.prompt_page
        self._parts = window.parts
        self._runs = window.runs
        self._shown: ShownPrompt | None = None
        self._place: PartPlace | None = None
        self.watch = PromptWatch(self)
        self._ask = QTimer(self, singleShot=True, interval=ASK_MS)
        self._ask.timeout.connect(self._ask_price)
        runs, parts, dock = self._runs, self._parts, self._dock
        runs.applied.connect(self.watch.apply)
        runs.aside.connect(self.watch.note)
        runs.priced.connect(self._priced)
        runs.modelTold.connect(self._model_told)
        parts.prompt.rendered.connect(lambda _messages: self._ask.start())
        parts.project.optionsChanged.connect(lambda _options: self._ask.start())
        parts.prompt.changed.connect(lambda _state: self._show_place())
        parts.document.changed.connect(lambda _registry: self._show_place())
        self.watch.shown.connect(self._show)
        dock.partChosen.connect(self._choose)
        dock.partEdited.connect(self._edit)
        dock.leadWanted.connect(self._lead)
        dock.runWanted.connect(window.actions_.run.trigger)
        dock.changes.compareWanted.connect(self._compare)
        window.actions_.run.changed.connect(self._show_run)
        window.page.renderedWanted.connect(lambda: dock.tabs.setCurrentIndex(RENDERED))
        self._show_run()

    def close(self) -> None:
        self._ask.stop()
        self.watch.close()

    # -- what the runs tell ------------------------------------------------------------------------------------

    def _model_told(self, status: ModelStatus) -> None:
        if status.phase == "opening" and status.progress is None:
            self.watch.forget()
        elif status.phase == "ready":
            self._ask.start()
        self._expect()

    def _ask_price(self) -> None:
        """What the next run would send; of strategies whose prompts are made in a run, what the last one sent stays."""
        options = self._parts.project.options
        self._expect()
        if self._parts.prompt.problem or options.strategy not in ("direct", "two-stage"):
            return
        request = msgspec.structs.replace(options, **self._parts.prompt.request_fields())
        self._runs.ask_price(request, self._parts.document.registry)

    def _priced(self, priced: Priced) -> None:
        if priced.prompt is not None:
            self.watch.show_next(priced.prompt)
        else:
            self._dock.show_messages()

    def _show(self, told: ShownPrompt) -> None:
        self._shown = told
        self._dock.show_prompt(told)
        self._choose(self._dock.costs.chosen())

    def _show_run(self) -> None:
        self._dock.run_button.setEnabled(self._window.actions_.run.isEnabled())
        self._expect()

    def _expect(self) -> None:
        """Whether a change of the prompt is counted at once."""
        model, options = self._runs.model, self._parts.project.options
        ready = model.phase == "ready" and model.info is not None and model.info.kind != "recorded"
        direct = options.strategy in ("direct", "two-stage")
        self._dock.expects_price = ready and direct and not self._runs.is_busy

    # -- what the user wants -----------------------------------------------------------------------------------

    def _choose(self, cost: object) -> None:
        if cost is None and self._dock.part.edit.hasFocus():
            return  # what is being typed made the part empty, so that it has no row
        self._place = None
        if isinstance(cost, Cost) and self._shown is not None:
            own = self._shown.origin != "record"
            self._place = place_of(cost, self._parts.document, self._parts.prompt, is_own=own)
        self._dock.show_place(self._place)

    def _show_place(self) -> None:
        """What is edited elsewhere, or taken back, is another text here too."""
        if self._place is not None and not self._dock.part.edit.hasFocus():
            self._choose(self._dock.costs.chosen())

    def _edit(self, text: str) -> None:
        if self._place is not None:
            problem = edit(self._place, text, self._parts.document, self._parts.prompt)
            self._dock.part.say(problem or self._place.words)

    def _compare(self) -> None:
        """The last run's prompt is A there, what is edited B."""
        self._window.pages.show(COMPARE)
        self._window.compare_tabs.show_prompts()

    def _lead(self) -> None:
        place = self._place
        if place is None:
            return
        if place.tool:
            dock = self._window.left[0]
            dock.show()
            dock.raise_()
            self._window.tools_page.show_argument(place.tool, place.argument)
            self._window.tools_page.tree.setFocus(Qt.FocusReason.OtherFocusReason)
        elif place.source == "line":
            self._dock.show_template_line(place.line)
        else:
            self._window.page.prompt_edit.setFocus(Qt.FocusReason.OtherFocusReason)
