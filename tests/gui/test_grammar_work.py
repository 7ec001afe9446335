"""Work on the grammar page: diagram, examples, steps, links to the tools, files."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from fake_context import scripted
from glyphscope.store import GrammarExample, load_project
from glyphscope_gui.project import first_project
from glyphscope_gui.shared.page_ids import PageId, PanelId
from grammar_window import add, checked, put_cursor, result, show

CALL = '{action="search" query="AI news" max_results=10}'
GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'


def texts(part):
    return [text for _, text in part.model.rows]


# -- the diagram, examples, steps ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_diagram_follows_the_cursor_and_a_box_leads_to_its_rule(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    put_cursor(view.edit, "pair ::=")
    qtbot.waitUntil(lambda: view.railroad.drawing is not None and view.railroad.drawing.rule == "pair")
    assert "pair" in view.rule_card.heading.title.text()
    view.railroad.setFocus()
    qtbot.keyClick(view.railroad, Qt.Key.Key_Right)
    qtbot.keyClick(view.railroad, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.railroad.drawing.rule == "number")
    assert view.edit.rule == "number"


@pytest.mark.slow
def test_an_example_is_checked_as_one_types_and_shows_where_it_fails(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    add(grammar, "{a=10}")
    add(grammar, "{a=101}")
    add(grammar, "{a=101}", matches=False)
    add(grammar, "{a=")
    qtbot.waitUntil(lambda: result(grammar, 3) is not None)
    assert result(grammar, 0)[0] == "✓"
    assert result(grammar, 1)[0].startswith("✕ fails at 5: ")
    assert result(grammar, 2) == ("✓ fails at 5", "holds")
    assert result(grammar, 3)[0].startswith("✕ incomplete: ")
    assert "2 of 4" in view.example_card.heading.hint.text()
    put_cursor(view.edit, '"100"', 1)
    qtbot.keyClicks(view.edit, '101" | "')
    qtbot.waitUntil(lambda: result(grammar, 1) is not None and result(grammar, 1)[0] == "✓")
    assert result(grammar, 2)[0] == "✕ is accepted"


@pytest.mark.slow
def test_examples_can_be_written_by_keyboard_alone(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    view.examples.setFocus()
    view.add_example_link.click()
    field = grammar.view.findChild(QWidget, "exampleField")
    qtbot.keyClicks(field, "{b=7}")
    assert [e.text for e in grammar.examples.examples] == ["{b=7}"]
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: (result(grammar, 0) or ("",))[0] == "✓")
    view.examples.selectRow(0)
    qtbot.keyClick(view.examples, Qt.Key.Key_Space)
    assert not grammar.examples.examples[0].matches
    qtbot.keyClick(view.examples, Qt.Key.Key_Delete)
    assert grammar.examples.examples == ()


@pytest.mark.slow
def test_escape_removes_a_new_example(grammar, qtbot):
    show(qtbot, grammar, GOOD)
    grammar.view.add_example_link.click()
    field = grammar.view.findChild(QWidget, "exampleField")
    qtbot.keyClicks(field, "{b")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: grammar.examples.examples == ())


def test_the_last_run_can_become_an_example(grammar, qtbot):
    assert not grammar.view.add_run_link.isEnabled()
    context = grammar.context
    with qtbot.waitSignal(context.runs.ended):
        grammar.run()
    assert context.navigator.current is PageId.PLAYGROUND
    context.navigator.show(PageId.GRAMMAR)
    grammar.view.add_run_link.click()
    assert grammar.examples.examples == (GrammarExample(CALL),)
    qtbot.waitUntil(lambda: (result(grammar, 0) or ("",))[0] == "✓")


@pytest.mark.slow
def test_a_step_shows_its_rules_and_the_allowed_next_characters(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    view.step.set_text("{a=1}")
    view.step.slider.setValue(4)
    qtbot.waitUntil(lambda: "0-9" in view.step.next.text())  # of this grammar, not of the previous one
    assert view.step.rules.text().index("root") < view.step.rules.text().index("number")
    assert "}" in view.step.next.text()
    assert view.step_card.heading.hint.text() == "character 4 of 5"
    view.step.set_text("{a=x")
    qtbot.waitUntil(lambda: "fails at 3" in view.step.next.text())
    view.step.rules.linkActivated.emit("pair")
    assert view.edit.rule == "pair"


# -- links to the tools -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_rule_leads_to_its_argument_and_the_argument_to_its_rule(open_window, qtbot):
    window = open_window(scripted)
    window.navigator.show(PageId.GRAMMAR)
    grammar, tools = window.page(PageId.GRAMMAR), window.panels.tools
    qtbot.waitUntil(lambda: grammar.bench.last is not None)
    view = grammar.view
    rule = next(r for r, o in grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    view.edit.go_to_rule(rule)
    qtbot.waitUntil(lambda: view.railroad.drawing is not None and view.railroad.drawing.rule == rule)
    assert "max_results · minimum 1, maximum 100" in view.origin.words
    assert "max_results" in view.edit.rule_tip(rule)
    view.origin.click()
    assert not window.panels.docks[PanelId.TOOLS].isHidden()
    assert tools.tree.selected() == ("search", "max_results")
    assert view.edit.rule == rule
    tools.show_argument("search", "query")
    assert grammar.bench.origins[view.edit.rule].pointer == "/properties/query"


@pytest.mark.slow
def test_the_enforcement_of_a_constraint_is_shown(grammar, qtbot):
    view = grammar.view
    table = view.enforcement
    with qtbot.waitSignal(grammar.bench.proved, timeout=60_000, check_params_cb=lambda _found, done: done):
        pass
    rule = next(r for r, o in grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    view.edit.go_to_rule(rule)
    qtbot.waitUntil(lambda: view.railroad.drawing is not None and view.railroad.drawing.rule == rule)
    model = table.model()
    words = [model.index(row, 0).data() for row in range(model.rowCount())]
    row = words.index("max_results · maximum 100")
    assert model.index(row, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "enforced"
    assert grammar.context.panels.badges["search", "/properties/max_results/maximum"] == "enforced"
    show(qtbot, grammar, GOOD)
    qtbot.waitUntil(lambda: not grammar.is_busy)
    assert table.isHidden()
    grammar.context.project.set_options(constraint="off")
    assert grammar.context.panels.badges["search", "/properties/max_results/maximum"] == "checked"


@pytest.mark.slow
def test_a_leak_caused_by_an_edit_is_shown(grammar, qtbot):
    view = grammar.view
    view.copy_link.click()
    text = view.edit.text()
    place = text.index('"100"')
    view.edit.select(place, place + 5)
    view.edit.insertPlainText('"1" [0-9]{2}')
    model = view.enforcement.model()

    def reported():
        rows = {model.index(row, 0).data(): row for row in range(model.rowCount())}
        row = next((row for words, row in rows.items() if words.endswith("max_results · maximum 100")), None)
        return None if row is None else model.index(row, 1).data(Qt.ItemDataRole.AccessibleTextRole)

    qtbot.waitUntil(lambda: reported() == "leaks 101")
    assert model.columnCount() == 2
    qtbot.waitUntil(lambda: bool(texts(view.differences)))
    assert [text for _, text in view.differences.model.rows] == [
        '{action="search" max_results=101 query="a"}'
    ]


@pytest.mark.slow
def test_a_saved_text_is_no_longer_shown_as_a_difference(grammar, qtbot, tmp_path):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    put_cursor(view.edit, '"100"', 1)
    qtbot.keyClicks(view.edit, "7")
    qtbot.waitUntil(lambda: texts(view.differences) == ["{a=7100}", "{a=100}"])
    assert grammar.context.project.save(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: texts(view.differences) == [])


@pytest.mark.slow
def test_the_help_names_the_keys(grammar):
    grammar.view.help_link.click()
    assert grammar.view.help.isVisible()
    words = grammar.view.help.label.text()
    for action in ("fix_action", "next_action", "complete_action", "definition_action", "rename_action"):
        assert getattr(grammar.view.edit, action).shortcut().toString() in words
    grammar.view.help.close()


@pytest.mark.slow
def test_a_dropped_grammar_file_is_opened_and_other_files_are_rejected(grammar, qtbot, tmp_path):
    view = grammar.view
    for name, taken in (("a.gbnf", True), ("a.gguf", False)):
        path = tmp_path / name
        path.write_text(GOOD)
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        assert not view.edit.canInsertFromMimeData(data)
        copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        enter = QDragEnterEvent(QPoint(5, 5), copy, data, left, none)
        enter.ignore()
        view.dragEnterEvent(enter)
        assert enter.isAccepted() == taken
        view.dropEvent(QDropEvent(QPointF(5, 5), copy, data, left, none))
    qtbot.waitUntil(lambda: view.edit.text() == GOOD)
    assert view.edit_card.heading.hint.text() == "a.gbnf"


# -- files and projects -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_grammar_is_opened_saved_and_stored_in_the_project(grammar, qtbot, tmp_path):
    project = grammar.context.project
    view, document = grammar.view, project.grammar
    source = tmp_path / "a.gbnf"
    source.write_bytes(GOOD.encode().replace(b"\n", b"\r\n"))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(source))])
    view.fileDropped.emit(str(source))
    qtbot.waitUntil(lambda: view.edit.text() == GOOD)
    view.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(view.edit, "# mine")
    add(grammar, "{a=10}")
    grammar.files.save(tmp_path / "b.gbnf")
    assert (tmp_path / "b.gbnf").read_text() == GOOD + "# mine"
    assert "b.gbnf" in view.edit_card.heading.hint.text()
    assert project.is_dirty
    assert project.save(tmp_path / "p.glyphscope")
    assert not project.is_dirty
    saved = load_project(tmp_path / "p.glyphscope").project.grammar
    assert (saved.text, saved.examples) == (GOOD + "# mine", (GrammarExample("{a=10}"),))
    project.new(first_project(grammar.context.settings.value))
    assert view.edit.isReadOnly()
    project.open(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: view.edit.text() == GOOD + "# mine")
    assert document.work == saved


@pytest.mark.slow
def test_a_file_that_is_not_text_is_reported(grammar, qtbot, tmp_path):
    path = tmp_path / "a.gbnf"
    path.write_bytes(b'root ::= "\xff\xfe"')
    grammar.files.open(path)
    qtbot.waitUntil(grammar.view.notice.isVisible)
    assert "UTF-8" in grammar.view.notice.label.text()


@pytest.mark.slow
def test_a_long_line_of_a_file_is_broken_without_changing_its_meaning(grammar, qtbot, tmp_path):
    path, line = tmp_path / "a.gbnf", "root ::= " + " | ".join(['"a | b"'] * 20_000)
    path.write_text(line)
    grammar.files.open(path)
    qtbot.waitUntil(grammar.view.notice.isVisible)
    shown = grammar.view.edit.text()
    assert max(map(len, shown.split("\n"))) < 3000
    assert shown.replace("\n ", "") == line
    assert checked(qtbot, grammar).ok


@pytest.mark.slow
def test_a_replaced_text_can_be_restored(grammar, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    view.tools_link.click()
    view.copy_link.click()
    assert view.edit.text() != GOOD
    view.notice.action.click()
    assert view.edit.text() == GOOD


@pytest.mark.slow
def test_a_run_uses_the_users_own_text_when_asked_to(grammar, qtbot):
    view, project = grammar.view, grammar.context.project
    assert project.next_run().request.grammar is None
    show(qtbot, grammar, GOOD)
    assert project.next_run().request.grammar is None
    view.use_link.click()
    assert project.next_run().request.grammar == GOOD
    project.set_options(constraint="off")
    assert project.next_run().request.grammar is None
    view.use_link.click()
    view.use_link.click()
    assert project.options.constraint == "gbnf"
    view.tools_link.click()
    assert project.next_run().request.grammar is None


@pytest.mark.slow
def test_the_header_shows_the_constraint_that_the_users_own_text_needs(open_window):
    window = open_window(scripted)
    project = window.services.project
    project.grammar.open_text(GOOD, "")
    project.set_options(constraint="off")
    window.page(PageId.GRAMMAR).view.use_link.click()
    assert window.header.constraint.value == "gbnf"
