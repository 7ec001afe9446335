"""Errors as a user sees them, and the log of internal ones."""

from __future__ import annotations

import sys
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.exceptions import capture_exceptions

from glyphscope.base.errors import GlyphscopeError, ModelDied, Problem, RegistryError, StorageError
from glyphscope_gui.shared import Role, ask
from glyphscope_gui.shared.errors import (
    CrashLog,
    ErrorReporter,
    explain,
    install_excepthooks,
    offer_crash_report,
    show_error,
)
from glyphscope_gui.shared.layouts import FollowsSize


def failed() -> Exception:
    try:
        raise KeyError("inside")
    except KeyError as error:
        return error


@pytest.mark.parametrize(
    ("error", "message", "where", "hint", "detail"),
    [
        (StorageError("The disk is full.", where="/a", hint="Make room."), "The disk is full.", "/a", "Make room.", ""),
        (
            RegistryError("Two mistakes.", problems=(Problem("/tools/0", "no name"), Problem("", "odd"))),
            "Two mistakes.", "", "/tools/0: no name\n(whole document): odd", "",
        ),
        (
            RegistryError("Many.", problems=tuple(Problem(f"/{n}", "odd") for n in range(4))),
            "Many.", "", "/0: odd\n/1: odd\n/2: odd", "/0: odd\n/1: odd\n/2: odd\n/3: odd",
        ),
        (
            ModelDied("The model's process ended.", signal="SIGKILL", stderr="last line"),
            "The model's process ended.", "", "The next run starts a new process.", "SIGKILL\nlast line",
        ),
    ],
)  # fmt: skip
def test_a_users_error_is_explained_in_all_its_parts(error, message, where, hint, detail):
    found = explain(error)
    assert (found.message, found.where, found.hint, found.details) == (message, where, hint, detail)
    assert "Traceback" not in "".join(found)


def test_an_internal_error_is_explained_with_its_traceback():
    found = explain(failed())
    assert "internal error" in found.message
    assert "Traceback" in found.details and "inside" in found.details and "Python" in found.details


def test_an_error_dialog_is_not_modal_and_can_be_copied(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    dialog = show_error(
        window, RegistryError("Bad.", where="a.json", hint="Fix it.", problems=(Problem("/x", "y"),))
    )
    assert dialog.isVisible()
    shown = [label.text() for label in dialog.findChildren(QLabel)]
    assert shown[1:4] == ["Bad.", "a.json", "Fix it."]
    assert not dialog.details.isVisible()
    buttons = {b.text().replace("&", ""): b for b in dialog.findChildren(QPushButton)}
    buttons["Copy"].click()
    assert QGuiApplication.clipboard().text() == "Bad.\na.json\nFix it.\n/x: y"
    buttons["Details"].click()
    assert dialog.details.isVisible()
    dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Close).click()
    assert not dialog.isVisible()


def test_enter_closes_an_error_dialog(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    dialog = show_error(window, StorageError("The disk is full."))
    qtbot.waitUntil(lambda: dialog.focusWidget() is not None)
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert not dialog.isVisible()


def test_a_crash_report_is_offered_once(tmp_path):
    log = CrashLog(tmp_path / "logs" / "crash.log")
    assert log.take() == ""
    log.add("first")
    log.add("second")
    text = log.take()
    assert "first" in text and "second" in text
    assert log.take() == ""


def test_the_report_of_a_crash_is_offered(qtbot, tmp_path):
    log = CrashLog(tmp_path / "crash.log")
    log.add("Traceback: odd")
    dialog = offer_crash_report(None, log.take())
    assert "odd" in dialog.details.toPlainText()
    dialog.close()


def test_the_crash_log_has_a_limit(tmp_path):
    log = CrashLog(tmp_path / "crash.log")
    for _ in range(3):
        log.add("x" * 200_000)
    assert len(log.read()) <= 256 * 1024


def test_a_log_that_cannot_be_written_goes_to_standard_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    CrashLog(tmp_path / "file" / "crash.log").add("report")
    assert "report" in capsys.readouterr().err


def test_an_error_in_a_slot_or_a_thread_is_reported_and_logged(qtbot, tmp_path):
    reporter = ErrorReporter(CrashLog(tmp_path / "crash.log"))
    seen = []
    reporter.reported.connect(seen.append)
    undo = install_excepthooks(reporter)
    try:
        error = failed()
        sys.excepthook(type(error), error, error.__traceback__)
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        qtbot.waitUntil(lambda: len(seen) == 2)
    finally:
        undo()
    assert isinstance(seen[1], ZeroDivisionError)
    text = reporter.log.take()
    assert "KeyError" in text and "ZeroDivisionError" in text


def test_a_users_error_is_not_in_the_crash_log(qapp, tmp_path):
    reporter = ErrorReporter(CrashLog(tmp_path / "crash.log"))
    reporter.report(GlyphscopeError("The prompt is too long."))
    assert reporter.log.read() == ""


def test_the_title_of_a_question_has_room_beside_the_buttons_of_the_window_manager(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    title = "Remove the server with a longer name"
    ask(window, "question", "Remove?", "", ("Remove", Role.DestructiveRole, lambda: None), title=title)
    box = window.findChild(QMessageBox, "question")
    assert box.windowTitle() == title
    assert box.width() >= box.fontMetrics().horizontalAdvance(title) + 100
    box.reject()


def test_an_error_in_arranging_a_widget_is_reported_at_once(qtbot):
    class Unfinished(FollowsSize, QWidget):
        def _fit(self):
            raise ValueError("no parts yet")

    widget = Unfinished()
    qtbot.addWidget(widget)
    with capture_exceptions() as caught:
        widget.resize(300, 200)
        widget.show()
        assert [str(error) for _type, error, _place in caught] == ["no parts yet"]
        caught.clear()
