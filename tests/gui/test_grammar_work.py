"""The grammar page as somebody works with it: diagram, examples, steps, links to the tools, files."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from glyphscope.sessions import GrammarExample, load_project
from glyphscope_gui.grammar.presenter import PAGE
from grammar_window import add, put_cursor, result, show

CALL = '{action="search" query="AI news" max_results=10}'
GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'

pytestmark = pytest.mark.slow  # whole windows: the page's own text is tried in test_grammar_page.py

# -- the diagram, examples, steps ---------------------------------------------------------------------------------


def test_the_diagram_does_not_follow_the_cursor_or_a_click_on_a_box_goes_nowhere(make_page, qtbot):
    window = make_page()
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


def test_an_example_is_not_judged_as_one_types_or_does_not_say_where_it_fails(make_page, qtbot):
    window = make_page()
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


def test_examples_cannot_be_written_by_keyboard_alone(make_page, qtbot):
    window = make_page()
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


def test_a_new_example_that_was_thought_better_of_stays(make_page, qtbot):
    window = make_page()
    show(qtbot, window, GOOD)
    window.grammar_page.add_example_link.click()
    field = window.findChild(QWidget, "exampleField")
    qtbot.keyClicks(field, "{b")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.examples.examples == ())


def test_the_last_run_cannot_become_an_example(make_page, qtbot):
    window = make_page()
    assert not window.grammar_page.add_run_link.isEnabled()
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    assert window.pages.current == "playground"
    window.pages.show(PAGE)
    window.grammar_page.add_run_link.click()
    assert window.examples.examples == (GrammarExample(CALL),)
    qtbot.waitUntil(lambda: (result(window, 0) or ("",))[0] == "✓")


def test_a_step_does_not_show_its_rules_and_what_may_come_next(make_page, qtbot):
    window = make_page()
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


def test_a_rule_does_not_lead_to_its_argument_or_the_argument_not_to_its_rule(make_page, qtbot):
    window = make_page()
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


def test_the_enforcement_of_a_constraint_is_not_shown(make_page, qtbot):
    window = make_page()
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
    qtbot.waitUntil(lambda: not window.grammar.bench.is_busy)
    assert table.isHidden()
    window.parts.project.set_options(constraint="off")
    assert window.tools_page.form._kinds["search", "/properties/max_results/maximum"] == "checked"


def test_what_an_edit_lets_through_is_not_told(make_page, qtbot):
    window = make_page()
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

    qtbot.waitUntil(lambda: told() == "leaks 101")
    assert model.columnCount() == 2
    qtbot.waitUntil(lambda: bool(page.differences.texts()))
    assert [text for _, text in page.differences._model.rows] == [
        '{action="search" query="a" max_results=101}'
    ]


def test_what_is_saved_is_still_told_as_a_difference(make_page, qtbot, tmp_path):
    window = make_page()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    put_cursor(page.edit, '"100"', 1)
    qtbot.keyClicks(page.edit, "7")
    qtbot.waitUntil(lambda: page.differences.texts() == ["{a=7100}", "{a=100}"])
    assert window.parts.project.save(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: page.differences.texts() == [])


def test_the_help_is_not_there_or_names_no_key(make_page):
    window = make_page()
    window.grammar_page.help_link.click()
    assert window.grammar_page.help.isVisible()
    words = window.grammar_page.help.label.text()
    for action in ("fix_action", "next_action", "complete_action", "definition_action", "rename_action"):
        assert getattr(window.grammar_page.edit, action).shortcut().toString() in words
    window.grammar_page.help.close()


def test_a_file_that_is_dropped_is_taken_for_text_or_a_model_for_a_grammar(make_page, qtbot, tmp_path):
    window = make_page()
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


def test_a_grammar_is_not_opened_saved_or_kept_in_the_project(make_page, qtbot, tmp_path):
    window = make_page()
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


def test_a_file_that_is_no_text_is_not_told(make_page, qtbot, tmp_path):
    window = make_page()
    path = tmp_path / "a.gbnf"
    path.write_bytes(b'root ::= "\xff\xfe"')
    window.grammar.files.open(str(path))
    qtbot.waitUntil(window.grammar_page.notice.isVisible)
    assert "UTF-8" in window.grammar_page.notice.label.text()


def test_the_users_own_text_is_lost_to_a_copy_of_the_tools(make_page, qtbot):
    window = make_page()
    page = window.grammar_page
    show(qtbot, window, GOOD)
    page.tools_link.click()
    page.copy_link.click()
    assert page.edit.text() != GOOD
    page.notice.action.click()
    assert page.edit.text() == GOOD


def test_a_run_is_not_held_to_the_users_own_text(make_page, qtbot):
    window = make_page()
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
