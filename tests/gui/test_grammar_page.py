"""The grammar page as somebody uses it: text, mistakes and corrections, diagram, examples, steps, links, files."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from glyphscope.models import ScriptedModel
from glyphscope.sessions import GrammarExample, load_project, places
from glyphscope_gui.grammar_wiring import PAGE
from glyphscope_gui.main_window import MainWindow
from glyphscope_gui.models.grammar_roles import PILL_ROLE
from glyphscope_gui.parts import make_parts
from glyphscope_gui.theme import ThemeManager

CALL = '{action="search" query="AI news" max_results=10}'
NAMES = [
    "grammarEdit", "grammarDiagnostics", "grammarExamples", "enforcementTable", "railroadView", "grammarSummary",
    "stepTextEdit", "stepSlider", "grammarSamples", "grammarDifferences", "ruleCosts", "pageRail"]  # fmt: skip
GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
PLANTED = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" nummber\nnumber ::= "\\d"{1,2} | "100"\nyear ::= "20" [0-9]{2}\n'


@pytest.fixture
def make(qapp, qtbot):
    made = []

    def build(size=(1440, 900), page=PAGE):
        owner = QObject()
        parts = make_parts(places(), owner, lambda _name, **_options: ScriptedModel(CALL))
        window = MainWindow(parts, ThemeManager(qapp, "light", parent=owner))
        window.resize(*size)
        window.show()
        window.start()
        qtbot.waitUntil(lambda: window.runs.model.phase in ("ready", "failed"))
        made.append((window, owner))
        if page != "playground":
            window.pages.show(page)
            qtbot.waitUntil(lambda: window.grammar.bench.last is not None)
        return window

    yield build
    for window, owner in made:
        window.shut_down()
        window.deleteLater()
        owner.deleteLater()
    qtbot.wait(1)


def show(qtbot, window, text):
    """The user's own text, checked."""
    window.parts.project.grammar.open_text(text, "")
    return checked(qtbot, window)


def checked(qtbot, window):
    qtbot.waitUntil(
        lambda: (
            window.grammar.bench.last is not None
            and window.grammar.bench.last.text == window.parts.project.grammar.text
        )
    )
    return window.grammar.bench.last


def put_cursor(edit, text, offset=0):
    cursor = edit.textCursor()
    cursor.setPosition(edit.text().index(text) + offset)
    edit.setTextCursor(cursor)


def add(window, text, matches=True):
    document = window.parts.project.grammar
    document.set_examples((*document.work.examples, GrammarExample(text, matches)))


def result(window, row):
    return window.examples.index(row, 2).data(PILL_ROLE)


# -- the page ---------------------------------------------------------------------------------------------------


def test_a_name_of_the_contract_is_missing_or_unnamed_for_screen_readers(make):
    window = make()
    for name in NAMES:
        widget = window.findChild(QWidget, name)
        assert widget is not None, name
        assert widget.accessibleName(), name


def test_the_keyboard_does_not_reach_a_page_or_the_playgrounds_docks_stay_in_the_way(make, qtbot):
    window = make(page="playground")
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


def test_a_page_is_left_with_a_field_open_that_is_gone_when_one_comes_back(make, qtbot):
    window = make()
    window.grammar_page.add_example_link.click()
    assert window.findChild(QWidget, "exampleField").hasFocus()
    window.pages.show("playground")
    qtbot.waitUntil(lambda: window.findChild(QWidget, "exampleField") is None)
    window.pages.show(PAGE)
    assert window.pages.current == PAGE


def test_the_docks_of_the_playground_are_lost_when_the_window_closes_on_another_page(make):
    window = make()
    window.shut_down()
    again = make(page="playground")
    assert not again.left[0].isHidden()
    assert not again.right.isHidden()


def test_the_page_does_not_fit_a_small_window(make):
    window = make(size=(1024, 700))
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


def test_the_tools_grammar_is_not_shown_or_does_not_follow_the_tools(make, qtbot):
    window = make()
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


def test_tools_that_give_no_grammar_leave_the_page_without_a_word(make, qtbot):
    window = make()
    for tool in window.parts.document.registry.tools:
        window.parts.document.set_enabled(tool.name, False)
    qtbot.waitUntil(lambda: "Allow at least one tool" in window.grammar_page.summary.text())
    assert window.grammar_page.edit.text() == ""
    window.parts.document.set_enabled("search", True)
    qtbot.waitUntil(lambda: "no mistakes" in window.grammar_page.summary.text())


def test_a_copy_to_edit_changes_the_tools_or_cannot_be_undone(make, qtbot):
    window = make()
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


def test_three_planted_mistakes_are_not_mended_with_what_the_page_offers(make, qtbot):
    window = make()
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


