"""Detects a shown run, such as one from a file or the history, whose settings differ from the project's."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunStarted
from glyphscope.runs import RunState
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.runs.run_controller import Applied, RunController


class ShownRecord(QObject):
    """`changed` carries the RunStarted of a record whose settings are shown in place of the project's, or None.

    A run of the project ends that. So does any change of the project, so that the edited settings are shown.
    """

    changed = Signal(object)

    def __init__(
        self, runs: RunController, project: ProjectController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._project = project
        self.started: RunStarted | None = None
        self.state = RunState()
        """The state of the recorded run, with its tools."""
        self._using = False
        runs.began.connect(self._begin)
        runs.applied.connect(self._apply)
        project.optionsChanged.connect(self.leave)
        project.tools.changed.connect(self.leave)
        project.prompt.changed.connect(self.leave)

    def leave(self, _change: object = None) -> None:
        """Show the settings of the project again; the run stays visible."""
        if not self._using:
            self._set(None)

    def use(self) -> None:
        """Copy its settings into the project, as one undo step. Raises RegistryError if its tools are invalid."""
        if self.started is not None:
            self._using = True  # the views change once, after the whole project has changed
            try:
                self._project.use_settings(self.started.request)
            finally:
                self._using = False
            self.leave()

    def _begin(self, state: RunState) -> None:
        self.state = state

    def _apply(self, applied: Applied) -> None:
        if not (began := applied.of(RunStarted)):
            return
        started = began[0]
        # a branch of a record uses that record's settings
        follows = self.started is not None and started.request.branch_of is not None
        self._set(started if (applied.kind == "replay" or follows) and self._differs(started) else None)

    def _differs(self, started: RunStarted) -> bool:
        try:
            return not self._project.has_settings(started.request)
        except GlyphscopeError:  # its tools cannot be used
            return True

    def _set(self, started: RunStarted | None) -> None:
        if started is not self.started:
            self.started = started
            self.changed.emit(started)
