"""A new user's first minutes in the real window, by object names: each step shows the next possible ones."""

from __future__ import annotations

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from glyphscope_gui.shared.page_ids import PageId

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(600)]
RUN_MS = 240_000


def click(qtbot, window, name):
    button = window.findChild(QtWidgets.QPushButton, name)
    assert button.isVisible() and button.isEnabled(), name
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def ended(qtbot, window, begin):
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        begin()
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    return window.runs.state


def act(window, name):
    action = window.findChild(QAction, name)
    assert action.isEnabled(), name
    action.trigger()


def test_a_new_user_gets_from_the_first_start_to_an_exported_run(qtbot, window, tmp_path):
    window.start()
    window.help.welcome()
    assert window.findChild(QtWidgets.QDialog, "modelDialog") is None, "no dialog over a window that works"
    tour = window.findChild(QtWidgets.QFrame, "tourCard")
    places = set()
    for _ in range(5):
        assert tour.isVisible() and tour.title.text() and tour.words.text()
        places.add(tour.next_button.mapTo(window, tour.next_button.rect().bottomRight()).toTuple())
        click(qtbot, window, "tourNext")
    assert not tour.isVisible()
    assert len(places) == 1, "Next stays under the pointer"

    page = window.page(PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: window.runs.model.phase == "ready", timeout=RUN_MS)
    first = ended(qtbot, window, lambda: click(qtbot, window, "runButton"))
    assert first.outcome == "valid" and "valid call" in page.view.verdict.title.text()

    evidence = page.evidence
    token, row = next(
        (token.step.index, place)
        for token in first.tokens
        for place, one in enumerate(token.step.alternatives)
        if one.text == "0" and one.allowed is False and not token.step.forced
    )
    page.view.tokens.choose(token)
    if row >= evidence.alternatives_model.rowCount():
        evidence.all_button.click()
    evidence.alternatives.selectRow(row)
    qtbot.waitUntil(evidence.branch_bar.box.relax_button.isVisible)
    assert "minimum" in evidence.branch_bar.box.reason.text()
    branch = ended(qtbot, window, lambda: click(qtbot, window, "branchRelaxButton"))
    assert branch.started.request.relaxed and window.findChild(QtWidgets.QWidget, "branchPanel").isVisible()

    window.panels.tools.actions_.add_argument.trigger()
    window.panels.tools.edit()
    name = window.panels.tools.form.argument_form.name_field
    qtbot.keyClicks(name, "language")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    tool = window.panels.tools.tree.selected().tool
    assert "language" in window.services.project.tools.registry.get(tool).parameters["properties"]

    window.navigator.show(PageId.GRAMMAR)
    grammar = window.page(PageId.GRAMMAR)
    qtbot.waitUntil(lambda: grammar.bench.last is not None and not grammar.is_busy)
    grammar.view.copy_link.click()
    text = window.findChild(QtWidgets.QPlainTextEdit, "grammarEdit")
    text.setPlainText('root ::= "yes" | "no\n')
    problems = window.findChild(QtWidgets.QTableView, "grammarDiagnostics")
    qtbot.waitUntil(problems.isVisible)
    problems.selectRow(0)
    qtbot.keyClick(problems, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not problems.isVisible() and '"no"' in text.toPlainText())

    window.navigator.show(PageId.EVALUATE)
    evaluate = window.page(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not evaluate.is_busy)
    assert evaluate.view.suites_model.ticked == ("starter",)
    window.findChild(QtWidgets.QSpinBox, "evalFirst").setValue(2)
    qtbot.waitUntil(window.findChild(QtWidgets.QPushButton, "evalRunButton").isEnabled)
    click(qtbot, window, "evalRunButton")
    qtbot.waitUntil(lambda: not evaluate.is_busy, timeout=RUN_MS)
    result = evaluate.result_presenter.result
    assert result.manifest.finished
    wrong = next(sample for sample in result.samples if not sample.ok)
    evaluate.view.result.runs.openRequested.emit(wrong)
    qtbot.waitUntil(lambda: window.navigator.current is PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: bool(window.runs.state.tokens) and not window.runs.is_busy)
    assert page.view.tokens.currentIndex().isValid(), "the token of the violation is selected"

    window.actions_.share.trigger()
    qtbot.waitUntil(lambda: window.findChild(QtWidgets.QDialog, "exportDialog") is not None)
    dialog = window.findChild(QtWidgets.QDialog, "exportDialog")
    form = dialog.findChild(QtWidgets.QComboBox, "exportForm")
    form.setCurrentIndex(form.findData("pytest"))
    form.activated.emit(form.currentIndex())
    qtbot.waitUntil(lambda: "def test_" in dialog.findChild(QtWidgets.QPlainTextEdit).toPlainText())
    saved = tmp_path / "test_run.py"
    dialog.saveRequested.emit(str(saved), dialog._exported.text)
    qtbot.waitUntil(saved.is_file)