def test_a_click_on_a_correction_in_the_list_does_nothing(make, qtbot):
    window = make()
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


def test_a_mistake_in_the_list_does_not_lead_to_its_place(make, qtbot):
    window = make()
    page = window.grammar_page
    found = show(qtbot, window, PLANTED)
    page.diagnostics.selectRow(0)
    page.diagnostics.setFocus()
    qtbot.keyClick(page.diagnostics, Qt.Key.Key_Return)
    worst = next(p for p in found.problems if p.severity == "error")
    assert page.edit.textCursor().position() == worst.start
    assert page.edit.hasFocus()


def test_a_fix_of_an_older_text_hits_the_wrong_place(make, qtbot):
    window = make()
    page = window.grammar_page
    problem = next(p for p in show(qtbot, window, PLANTED).problems if p.edits)
    page.edit.moveCursor(QTextCursor.MoveOperation.Start)
    page.edit.insertPlainText("# a line before\n")
    text = page.edit.text()
    page.edit.fixWanted.emit(problem)
    assert page.edit.text() == text


def test_a_mistake_in_the_tools_grammar_is_mended_behind_the_tools_back(make, qtbot):
    window = make()
    page = window.grammar_page
    text = page.edit.text()
    from glyphscope_gui.models.grammar_problems import GrammarProblem

    page.edit.fixWanted.emit(GrammarProblem("error", "x", "x", 1, 1, 0, 4, "x", ((0, 4, ""),)))
    assert page.edit.text() == text
    assert page.notice.isVisible()


def test_a_long_text_holds_up_the_window_or_loses_a_character(make, qtbot):
    window = make()
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
    qtbot.waitUntil(lambda: "rules" in page.summary.text(), timeout=30_000)


@pytest.mark.parametrize(
    "text", ["", "\x00", "root", "::=", '"' * 50, "(" * 300, "é😀 ::= [", "root ::= a\u00a0b", "\u2028\ud800"]
)
def test_some_text_stops_the_page(make, qtbot, text):
    window = make()
    found = show(qtbot, window, text)
    assert not found.ok
    assert found.problems
    assert window.grammar_page.diagnostics.isVisible()


# -- the diagram, examples, steps ---------------------------------------------------------------------------------


def test_the_diagram_does_not_follow_the_cursor_or_a_click_on_a_box_goes_nowhere(make, qtbot):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    put_cursor(page.edit, "pair ::=")
    qtbot.waitUntil(lambda: page.railroad.drawing is not None and page.railroad.drawing.rule == "pair")
    assert "pair" in page.rule_card.heading.title.text()
    page.railroad.setFocus()
    qtbot.keyClick(page.railroad, Qt.Key.Key_Right)
    qtbot.keyClick(page.railroad, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.railroad.drawing.rule == "number")
    assert page.edit.rule == "number"


def test_an_example_is_not_judged_as_one_types_or_does_not_say_where_it_fails(make, qtbot):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    add(window, "{a=10}")
    add(window, "{a=101}")
    add(window, "{a=101}", matches=False)
    add(window, "{a=")
    qtbot.waitUntil(lambda: result(window, 3) is not None)
    assert result(window, 0)[0] == "✓"
    assert result(window, 1)[0].startswith("✕ fails at 5: ")
    assert result(window, 2) == ("✓ fails at 5", "holds")
    assert result(window, 3)[0].startswith("✕ not complete: ")
    assert "2 of 4" in page.example_card.heading.hint.text()
    put_cursor(page.edit, '"100"', 1)
    qtbot.keyClicks(page.edit, '101" | "')
    qtbot.waitUntil(lambda: result(window, 1) is not None and result(window, 1)[0] == "✓")
    assert result(window, 2)[0] == "✕ is accepted"


def test_examples_cannot_be_written_by_keyboard_alone(make, qtbot):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    page.examples.setFocus()
    page.add_example_link.click()
    field = window.findChild(QWidget, "exampleField")
    qtbot.keyClicks(field, "{b=7}")
    assert [e.text for e in window.examples.examples] == ["{b=7}"]
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: (result(window, 0) or ("",))[0] == "✓")
    page.examples.selectRow(0)
    qtbot.keyClick(page.examples, Qt.Key.Key_Space)
    assert not window.examples.examples[0].matches
    qtbot.keyClick(page.examples, Qt.Key.Key_Delete)
    assert window.examples.examples == ()


def test_a_new_example_that_was_thought_better_of_stays(make, qtbot):
    window = make()
    show(qtbot, window, GOOD)
    window.grammar_page.add_example_link.click()
    field = window.findChild(QWidget, "exampleField")
    qtbot.keyClicks(field, "{b")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.examples.examples == ())


