"""The grammar page while a user writes in it: text, errors and fixes, names."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QWidget

from fake_context import scripted
from glyphscope.registry import default_registry
from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.tools.dock import ToolsDock
from grammar_window import checked, put_cursor, show

pytestmark = pytest.mark.slow

NAMES = [
    "grammarEdit", "grammarDiagnostics", "grammarExamples", "enforcementTable", "railroadView", "grammarSummary",
    "stepTextEdit", "stepSlider", "grammarSamples", "grammarDifferences", "ruleCosts"]  # fmt: skip
GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
PLANTED = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" nummber\nnumber ::= "\\d"{1,2} | "100"\nyear ::= "20" [0-9]{2}\n'


# -- the page ---------------------------------------------------------------------------------------------------


def test_every_named_control_is_there_and_named_for_screen_readers(grammar):
    for name in NAMES:
        widget = grammar.view.findChild(QWidget, name)
        assert widget is not None, name
        assert widget.accessibleName(), name


def test_the_keyboard_reaches_every_page_and_the_docks_belong_to_the_playground(open_window, qtbot):
    window = open_window(scripted)
    tools = window.panels.docks[PanelId.TOOLS]
    assert window.findChild(QWidget, "pageRail").accessibleName()
    assert not tools.isHidden()
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert window.navigator.current is PageId.GRAMMAR
    assert tools.isHidden()
    assert window.right.isHidden()
    assert window.focusWidget() is window.page(PageId.GRAMMAR).view.edit
    qtbot.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.navigator.current is PageId.PLAYGROUND
    assert not tools.isHidden()
    assert not window.right.isHidden()


def test_a_page_is_left_while_a_field_is_open(open_window, qtbot):
    window = open_window(scripted)
    window.navigator.show(PageId.GRAMMAR)
    window.page(PageId.GRAMMAR).view.add_example_link.click()
    assert window.findChild(QWidget, "exampleField").hasFocus()
    window.navigator.show(PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: window.findChild(QWidget, "exampleField") is None)
    window.navigator.show(PageId.GRAMMAR)
    assert window.navigator.current is PageId.GRAMMAR


def test_the_docks_of_the_playground_are_restored_when_the_window_closes_on_another_page(open_window):
    window = open_window(scripted)
    window.navigator.show(PageId.GRAMMAR)
    window.shut_down()
    again = open_window(scripted)
    assert not again.panels.docks[PanelId.TOOLS].isHidden()
    assert not again.right.isHidden()


def test_the_page_fits_a_small_window(open_window, qtbot):
    window = open_window(scripted, size=(1024, 700))
    window.navigator.show(PageId.GRAMMAR)
    assert window.width() == 1024
    assert window.height() == 700
    view = window.page(PageId.GRAMMAR).view
    qtbot.waitUntil(lambda: not view.side.isVisible())
    for name in ("samples", "differences", "costs", "step"):
        view.views.button(name).click()
        assert view.stack.currentWidget() is getattr(view, name)
    for part in (view.edit, view.railroad, view.examples):
        assert part.isVisible()
        assert part.width() > 250


# -- the text ---------------------------------------------------------------------------------------------------


def test_the_tools_grammar_is_shown_and_follows_the_tools(grammar, qtbot):
    view, document = grammar.view, grammar.context.project.grammar
    assert view.edit.isReadOnly()
    assert view.edit.text().startswith("root ::=")
    assert "send" in view.edit.text()
    grammar.context.project.tools.set_enabled("send_email", False)
    qtbot.waitUntil(lambda: "send" not in view.edit.text())
    assert checked(qtbot, grammar).ok
    grammar.context.project.set_options(notation="json", shape="tool-args")
    qtbot.waitUntil(lambda: '\\"tool\\"' in view.edit.text())
    assert document.saved_work is None


def test_tools_without_a_grammar_are_explained_on_the_page(grammar, qtbot):
    for tool in grammar.context.project.tools.registry.tools:
        grammar.context.project.tools.set_enabled(tool.name, False)
    qtbot.waitUntil(lambda: "Allow at least one tool" in grammar.view.summary.text())
    assert grammar.view.edit.text() == ""
    grammar.context.project.tools.set_enabled("search", True)
    qtbot.waitUntil(lambda: "no problems" in grammar.view.summary.text())


def test_a_copy_to_edit_leaves_the_tools_and_can_be_undone(grammar, qtbot):
    view = grammar.view
    before = view.edit.text()
    view.copy_link.click()
    assert not view.edit.isReadOnly()
    view.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(view.edit, "more ::= root")
    assert checked(qtbot, grammar).text == before + "more ::= root"
    view.edit.undo()
    assert view.edit.text() == before
    view.tools_link.click()
    assert view.edit.isReadOnly()
    assert grammar.context.project.grammar.work.text == before


def test_planted_errors_are_fixed_with_the_fixes_of_the_page(grammar, qtbot):
    view = grammar.view
    found = show(qtbot, grammar, PLANTED)
    assert not found.ok
    assert {problem.severity for problem in found.problems} >= {"error", "warning"}
    for _ in range(6):
        row = next((p for p in checked(qtbot, grammar).problems if p.edits), None)
        if row is None:
            break
        view.edit.select(row.start, row.start)
        before = view.edit.text()
        qtbot.keyClick(view.edit, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
        assert view.edit.text() != before, row
    found = checked(qtbot, grammar)
    assert found.ok, found.problems
    assert "no problems" in view.summary.text()
    assert view.diagnostics.isHidden() or not any(p.severity == "error" for p in found.problems)


def test_a_click_on_a_fix_in_the_list_applies_it(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, PLANTED)
    model = view.diagnostics.model()
    row = next(row for row in range(model.rowCount()) if model.index(row, 2).data())
    before = view.edit.text()
    place = view.diagnostics.visualRect(model.index(row, 2)).center()
    qtbot.mouseClick(view.diagnostics.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert view.edit.text() != before
    view.edit.undo()
    assert view.edit.text() == before


def test_an_error_in_the_list_leads_to_its_place(grammar, qtbot):
    view = grammar.view
    found = show(qtbot, grammar, PLANTED)
    view.diagnostics.selectRow(0)
    view.diagnostics.setFocus()
    qtbot.keyClick(view.diagnostics, Qt.Key.Key_Return)
    worst = next(p for p in found.problems if p.severity == "error")
    assert view.edit.textCursor().position() == worst.start
    assert view.edit.hasFocus()


def test_a_fix_of_an_older_text_is_not_applied(grammar, qtbot):
    view = grammar.view
    problem = next(p for p in show(qtbot, grammar, PLANTED).problems if p.edits)
    view.edit.moveCursor(QTextCursor.MoveOperation.Start)
    view.edit.insertPlainText("# a line before\n")
    text = view.edit.text()
    view.edit.fixRequested.emit(problem)
    assert view.edit.text() == text


def test_a_fix_in_the_tools_grammar_is_not_applied(grammar, qtbot):
    view = grammar.view
    text = view.edit.text()
    view.edit.fixRequested.emit(GrammarProblem("error", "x", "x", 1, 1, 0, 4, "x", ((0, 4, ""),)))
    assert view.edit.text() == text
    assert view.notice.isVisible()


@pytest.fixture
def schema_edit(qtbot):
    dock = ToolsDock(RegistryDocument(default_registry()))
    qtbot.addWidget(dock)
    dock.show()
    dock.tabs.setCurrentIndex(1)
    yield dock.schema.editor
    end_work(dock)


@pytest.mark.parametrize("editor", ["grammar", "schema"])
@pytest.mark.qt_log_ignore(
    "This plugin does not support (raise|grabbing)", extend=True
)  # of the offscreen platform: popups
def test_the_menu_of_an_editor_opens_and_is_deleted_afterwards(request, qtbot, editor):
    """A menu with a nested event loop returns only when it is closed, in a window that may be closed before."""
    if editor == "grammar":
        edit = request.getfixturevalue("grammar").view.edit
    else:
        edit = request.getfixturevalue("schema_edit")
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, edit.mapToGlobal(place))
    QApplication.sendEvent(edit.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert menu is not None and menu.actions()
    with qtbot.waitSignal(menu.destroyed):
        menu.close()


def test_a_long_text_is_edited_without_loss(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, 'root ::= "a"\n')
    text = "\n".join(
        f'rule-{number} ::= "text" [a-z] rule-{number + 1} # a comment' for number in range(20_000)
    )
    view.edit.selectAll()
    view.edit.insertPlainText(text)
    assert view.edit.text() == text
    view.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(view.edit, "x")
    assert view.edit.text() == text + "x"
    qtbot.waitUntil(lambda: "rules" in view.summary.text())


def test_any_invalid_text_is_reported_on_the_page(grammar, qtbot):
    for text in (
        "", "\x00", "root", "::=", '"' * 50, "(" * 300, "é😀 ::= [", "root ::= a\u00a0b", "\u2028\ud800",
    ):  # fmt: skip
        found = show(qtbot, grammar, text)
        assert not found.ok and found.problems, text
        assert grammar.view.diagnostics.isVisible(), text


# -- names in the editor ------------------------------------------------------------------------------------------


def test_a_rules_name_is_completed(grammar, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, GOOD)
    put_cursor(edit, 'pair "}"', 4)
    qtbot.keyClicks(edit, " nu")
    assert edit.completer.is_open
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert 'pair number "}"' in edit.text()
    assert not edit.completer.is_open
    qtbot.keyClicks(edit, " ")
    qtbot.keyClick(edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert edit.completer.list.count() == 3
    qtbot.keyClick(edit, Qt.Key.Key_Down)
    qtbot.keyClick(edit, Qt.Key.Key_Tab)
    assert 'pair number pair "}"' in edit.text()


def test_names_are_offered_only_where_they_can_be_used(grammar, qtbot):
    edit = grammar.view.edit
    for place in ('"{', "[a-z", "# pa", "pa"):
        show(qtbot, grammar, f'root ::= pair\npair ::= "x"\n# {len(place)}\n')  # each text is another one
        edit.moveCursor(QTextCursor.MoveOperation.End)
        qtbot.keyClicks(edit, place + "pair")
        assert not edit.completer.is_open, place


def test_the_definition_of_a_rule_is_found(grammar, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, '# number ::= no\n"number ::= no"\n' + GOOD)
    put_cursor(edit, '=" number', 4)
    qtbot.keyClick(edit, Qt.Key.Key_F12)
    assert edit.textCursor().selectedText() == "number"
    assert edit.textCursor().blockNumber() == 4


def test_a_rule_is_renamed_everywhere_except_in_literals(grammar, qtbot):
    edit = grammar.view.edit
    text = 'root ::= "{" pair "pair" pair2 # pair\npair ::= [pair]\npair2 ::= pair\n'
    show(qtbot, grammar, text)
    put_cursor(edit, "pair ::=", 1)
    qtbot.keyClick(edit, Qt.Key.Key_F2)
    for wrong in ("no good", "", "a_b", "é"):  # names that llama.cpp does not accept
        edit.rename_field.setText(wrong)
        qtbot.keyClick(edit.rename_field, Qt.Key.Key_Return)
        assert edit.text() == text
    edit.rename_field.setText("member")
    qtbot.keyClick(edit.rename_field, Qt.Key.Key_Return)
    assert edit.text() == 'root ::= "{" member "pair" pair2 # pair\nmember ::= [pair]\npair2 ::= member\n'
    edit.undo()
    assert edit.text() == text
