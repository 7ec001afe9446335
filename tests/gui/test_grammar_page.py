"""The grammar page as somebody writes in it: text, mistakes and corrections, names."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QWidget

from glyphscope_gui.grammar.presenter import PAGE
from grammar_window import checked, put_cursor, show

NAMES = [
    "grammarEdit", "grammarDiagnostics", "grammarExamples", "enforcementTable", "railroadView", "grammarSummary",
    "stepTextEdit", "stepSlider", "grammarSamples", "grammarDifferences", "ruleCosts", "pageRail"]  # fmt: skip
GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
PLANTED = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" nummber\nnumber ::= "\\d"{1,2} | "100"\nyear ::= "20" [0-9]{2}\n'


# -- the page ---------------------------------------------------------------------------------------------------


def test_a_name_of_the_contract_is_missing_or_unnamed_for_screen_readers(make_page):
    window = make_page()
    for name in NAMES:
        widget = window.findChild(QWidget, name)
        assert widget is not None, name
        assert widget.accessibleName(), name


def test_the_keyboard_does_not_reach_a_page_or_the_playgrounds_docks_stay_in_the_way(make_page, qtbot):
    window = make_page(page="playground")
    assert not window.left[0].isHidden()
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.current == PAGE
    assert window.left[0].isHidden()
    assert window.right.isHidden()
    assert window.focusWidget() is window.grammar_page.edit
    qtbot.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.current == "playground"
    assert not window.left[0].isHidden()
    assert not window.right.isHidden()


def test_a_page_is_left_with_a_field_open_that_is_gone_when_one_comes_back(make_page, qtbot):
    window = make_page()
    window.grammar_page.add_example_link.click()
    assert window.findChild(QWidget, "exampleField").hasFocus()
    window.pages.show("playground")
    qtbot.waitUntil(lambda: window.findChild(QWidget, "exampleField") is None)
    window.pages.show(PAGE)
    assert window.pages.current == PAGE


@pytest.mark.slow
def test_the_docks_of_the_playground_are_lost_when_the_window_closes_on_another_page(make_page):
    window = make_page()
    window.shut_down()
    again = make_page(page="playground")
    assert not again.left[0].isHidden()
    assert not again.right.isHidden()


def test_the_page_does_not_fit_a_small_window(make_page):
    window = make_page(size=(1024, 700))
    assert window.width() == 1024
    assert window.height() == 700
    page = window.grammar_page
    assert not page.side.isVisible()
    for name in ("samples", "differences", "costs", "step"):
        page.views.button(name).click()
        assert page.stack.currentWidget() is getattr(page, name)
    for part in (page.edit, page.railroad, page.examples):
        assert part.isVisible()
        assert part.width() > 250


# -- the text ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_tools_grammar_is_not_shown_or_does_not_follow_the_tools(make_page, qtbot):
    window = make_page()
    page, document = window.grammar_page, window.parts.project.grammar
    assert page.edit.isReadOnly()
    assert page.edit.text().startswith("root ::=")
    assert "send" in page.edit.text()
    window.parts.document.set_enabled("send_email", False)
    qtbot.waitUntil(lambda: "send" not in page.edit.text())
    assert checked(qtbot, window).ok
    window.parts.project.set_options(notation="json", shape="tool-args")
    qtbot.waitUntil(lambda: '\\"tool\\"' in page.edit.text())
    assert document.kept is None


@pytest.mark.slow
def test_tools_that_give_no_grammar_leave_the_page_without_a_word(make_page, qtbot):
    window = make_page()
    for tool in window.parts.document.registry.tools:
        window.parts.document.set_enabled(tool.name, False)
    qtbot.waitUntil(lambda: "Allow at least one tool" in window.grammar_page.summary.text())
    assert window.grammar_page.edit.text() == ""
    window.parts.document.set_enabled("search", True)
    qtbot.waitUntil(lambda: "no mistakes" in window.grammar_page.summary.text())


@pytest.mark.slow
def test_a_copy_to_edit_changes_the_tools_or_cannot_be_undone(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    before = page.edit.text()
    page.copy_link.click()
    assert not page.edit.isReadOnly()
    page.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(page.edit, "more ::= root")
    assert checked(qtbot, window).text == before + "more ::= root"
    page.edit.undo()
    assert page.edit.text() == before
    page.tools_link.click()
    assert page.edit.isReadOnly()
    assert window.parts.project.grammar.work.text == before


@pytest.mark.slow
def test_three_planted_mistakes_are_not_mended_with_what_the_page_offers(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    found = show(qtbot, window, PLANTED)
    assert not found.ok
    assert {problem.severity for problem in found.problems} >= {"error", "warning"}
    for _ in range(6):
        row = next((p for p in checked(qtbot, window).problems if p.edits), None)
        if row is None:
            break
        page.edit.select(row.start, row.start)
        before = page.edit.text()
        qtbot.keyClick(page.edit, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
        assert page.edit.text() != before, row
    found = checked(qtbot, window)
    assert found.ok, found.problems
    assert "no mistakes" in page.summary.text()
    assert page.diagnostics.isHidden() or not any(p.severity == "error" for p in found.problems)


def test_a_click_on_a_correction_in_the_list_does_nothing(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    show(qtbot, window, PLANTED)
    model = page.diagnostics.model()
    row = next(row for row in range(model.rowCount()) if model.index(row, 2).data())
    before = page.edit.text()
    place = page.diagnostics.visualRect(model.index(row, 2)).center()
    qtbot.mouseClick(page.diagnostics.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.edit.text() != before
    page.edit.undo()
    assert page.edit.text() == before


def test_a_mistake_in_the_list_does_not_lead_to_its_place(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    found = show(qtbot, window, PLANTED)
    page.diagnostics.selectRow(0)
    page.diagnostics.setFocus()
    qtbot.keyClick(page.diagnostics, Qt.Key.Key_Return)
    worst = next(p for p in found.problems if p.severity == "error")
    assert page.edit.textCursor().position() == worst.start
    assert page.edit.hasFocus()


def test_a_fix_of_an_older_text_hits_the_wrong_place(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    problem = next(p for p in show(qtbot, window, PLANTED).problems if p.edits)
    page.edit.moveCursor(QTextCursor.MoveOperation.Start)
    page.edit.insertPlainText("# a line before\n")
    text = page.edit.text()
    page.edit.fixWanted.emit(problem)
    assert page.edit.text() == text


def test_a_mistake_in_the_tools_grammar_is_mended_behind_the_tools_back(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    text = page.edit.text()
    from glyphscope_gui.grammar.problems import GrammarProblem

    page.edit.fixWanted.emit(GrammarProblem("error", "x", "x", 1, 1, 0, 4, "x", ((0, 4, ""),)))
    assert page.edit.text() == text
    assert page.notice.isVisible()


@pytest.mark.slow
@pytest.mark.parametrize("editor", ["grammar", "schema"])
@pytest.mark.qt_log_ignore(
    "This plugin does not support (raise|grabbing)", extend=True
)  # of the screen that is none: popups
def test_a_menu_of_an_editor_stops_what_the_window_does_or_stays_behind(make_page, qtbot, editor):
    """A menu with a loop of its own returns only when it is closed, in a window that may be closed before."""
    window = make_page() if editor == "grammar" else make_page(page="playground")
    edit = window.grammar_page.edit if editor == "grammar" else window.tools_page.schema.editor
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, edit.mapToGlobal(place))
    QApplication.sendEvent(edit.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert menu is not None and menu.actions()
    with qtbot.waitSignal(menu.destroyed):
        menu.close()


def test_a_long_text_holds_up_the_window_or_loses_a_character(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    show(qtbot, window, 'root ::= "a"\n')
    text = "\n".join(
        f'rule-{number} ::= "text" [a-z] rule-{number + 1} # a comment' for number in range(20_000)
    )
    page.edit.selectAll()
    page.edit.insertPlainText(text)
    assert page.edit.text() == text
    page.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(page.edit, "x")
    assert page.edit.text() == text + "x"
    qtbot.waitUntil(lambda: "rules" in page.summary.text())


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "\x00", "root", "::=", '"' * 50, "(" * 300, "é😀 ::= [", "root ::= a\u00a0b", "\u2028\ud800"]
)
def test_some_text_stops_the_page(make_page, qtbot, text):
    window = make_page()
    found = show(qtbot, window, text)
    assert not found.ok
    assert found.problems
    assert window.grammar_page.diagnostics.isVisible()


# -- names in the editor ------------------------------------------------------------------------------------------


def test_a_rules_name_is_not_completed(make_page, qtbot):
    window = make_page()
    edit = window.grammar_page.edit
    show(qtbot, window, GOOD)
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


@pytest.mark.slow
@pytest.mark.parametrize("place", ['"{', "[a-z", "# pa", "pa"])
def test_names_are_offered_where_none_can_stand(make_page, qtbot, place):
    window = make_page()
    edit = window.grammar_page.edit
    show(qtbot, window, 'root ::= pair\npair ::= "x"\n')
    edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(edit, place + "pair")
    assert not edit.completer.is_open


def test_the_definition_of_a_rule_is_not_found(make_page, qtbot):
    window = make_page()
    edit = window.grammar_page.edit
    show(qtbot, window, '# number ::= no\n"number ::= no"\n' + GOOD)
    put_cursor(edit, '=" number', 4)
    qtbot.keyClick(edit, Qt.Key.Key_F12)
    assert edit.textCursor().selectedText() == "number"
    assert edit.textCursor().blockNumber() == 4


def test_a_rule_is_not_renamed_everywhere_or_also_in_texts(make_page, qtbot):
    window = make_page()
    edit = window.grammar_page.edit
    text = 'root ::= "{" pair "pair" pair2 # pair\npair ::= [pair]\npair2 ::= pair\n'
    show(qtbot, window, text)
    put_cursor(edit, "pair ::=", 1)
    qtbot.keyClick(edit, Qt.Key.Key_F2)
    qtbot.keyClicks(edit.rename_field, "no good")
    qtbot.keyClick(edit.rename_field, Qt.Key.Key_Return)
    assert edit.text() == text
    edit.rename_field.setText("member")
    qtbot.keyClick(edit.rename_field, Qt.Key.Key_Return)
    assert edit.text() == 'root ::= "{" member "pair" pair2 # pair\nmember ::= [pair]\npair2 ::= member\n'
    edit.undo()
    assert edit.text() == text