def test_the_last_run_cannot_become_an_example(make, qtbot):
    window = make()
    assert not window.grammar_page.add_run_link.isEnabled()
    with qtbot.waitSignal(window.runs.ended, timeout=10_000):
        window.actions_.run.trigger()
    assert window.pages.current == "playground"
    window.pages.show(PAGE)
    window.grammar_page.add_run_link.click()
    assert window.examples.examples == (GrammarExample(CALL),)
    qtbot.waitUntil(lambda: (result(window, 0) or ("",))[0] == "✓")


def test_a_step_does_not_show_its_rules_and_what_may_come_next(make, qtbot):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    page.step.set_text("{a=1}")
    page.step.slider.setValue(4)
    qtbot.waitUntil(lambda: "number" in page.step.rules.text())
    assert page.step.rules.text().index("root") < page.step.rules.text().index("number")
    assert "0-9" in page.step.next.text()
    assert "}" in page.step.next.text()
    assert page.step_card.heading.hint.text() == "character 4 of 5"
    page.step.set_text("{a=x")
    qtbot.waitUntil(lambda: "fails at 3" in page.step.next.text())
    page.step.ruleChosen.emit("pair")
    assert page.edit.rule == "pair"


# -- links to the tools -------------------------------------------------------------------------------------------


def test_a_rule_does_not_lead_to_its_argument_or_the_argument_not_to_its_rule(make, qtbot):
    window = make()
    page = window.grammar_page
    rule = next(r for r, o in window.grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    page.edit.go_to_rule(rule)
    qtbot.waitUntil(lambda: page.railroad.drawing is not None and page.railroad.drawing.rule == rule)
    assert "max_results · minimum 1, maximum 100" in page.origin.words
    assert "max_results" in page.edit.rule_tip(rule)
    page.origin.click()
    assert not window.left[0].isHidden()
    assert window.tools_page.tree.selected() == ("search", "max_results")
    assert page.edit.rule == rule
    window.tools_page.show_argument("search", "query")
    assert window.grammar.bench.origins[page.edit.rule].pointer == "/properties/query"


def test_the_enforcement_of_a_constraint_is_not_shown(make, qtbot):
    window = make()
    page = window.grammar_page
    table = page.enforcement
    with qtbot.waitSignal(
        window.grammar.bench.proved, timeout=60_000, check_params_cb=lambda _found, done: done
    ):
        pass
    rule = next(r for r, o in window.grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    page.edit.go_to_rule(rule)
    qtbot.waitUntil(lambda: page.railroad.drawing is not None and page.railroad.drawing.rule == rule)
    model = table.model()
    words = [model.index(row, 0).data() for row in range(model.rowCount())]
    row = words.index("max_results · maximum 100")
    assert model.index(row, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "enforced"
    assert window.tools_page.form._kinds["search", "/properties/max_results/maximum"] == "enforced"
    show(qtbot, window, GOOD)
    qtbot.waitUntil(lambda: not window.grammar.bench.is_busy, timeout=20_000)
    assert table.isHidden()
    window.parts.project.set_options(constraint="off")
    assert window.tools_page.form._kinds["search", "/properties/max_results/maximum"] == "checked"


def test_what_an_edit_lets_through_is_not_told(make, qtbot):
    window = make()
    page = window.grammar_page
    page.copy_link.click()
    text = page.edit.text()
    place = text.index('"100"')
    page.edit.select(place, place + 5)
    page.edit.insertPlainText('"1" [0-9]{2}')
    model = page.enforcement.model()

    def told():
        rows = {model.index(row, 0).data(): row for row in range(model.rowCount())}
        row = next((row for words, row in rows.items() if words.endswith("max_results · maximum 100")), None)
        return None if row is None else model.index(row, 1).data(Qt.ItemDataRole.AccessibleTextRole)

    qtbot.waitUntil(lambda: told() == "leaks 101", timeout=20_000)
    assert model.columnCount() == 2
    qtbot.waitUntil(lambda: bool(page.differences.texts()))
    assert [text for _, text in page.differences._model.rows] == [
        '{action="search" query="a" max_results=101}'
    ]


def test_what_is_saved_is_still_told_as_a_difference(make, qtbot, tmp_path):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    put_cursor(page.edit, '"100"', 1)
    qtbot.keyClicks(page.edit, "7")
    qtbot.waitUntil(lambda: page.differences.texts() == ["{a=7100}", "{a=100}"])
    assert window.parts.project.save(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: page.differences.texts() == [])


def test_the_help_is_not_there_or_names_no_key(make):
    window = make()
    window.grammar_page.help_link.click()
    assert window.grammar_page.help.isVisible()
    words = window.grammar_page.help.label.text()
    for action in ("fix_action", "next_action", "complete_action", "definition_action", "rename_action"):
        assert getattr(window.grammar_page.edit, action).shortcut().toString() in words
    window.grammar_page.help.close()


def test_a_file_that_is_dropped_is_taken_for_text_or_a_model_for_a_grammar(make, qtbot, tmp_path):
    window = make()
    page = window.grammar_page
    for name, taken in (("a.gbnf", True), ("a.gguf", False)):
        path = tmp_path / name
        path.write_text(GOOD)
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        assert not page.edit.canInsertFromMimeData(data)
        copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        enter = QDragEnterEvent(QPoint(5, 5), copy, data, left, none)
        enter.ignore()
        page.dragEnterEvent(enter)
        assert enter.isAccepted() == taken
        page.dropEvent(QDropEvent(QPointF(5, 5), copy, data, left, none))
    qtbot.waitUntil(lambda: page.edit.text() == GOOD)
    assert page.edit_card.heading.hint.text() == "a.gbnf"


# -- files and projects -------------------------------------------------------------------------------------------


def test_a_grammar_is_not_opened_saved_or_kept_in_the_project(make, qtbot, tmp_path):
    window = make()
    page, document = window.grammar_page, window.parts.project.grammar
    source = tmp_path / "a.gbnf"
    source.write_bytes(GOOD.encode().replace(b"\n", b"\r\n"))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(source))])
    page.fileDropped.emit(str(source))
    qtbot.waitUntil(lambda: page.edit.text() == GOOD)
    page.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(page.edit, "# mine")
    add(window, "{a=10}")
    window.grammar.files.save(str(tmp_path / "b.gbnf"))
    assert (tmp_path / "b.gbnf").read_text() == GOOD + "# mine"
    assert "b.gbnf" in page.edit_card.heading.hint.text()
    assert window.parts.project.is_dirty
    assert window.parts.project.save(tmp_path / "p.glyphscope")
    assert not window.parts.project.is_dirty
    kept = load_project(tmp_path / "p.glyphscope").project.grammar
    assert (kept.text, kept.examples) == (GOOD + "# mine", (GrammarExample("{a=10}"),))
    window.wiring._new_project()
    assert page.edit.isReadOnly()
    window.parts.project.open(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: page.edit.text() == GOOD + "# mine")
    assert document.work == kept


