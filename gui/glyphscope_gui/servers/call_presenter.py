"""Manual calls: from the panel of the chosen tool to its server, and back.

A tool's arguments and latest result are kept while the user looks at another tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QObject

from glyphscope.sessions.files import atomic_write
from glyphscope.visible import visible
from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.call_outcome import BinaryFile, CallView
from glyphscope_gui.servers.tool_calls import Progressed, ToolCalls, Work
from glyphscope_gui.servers.tool_model import ToolRow
from glyphscope_gui.servers.tool_panel import ToolPanel
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.language import tr

REMEMBERED = 30
"""Number of tools whose arguments and latest result are kept."""


class _Place(NamedTuple):
    server: str
    tool: str


class CallPresenter(QObject):
    """Makes one call at a time, whatever the panel shows. `work` returns it for a server, a name and arguments."""

    def __init__(
        self, context: AppContext, panel: ToolPanel, work: Callable[[str, str, dict[str, Any]], Work | None]
    ) -> None:
        super().__init__(panel)
        self._work = work
        self._panel = panel
        self.jobs = ToolCalls(self)
        self._shown = _Place("", "")
        self._called = _Place("", "")
        self._drafts: dict[_Place, dict[str, Any]] = {}
        self._answers: dict[_Place, CallView] = {}
        panel.edited.connect(self._check)
        panel.callRequested.connect(self._call)
        panel.cancel_button.clicked.connect(self.jobs.cancel)
        self._background = Background(self)
        self._error = context.show_error
        panel.result.saveRequested.connect(self._choose_file)
        self.jobs.checked.connect(panel.show_check)
        self.jobs.unreadable.connect(panel.show_unreadable)
        self.jobs.began.connect(panel.begin)
        self.jobs.progressed.connect(self._show_progress)
        self.jobs.ended.connect(self._ended)
        self.jobs.crashed.connect(context.show_error)

    def show(self, server: str, row: ToolRow | None, claims: Mapping[str, Any]) -> None:
        """Show the chosen tool, with its typed arguments and its latest result."""
        self._keep_draft()
        place = _Place(server, row.name if row is not None else "")
        if self._panel.show_row(row, claims, self._drafts.get(place), again=place != self._shown):
            self._panel.result.show_view(self._answers.get(place))
        self._shown = place

    def save(self, path: Path, data: bytes) -> None:
        """Write binary content of a result to a file."""

        def done(_none: None) -> None:
            self._panel.result.say(tr("Saved: {name}", name=visible(path.name)))

        self._background.start("save", lambda: atomic_write(path, data), done, self._error)

    def _choose_file(self, file: BinaryFile) -> None:
        ask_where_to_save(
            self._panel,
            tr("Save the content"),
            lambda path: self.save(path, file.data),
            tr("All files (*)"),
            start=file.name,
            name="saveContentDialog",
        )

    def _keep_draft(self) -> None:
        with suppress(ValueError):  # invalid JSON is not worth keeping
            _remember(self._drafts, self._shown, self._panel.form.arguments())

    def _check(self) -> None:
        self._panel.show_state()
        self.jobs.check(self._panel.tool, self._panel.form)

    def _call(self, arguments: dict[str, Any]) -> None:
        work = self._work(self._shown.server, self._shown.tool, arguments) if self._shown.tool else None
        if work is not None and not self.jobs.is_busy:
            self._called = self._shown
            self._answers.pop(self._called, None)
            self.jobs.call(work)

    def _show_progress(self, progress: Progressed) -> None:
        self._panel.show_progress(progress, "" if self._called == self._shown else self._called.tool)

    def _ended(self, view: CallView) -> None:
        _remember(self._answers, self._called, view)
        self._panel.end(self._answers.get(self._shown))


def _remember(remembered: dict[_Place, Any], place: _Place, what: Any) -> None:
    remembered.pop(place, None)
    remembered[place] = what
    while len(remembered) > REMEMBERED:
        del remembered[next(iter(remembered))]
