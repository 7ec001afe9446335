"""The live run of an experiment: the lesson's request with the reader's changes, on the project's model."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from PySide6.QtCore import QObject

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.lessons.run_settings import varied_request
from glyphscope_gui.context import AppContext
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.opened import Opened
from glyphscope_gui.runs.run_controller import BackgroundEvents
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr


class LiveRun(QObject):
    """Runs at most one at a time, for the last experiment that requested it."""

    def __init__(self, context: AppContext, background: Background, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._runs = context.runs
        self._background = background
        self._card: LessonExperiment | None = None
        self._job = 0
        self._runs.background.connect(self._take)

    @property
    def is_running(self) -> bool:
        return self._card is not None and self._card.is_running

    @property
    def obstacle(self) -> str:
        """Why no live run can begin now; empty if one can. The run opens a model that is not open yet."""
        match self._runs.model.phase:
            case "opening":
                return tr("The model is loading.")
            case "failed":
                return tr("No model is available for a live run.")
        if self._runs.is_busy and not self.is_running:
            return tr("The model is in use on another page.")
        return ""

    def start(self, card: LessonExperiment, opened: Opened, changes: dict[str, Any]) -> None:
        """Run the experiment with the reader's changes, unless another run is under way."""
        if self._runs.is_busy:
            return
        self._card = card
        request = partial(varied_request, opened.lesson, card.part, changes, opened.place.folder)
        self._background.start("live", request, self._begin, self._refuse)

    def stop(self) -> None:
        """Stop the run of the experiment, which is no longer shown."""
        if self.is_running and self._runs.is_in_background:
            self._runs.stop()
        self._card, self._job = None, 0

    def _begin(self, request: RunRequest) -> None:
        if self._card is not None and not self._runs.is_busy:
            request = msgspec.structs.replace(request, model=self._context.project.model)
            self._card.begin(request)
            self._job = self._runs.run_in_background(request)

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self._context.show_error(error)
        elif self._card is not None:
            problems = "; ".join(problem.message for problem in getattr(error, "problems", ()))
            self._card.refuse(f"{error.message} {problems}".rstrip())

    def _take(self, background: BackgroundEvents) -> None:
        card = self._card
        if card is None or background.job != self._job:
            return
        if background.ended:
            self._card, self._job = None, 0
        card.take(background)