def test_a_file_that_is_no_text_is_not_told(make, qtbot, tmp_path):
    window = make()
    path = tmp_path / "a.gbnf"
    path.write_bytes(b'root ::= "\xff\xfe"')
    window.grammar.files.open(str(path))
    qtbot.waitUntil(window.grammar_page.notice.isVisible)
    assert "UTF-8" in window.grammar_page.notice.label.text()


def test_the_users_own_text_is_lost_to_a_copy_of_the_tools(make, qtbot):
    window = make()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    page.tools_link.click()
    page.copy_link.click()
    assert page.edit.text() != GOOD
    page.notice.action.click()
    assert page.edit.text() == GOOD


def test_a_run_is_not_held_to_the_users_own_text(make, qtbot):
    window = make()
    page = window.grammar_page
    assert window.wiring._request().grammar is None
    show(qtbot, window, GOOD)
    assert window.wiring._request().grammar is None
    page.use_link.click()
    assert window.wiring._request().grammar == GOOD
    window.parts.project.set_options(constraint="off")
    assert window.wiring._request().grammar is None
    page.use_link.click()
    page.use_link.click()
    assert window.parts.project.options.constraint == "gbnf"
    assert window.header.constraint.value == "gbnf"
    page.tools_link.click()
    assert window.wiring._request().grammar is None


# -- names in the editor ------------------------------------------------------------------------------------------


def test_a_rules_name_is_not_completed(make, qtbot):
    window = make()
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


@pytest.mark.parametrize("place", ['"{', "[a-z", "# pa", "pa"])
def test_names_are_offered_where_none_can_stand(make, qtbot, place):
    window = make()
    edit = window.grammar_page.edit
    show(qtbot, window, 'root ::= pair\npair ::= "x"\n')
    edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(edit, place + "pair")
    assert not edit.completer.is_open


def test_the_definition_of_a_rule_is_not_found(make, qtbot):
    window = make()
    edit = window.grammar_page.edit
    show(qtbot, window, '# number ::= no\n"number ::= no"\n' + GOOD)
    put_cursor(edit, '=" number', 4)
    qtbot.keyClick(edit, Qt.Key.Key_F12)
    assert edit.textCursor().selectedText() == "number"
    assert edit.textCursor().blockNumber() == 4


def test_a_rule_is_not_renamed_everywhere_or_also_in_texts(make, qtbot):
    window = make()
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
