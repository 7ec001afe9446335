"""Error messages for the user, and a log of the program's own errors.

A user's error (GlyphscopeError) is shown in three parts: what, where, and how to fix it. Any other exception is a bug
in this program: it is shown as such, written to the crash log, and shown again at the next start.
"""

from __future__ import annotations

import faulthandler
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from PySide6.QtCore import QObject, QtMsgType, Signal, qInstallMessageHandler, qVersion
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from glyphscope.base.errors import GlyphscopeError, ModelDied, RegistryError
from glyphscope.base.visible import visible
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_text import copy_text

MAX_LOG = 256 * 1024
"""Characters of the crash log that are kept; older reports are removed."""


_SHOWN = 3
"""Problems of a document that are shown without a click."""


class Explanation(NamedTuple):
    """An error in the parts that are shown; `details` is for bug reports."""

    title: str
    message: str
    where: str
    hint: str
    details: str


def explain(error: BaseException) -> Explanation:
    """The texts about an error."""
    if isinstance(error, GlyphscopeError):
        details, hint = "", error.hint
        if isinstance(error, RegistryError):
            whole = tr("(whole document)")
            lines = [f"{p.pointer or whole}: {p.message}" for p in error.problems]
            hint = hint or "\n".join(lines[:_SHOWN])
            details = "\n".join(lines) if error.hint or len(lines) > _SHOWN else ""
        elif isinstance(error, ModelDied):
            details = "\n".join(part for part in (error.signal, error.stderr) if part)
        return Explanation(tr("Action failed"), error.message, error.where, hint, details)
    return Explanation(
        tr("Internal error"),
        tr("Glyphscope hit an internal error. Your work is still open: save it before continuing."),
        "",
        tr("Please report the details together with the steps that led here."),
        report_of(error),
    )


def report_of(error: BaseException) -> str:
    """The traceback with the relevant versions; apart from the message, it contains no text of the user's."""
    lines = "".join(traceback.format_exception(error))
    return f"{_versions()}\n{lines}".strip()


def _versions() -> str:
    parts = [f"Python {platform.python_version()}", f"Qt {qVersion()}", platform.platform()]
    for package in ("glyphscope", "llama-cpp-python", "llguidance", "PySide6-Essentials"):
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)


class ErrorDialog(PlainDialog):
    """Shows an error in three parts (what, where, how to fix it), and details on request.

    Opened with `open()`.
    """

    def __init__(self, explanation: Explanation, parent: QWidget | None = None) -> None:
        title, message, where, hint, details = explanation
        super().__init__("errorDialog", visible(title), parent)
        self.setMinimumWidth(420)
        text = "\n".join(part for part in (message, where, hint, details) if part)
        layout = vbox(parent=self, margins=(24, 20, 24, 18), spacing=10)
        for words, role in ((title, "heading"), (message, ""), (where, "mono"), (hint, "muted")):
            if words:
                layout.addWidget(words_label(words, role, self, selectable=True))
        self.details = QPlainTextEdit(visible(details, lines=True), self, readOnly=True)
        named(self.details, words=tr("Details"), role="mono")
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setMinimumHeight(160)
        self.details.hide()
        layout.addWidget(self.details, 1)
        layout.addSpacing(6)
        buttons = [push_button(tr("Copy"), clicked=lambda: copy_text(text))]
        if details:
            buttons.append(push_button(tr("Details")))
            buttons[1].setCheckable(True)
            buttons[1].toggled.connect(self._show_details)
        box = self.button_box(Standard.Close, *((button, Role.ActionRole) for button in buttons))
        layout.addWidget(box)
        close = box.button(Standard.Close)
        close.setDefault(True)
        close.setFocus()  # otherwise Enter presses Copy, the first in the order of Tab
        self.setAccessibleName(visible(f"{title}: {message}", lines=True))

    def _show_details(self, shown: bool) -> None:
        self.details.setVisible(shown)
        self.adjustSize()


def show_error(parent: QWidget | None, error: BaseException) -> ErrorDialog:
    """Open a non-modal dialog with the error and return it (it deletes itself)."""
    dialog = ErrorDialog(explain(error), parent)
    dialog.open()
    return dialog


def offer_crash_report(parent: QWidget | None, reports: str) -> ErrorDialog:
    """Show the reports of an earlier run of the program (`CrashLog.take`)."""
    explanation = Explanation(
        tr("Glyphscope crashed last time"),
        tr("A crash report was saved. Unsaved changes can be restored."),
        "",
        tr("Please send the report together with the steps that led to the crash."),
        reports,
    )
    dialog = ErrorDialog(explanation, parent)
    dialog.open()
    return dialog


class CrashLog:
    """A text file of reports, the newest at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._native: TextIO | None = None

    def add(self, report: str) -> None:
        """Append a report. A log that cannot be written must not cause another error."""
        try:
            old = self.read()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = f"{old}\n{datetime.now().isoformat(timespec='seconds')}\n{report}\n".lstrip()
            self.path.write_text(text[-MAX_LOG:], encoding="utf-8")
        except OSError:
            print(report, file=sys.stderr)

    def read(self) -> str:
        """All reports; "" if there are none, or the log cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def take(self) -> str:
        """Return and delete the reports of earlier runs, which are shown only once."""
        text = self.read()
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return ""
        return text

    def watch_native(self) -> None:
        """Have Python write its stacks here if the process crashes, such as by a segmentation fault."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._native = self.path.open("a", encoding="utf-8")
        except OSError:
            return
        faulthandler.enable(self._native)

    def close(self) -> None:
        if self._native is not None:
            faulthandler.disable()
            self._native.close()
            self._native = None


class ErrorReporter(QObject):
    """Passes errors from any thread to the log, and to the views in the GUI thread (`reported`)."""

    reported = Signal(object)

    def __init__(self, log: CrashLog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = log

    def report(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self.log.add(report_of(error))
        self.reported.emit(error)


def install_excepthooks(reporter: ErrorReporter) -> Callable[[], None]:
    """Send uncaught exceptions and Qt's fatal messages to `reporter`. Return a function that undoes it."""
    old_hook, old_thread_hook = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            old_hook(kind, error, trace)
        else:
            reporter.report(error.with_traceback(trace))

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            reporter.report(args.exc_value)

    def qt_message(kind: QtMsgType, _context: object, message: str) -> None:
        if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg):
            reporter.log.add(f"Qt: {message}")
        print(message, file=sys.stderr)

    sys.excepthook, threading.excepthook = hook, thread_hook
    old_qt = qInstallMessageHandler(qt_message)

    def undo() -> None:
        sys.excepthook, threading.excepthook = old_hook, old_thread_hook
        qInstallMessageHandler(old_qt)

    return undo
