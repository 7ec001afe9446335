"""Manual calls: from the panel of the chosen tool to its server in the background, with progress, and back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, Signal

from glyphscope.base.visible import visible
from glyphscope.store.files import atomic_write
from glyphscope.tools import Outcome
from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.call_result import BinaryFile, CallView, call_view
from glyphscope_gui.servers.lists import ToolRow
from glyphscope_gui.servers.tool_panel import Progressed, ToolPanel
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.language import tr

SECONDS = 120.0
"""The timeout of a manual call."""

Request: TypeAlias = Callable[..., Outcome]
"""Makes a request within the limits of `CallOptions`, which are its arguments."""

_Report: TypeAlias = tuple[float | None, float | None, str]


class ToolCalls(QObject):
    """One call at a time. `progressed` carries a Progressed, `ended` a CallView."""

    began = Signal()
    progressed = Signal(object)
    ended = Signal(object)

    def __init__(
        self, parent: QObject | None = None, view: Callable[[Outcome, float], CallView] = call_view
    ) -> None:
        super().__init__(parent)
        self._view = view
        self._background = Background(self)
        self._last_report: _Report = (None, None, "")
        self._since = 0.0
        self.is_busy = False
        """Whether a call is running."""

    def call(self, request: Request) -> None:
        """Run a request in the background; does nothing while another one is running."""
        if self.is_busy:
            return
        self.is_busy = True
        self._last_report, self._since = (None, None, ""), time.monotonic()
        timed = partial(_timed_call, request, self._view)
        self._background.start("call", timed, self._done, self._failed, progress=self._show_progress)
        self.began.emit()
        self._show_progress(())

    def cancel(self) -> None:
        self._background.stop("call")

    def _show_progress(self, reports: Sequence[_Report]) -> None:
        """Show the latest report, and the time."""
        self._last_report = (self._last_report, *reports)[-1]
        self.progressed.emit(Progressed(*self._last_report, time.monotonic() - self._since))

    def _done(self, view: CallView) -> None:
        self.is_busy = False
        self.ended.emit(view)

    def _failed(self, error: BaseException) -> None:
        self.is_busy = False
        self.ended.emit(CallView(tr("internal error"), "impossible", str(error), "", ()))
        raise error  # a bug is reported like any other


def _timed_call(request: Request, view: Callable[[Outcome, float], CallView]) -> CallView:
    task, since = this_task(), time.monotonic()
    outcome = request(
        seconds=SECONDS,
        cancel=task.stopped,
        progress=lambda done, total, message: task.report((done, total, message)),
    )
    return view(outcome, time.monotonic() - since)


REMEMBERED = 30
"""Number of tools whose arguments and latest result are kept."""


class _Place(NamedTuple):
    server: str
    tool: str


class CallPresenter(QObject):
    """Makes one call at a time, whatever the panel shows."""

    def __init__(self, context: AppContext, panel: ToolPanel) -> None:
        super().__init__(panel)
        self._request: Request | None = None
        """Makes the request of the shown tool, with its arguments."""
        self._panel = panel
        self.jobs = ToolCalls(self)
        self._shown = _Place("", "")
        self._called = _Place("", "")
        self._drafts: dict[_Place, dict[str, Any]] = {}
        self._answers: dict[_Place, CallView] = {}
        panel.callRequested.connect(self._call)
        panel.cancel_button.clicked.connect(self.jobs.cancel)
        self._background = Background(self)
        self._error = context.show_error
        panel.result.saveRequested.connect(self._choose_file)
        self.jobs.began.connect(panel.begin)
        self.jobs.progressed.connect(self._show_progress)
        self.jobs.ended.connect(self._ended)

    def show(self, server: str, row: ToolRow | None, request: Request | None) -> None:
        """Show the chosen tool, with its typed arguments and its latest result. `request` makes a call of it."""
        self._keep_draft()
        self._request = request
        place = _Place(server, row.name if row is not None else "")
        if self._panel.show_row(row, self._drafts.get(place), again=place != self._shown):
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

    def _call(self, arguments: dict[str, Any]) -> None:
        if self._request is not None and not self.jobs.is_busy:
            self._called = self._shown
            self._answers.pop(self._called, None)
            self.jobs.call(partial(self._request, arguments))

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
