"""The grammar page in use: text, errors and fixes, names, diagram, examples, steps, links to the tools, files."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QWidget

from fake_context import CALL, scripted
from glyphscope.registry import default_registry
from glyphscope.store import GrammarExample, load_project
from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.project import RegistryDocument, first_project
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.tools.dock import ToolsDock
from grammar_window import add, checked, put_cursor, result, show
from on_screen import drop

pytestmark = pytest.mark.slow

GOOD = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" number\nnumber ::= [1-9] [0-9]? | "100"\n'
PLANTED = 'root ::= "{" pair "}"\npair ::= [a-z]+ "=" nummber\nnumber ::= "\\d"{1,2} | "100"\nyear ::= "20" [0-9]{2}\n'


@pytest.fixture
def screen(grammar, screen_of):
    return screen_of(grammar)


# -- the text ---------------------------------------------------------------------------------------------------


def test_the_tools_grammar_is_shown_and_follows_the_tools(grammar, screen, qtbot):
    edit, project = grammar.view.edit, grammar.context.project
    assert edit.isReadOnly() and edit.text().startswith("root ::=") and "send" in edit.text()
    project.tools.set_enabled("send_email", False)
    qtbot.waitUntil(lambda: "send" not in edit.text())
    assert checked(qtbot, grammar).ok
    project.set_options(notation="json", shape="tool-args")
    qtbot.waitUntil(lambda: '\\"tool\\"' in edit.text())
    edit.fixRequested.emit(GrammarProblem("error", "x", "x", 1, 1, 0, 4, "x", ((0, 4, ""),)))
    assert edit.text().startswith("root ::=") and grammar.view.notice.isVisible(), "it is the tools' text"
    project.tools.set_all_enabled(False)
    screen.until("Allow at least one tool")
    assert edit.text() == "" and project.grammar.saved_work is None
    project.tools.set_enabled("search", True)
    screen.until("no problems")


def test_a_copy_to_edit_leaves_the_tools_can_be_undone_and_be_restored(grammar, qtbot):
    view, document = grammar.view, grammar.context.project.grammar
    before = view.edit.text()
    view.copy_link.click()
    view.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(view.edit, "more ::= root")
    assert checked(qtbot, grammar).text == before + "more ::= root"
    view.edit.undo()
    assert view.edit.text() == before
    view.source.button("tools").click()
    assert view.edit.isReadOnly() and document.work.text == before
    show(qtbot, grammar, GOOD)
    view.source.button("tools").click()
    view.copy_link.click()
    assert view.edit.text() != GOOD
    view.notice.action.click()
    assert view.edit.text() == GOOD


def test_planted_errors_are_fixed_with_the_fixes_of_the_page(grammar, screen, qtbot):
    edit = grammar.view.edit
    found = show(qtbot, grammar, PLANTED)
    assert not found.ok and {problem.severity for problem in found.problems} >= {"error", "warning"}
    for _ in range(6):
        row = next((p for p in checked(qtbot, grammar).problems if p.edits), None)
        if row is None:
            break
        edit.select(row.start, row.start)
        before = edit.text()
        screen.key("Grammar text (GBNF)", "Ctrl+.")
        assert edit.text() != before, row
    found = checked(qtbot, grammar)
    assert found.ok, found.problems
    assert "no problems" in screen


def test_an_error_in_the_list_leads_to_its_place_and_a_click_on_its_fix_applies_it_to_this_text(
    grammar, qtbot
):
    view = grammar.view
    found = show(qtbot, grammar, PLANTED)
    model, edit = view.diagnostics.model(), view.edit
    view.diagnostics.selectRow(0)
    view.diagnostics.setFocus()
    qtbot.keyClick(view.diagnostics, Qt.Key.Key_Return)
    worst = next(p for p in found.problems if p.severity == "error")
    assert edit.textCursor().position() == worst.start and edit.hasFocus()
    row = next(row for row in range(model.rowCount()) if model.index(row, 2).data())
    place = view.diagnostics.visualRect(model.index(row, 2)).center()
    qtbot.mouseClick(view.diagnostics.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert edit.text() != PLANTED
    edit.undo()
    assert edit.text() == PLANTED
    edit.moveCursor(QTextCursor.MoveOperation.Start)
    edit.insertPlainText("# a line before\n")
    text = edit.text()
    edit.fixRequested.emit(next(p for p in found.problems if p.edits))
    assert edit.text() == text, "the fix was one of an older text"


def test_any_invalid_text_is_reported_on_the_page(grammar, qtbot):
    for text in (
        "", "\x00", "root", "::=", '"' * 50, "(" * 300, "é😀 ::= [", "root ::= a\u00a0b", "\u2028\ud800",
    ):  # fmt: skip
        found = show(qtbot, grammar, text)
        assert not found.ok and found.problems, text
        assert grammar.view.diagnostics.isVisible(), text


def test_a_long_text_is_edited_without_loss(grammar, screen, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, 'root ::= "a"\n')
    text = "\n".join(
        f'rule-{number} ::= "text" [a-z] rule-{number + 1} # a comment' for number in range(20_000)
    )
    edit.selectAll()
    edit.insertPlainText(text)
    edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(edit, "x")
    assert edit.text() == text + "x"
    screen.until("rules")


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
    made = request.getfixturevalue("grammar" if editor == "grammar" else "schema_edit")
    edit, place = made.view.edit if editor == "grammar" else made, QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, edit.mapToGlobal(place))
    QApplication.sendEvent(edit.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert menu is not None and menu.actions()
    with qtbot.waitSignal(menu.destroyed):
        menu.close()


# -- names in the editor ------------------------------------------------------------------------------------------


def test_a_rules_name_is_completed_where_it_can_be_used(grammar, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, GOOD)
    put_cursor(edit, 'pair "}"', 4)
    qtbot.keyClicks(edit, " nu")
    assert edit.completer.is_open
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert 'pair number "}"' in edit.text() and not edit.completer.is_open
    qtbot.keyClicks(edit, " ")
    qtbot.keyClick(edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert edit.completer.list.count() == 3
    qtbot.keyClick(edit, Qt.Key.Key_Down)
    qtbot.keyClick(edit, Qt.Key.Key_Tab)
    assert 'pair number pair "}"' in edit.text()
    for place in ('"{', "[a-z", "# pa", "pa"):
        show(qtbot, grammar, f'root ::= pair\npair ::= "x"\n# {len(place)}\n')  # each text is another one
        edit.moveCursor(QTextCursor.MoveOperation.End)
        qtbot.keyClicks(edit, place + "pair")
        assert not edit.completer.is_open, place


def test_a_rules_definition_is_found_and_it_is_renamed_everywhere_except_in_literals(grammar, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, '# number ::= no\n"number ::= no"\n' + GOOD)
    put_cursor(edit, '=" number', 4)
    qtbot.keyClick(edit, Qt.Key.Key_F12)
    assert edit.textCursor().selectedText() == "number" and edit.textCursor().blockNumber() == 4
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


def test_the_help_names_the_keys(grammar):
    grammar.view.help_link.click()
    words = grammar.view.help.keys.text()
    for action in ("fix_action", "next_action", "complete_action", "definition_action", "rename_action"):
        assert getattr(grammar.view.edit, action).shortcut().toString() in words
    grammar.view.help.close()


# -- the diagram, examples, steps ---------------------------------------------------------------------------------


def test_the_diagram_and_the_step_follow_the_text_and_lead_to_rules(grammar, screen, qtbot):
    view = grammar.view
    show(qtbot, grammar, GOOD)
    put_cursor(view.edit, "pair ::=")
    qtbot.waitUntil(lambda: view.railroad.drawing is not None and view.railroad.drawing.rule == "pair")
    assert "pair" in view.rule_card.heading.title.text()
    screen.key("Railroad diagram of the rule", "Right", "Return")
    qtbot.waitUntil(lambda: view.railroad.drawing.rule == "number")
    assert view.edit.rule == "number"
    screen.press("Step")
    screen.write("Text to step through", "{a=1}")
    view.step.slider.setValue(4)
    screen.until(lambda: "0-9" in view.step.next.text())  # of this grammar, not of the previous one
    assert view.step.rules.text().index("root") < view.step.rules.text().index("number")
    assert "}" in view.step.next.text() and "character 4 of 5" in screen
    screen.write("Text to step through", "{a=x")
    screen.until("fails at 3")
    view.step.rules.linkActivated.emit("pair")
    assert view.edit.rule == "pair"


def test_an_example_is_checked_as_one_types_and_shows_where_it_fails(grammar, screen, qtbot):
    edit = grammar.view.edit
    show(qtbot, grammar, GOOD)
    for text, matches in (("{a=10}", True), ("{a=101}", True), ("{a=101}", False), ("{a=", True)):
        add(grammar, text, matches)
    screen.press("Examples")
    qtbot.waitUntil(lambda: result(grammar, 3) is not None)
    assert result(grammar, 0)[0] == "✓" and result(grammar, 2) == ("✓ rejected at 5, as expected", "holds")
    assert result(grammar, 1)[0].startswith("✕ rejected at 5: ")
    assert result(grammar, 3)[0].startswith("✕ incomplete: ") and "2 of 4" in screen
    put_cursor(edit, '"100"', 1)
    qtbot.keyClicks(edit, '101" | "')
    qtbot.waitUntil(lambda: result(grammar, 1) is not None and result(grammar, 1)[0] == "✓")
    assert result(grammar, 2)[0] == "✕ is accepted"


def test_examples_are_written_by_keyboard_alone_and_the_last_run_can_become_one(grammar, screen, qtbot):
    view, context, field = grammar.view, grammar.context, "Text of the example"
    show(qtbot, grammar, GOOD)
    screen.press("Examples")
    view.add_example_link.click()
    screen.type(field, "{b")
    screen.key(field, "Escape")
    qtbot.waitUntil(lambda: grammar.examples.examples == ())
    view.add_example_link.click()
    screen.type(field, "{b=7}")
    assert [e.text for e in grammar.examples.examples] == ["{b=7}"]
    screen.key(field, "Return")
    qtbot.waitUntil(lambda: (result(grammar, 0) or ("",))[0] == "✓")
    view.examples.selectRow(0)
    screen.key("Examples…", "Space")
    assert not grammar.examples.examples[0].matches
    screen.key("Examples…", "Delete")
    assert grammar.examples.examples == () and not view.add_run_link.isEnabled()
    with qtbot.waitSignal(context.runs.ended):
        grammar.run()
    assert context.navigator.current is PageId.PLAYGROUND
    context.navigator.show(PageId.GRAMMAR)
    view.add_run_link.click()
    assert grammar.examples.examples == (GrammarExample(CALL),)


# -- links to the tools -------------------------------------------------------------------------------------------


def test_the_lines_in_which_an_edited_copy_differs_from_the_tools_grammar_are_listed(grammar, screen, qtbot):
    edit, lines = grammar.view.edit, grammar.view.lines.model
    rule = next(r for r, o in grammar.bench.origins.items() if o.pointer == "/properties/max_results")
    grammar.view.copy_link.click()
    place = edit.text().index('"100"')
    edit.select(place, place + 5)
    edit.insertPlainText('"99"')
    screen.press("Differences")
    qtbot.waitUntil(lambda: len(lines.rows) == 2)
    assert [sign for sign, _ in lines.rows] == ["−", "+"]
    assert all(line.startswith(f"{rule} ::= ") for _, line in lines.rows)
    grammar.view.source.button("tools").click()
    qtbot.waitUntil(lambda: not lines.rows)


def test_a_run_uses_the_users_own_text_when_asked_to(grammar, qtbot):
    view, project = grammar.view, grammar.context.project
    show(qtbot, grammar, GOOD)
    assert project.next_run().request.grammar is None
    view.use_box.click()
    assert project.next_run().request.grammar == GOOD
    project.set_options(constraint="off")
    assert project.next_run().request.grammar is None
    view.use_box.click()
    view.use_box.click()
    assert project.options.constraint == "gbnf"
    view.source.button("tools").click()
    assert project.next_run().request.grammar is None


# -- files and projects -------------------------------------------------------------------------------------------


def test_a_grammar_is_dropped_saved_and_stored_in_the_project(grammar, screen, qtbot, tmp_path):
    view, project = grammar.view, grammar.context.project
    source, other = tmp_path / "a.gbnf", tmp_path / "a.gguf"
    source.write_bytes(GOOD.encode().replace(b"\n", b"\r\n"))
    other.write_text(GOOD)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(source))])
    assert not view.edit.canInsertFromMimeData(data), "its name would be typed"
    assert drop(view, source) and not drop(view, other)
    qtbot.waitUntil(lambda: view.edit.text() == GOOD)
    assert "a.gbnf" in screen
    view.edit.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(view.edit, "# mine")
    add(grammar, "{a=10}")
    grammar.files.save(tmp_path / "b.gbnf")
    assert (tmp_path / "b.gbnf").read_text() == GOOD + "# mine" and "b.gbnf" in screen
    put_cursor(view.edit, '"100"', 1)
    qtbot.keyClicks(view.edit, "7")
    differences = view.differences.model
    qtbot.waitUntil(lambda: [text for _, text in differences.rows] == ["{a=7100}", "{a=100}"])
    assert project.is_dirty and project.save(tmp_path / "p.glyphscope") and not project.is_dirty
    qtbot.waitUntil(lambda: not differences.rows)
    saved = load_project(tmp_path / "p.glyphscope").project.grammar
    assert (saved.text, saved.examples) == (view.edit.text(), (GrammarExample("{a=10}"),))
    project.new(first_project(grammar.context.settings.value))
    assert view.edit.isReadOnly()
    project.open(tmp_path / "p.glyphscope")
    qtbot.waitUntil(lambda: view.edit.text() == saved.text)
    assert project.grammar.work == saved


def test_a_file_that_is_not_text_is_reported_and_a_long_line_is_broken(grammar, screen, qtbot, tmp_path):
    path, line = tmp_path / "a.gbnf", "root ::= " + " | ".join(['"a | b"'] * 20_000)
    path.write_bytes(b'root ::= "\xff\xfe"')
    grammar.files.open(path)
    screen.until("UTF-8")
    path.write_text(line)
    grammar.files.open(path)
    edit = grammar.view.edit
    qtbot.waitUntil(lambda: edit.text().replace("\n ", "") == line)
    assert max(map(len, edit.text().split("\n"))) < 3000 and grammar.view.notice.isVisible()
    assert checked(qtbot, grammar).ok


# -- in the window --------------------------------------------------------------------------------------------------


def test_the_docks_of_the_playground_are_restored_when_the_window_closes_on_another_page(open_window):
    window = open_window(scripted)
    window.navigator.show(PageId.GRAMMAR)
    window.shut_down()
    again = open_window(scripted)
    assert not again.panels.docks[PanelId.TOOLS].isHidden()
    assert not again.right.isHidden()


def test_the_keyboard_reaches_every_page_and_the_docks_belong_to_the_playground(window, qtbot):
    """Also while a field is open on a page."""
    tools = window.panels.docks[PanelId.TOOLS]
    for keys in (Qt.Key.Key_2, Qt.Key.Key_1):
        qtbot.keyClick(window, keys, Qt.KeyboardModifier.ControlModifier)
        on_grammar = keys == Qt.Key.Key_2
        assert window.navigator.current is (PageId.GRAMMAR if on_grammar else PageId.PLAYGROUND)
        assert tools.isHidden() == window.right.isHidden() == on_grammar
        if on_grammar:
            view = window.page(PageId.GRAMMAR).view
            assert window.focusWidget() is view.edit
            view.add_example_link.click()
            assert window.findChild(QWidget, "exampleField").hasFocus()
    qtbot.waitUntil(lambda: window.findChild(QWidget, "exampleField") is None)


def test_a_rule_leads_to_its_argument_and_the_argument_to_its_rule(window, qtbot):
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
    qtbot.waitUntil(lambda: not grammar.is_busy)


# -- Lark ---------------------------------------------------------------------------------------------------------

LARK = """%import common.WS
%ignore WS
start: sum
sum: NUMBER ("+" NUMBER)*
NUMBER: /[0-9]+/
"""


def test_a_lark_grammar_is_opened_checked_stepped_sampled_and_renamed(grammar, screen, qtbot, tmp_path):
    view, document = grammar.view, grammar.context.project.grammar
    path = tmp_path / "sums.lark"
    path.write_text(LARK, encoding="utf-8")
    grammar.files.open(path)
    qtbot.waitUntil(lambda: document.text == LARK)
    found = checked(qtbot, grammar)
    assert found.ok and found.language.name == "Lark" and set(found.rules) == {"start", "sum", "NUMBER"}
    qtbot.waitUntil(lambda: view.railroad.drawing is not None and view.railroad.drawing.rule == "start")
    add(grammar, "1 + 2")
    add(grammar, "1 2", matches=False)
    qtbot.waitUntil(lambda: result(grammar, 1) is not None)
    assert result(grammar, 0)[0] == "✓" and result(grammar, 1)[0].startswith("✓")
    view.step.set_text("1 + ")
    qtbot.waitUntil(lambda: "NUMBER" in view.step.rules.text() or "sum" in view.step.rules.text())
    qtbot.waitUntil(lambda: view.samples.model.rowCount() > 0)
    assert view.edit.go_to_rule("NUMBER") and view.edit.rule == "NUMBER"
    view.edit.rename("NUMBER", "DIGITS")
    assert view.edit.text() == LARK.replace("NUMBER", "DIGITS")
    view.edit.rename("DIGITS", "Digits")
    assert "Digits" not in view.edit.text(), "mixed case is not a name"
    assert checked(qtbot, grammar).ok
    qtbot.waitUntil(lambda: "exactly the same" in view.differences.words.text())
    view.help.show()
    assert view.help.windowTitle() == "Lark reference"
    view.help.close()


def test_a_rule_of_a_grammar_inside_of_a_rule_is_found_and_renamed_there_alone(grammar, qtbot):
    text = 'start: a %lark {\n  start: a\n  a: "😀"\n}\na: "b"\n'
    edit = grammar.view.edit
    show(qtbot, grammar, text)
    put_cursor(edit, "start: a\n", 7)
    edit.definition()
    assert edit.textCursor().block().text() == '  a: "😀"'
    edit.rename("a", "inner")
    assert edit.text() == text.replace("start: a\n  a:", "start: inner\n  inner:")
    edit.go_to_rule("a")
    assert edit.textCursor().block().text() == 'a: "b"'
    edit.rename("a", "outer")
    assert edit.text() == 'start: outer %lark {\n  start: inner\n  inner: "😀"\n}\nouter: "b"\n'


def test_a_problem_of_a_lark_grammar_is_underlined_with_its_fix(grammar, screen, qtbot):
    view = grammar.view
    found = show(qtbot, grammar, 'start: "a"?b\nb: "b"\n')
    assert not found.ok and [problem.code for problem in found.problems][:1] == ["optional-or-name"]
    put_cursor(view.edit, "?b")
    view.edit.fix_action.trigger()
    assert checked(qtbot, grammar).ok and view.edit.text() == 'start: "a"? b\nb: "b"\n'


@pytest.mark.parametrize(("text", "kind"), [(LARK, "lark"), ('root ::= "a"+\n', "gbnf")])
def test_a_grammar_is_run_as_the_answer(grammar, screen, qtbot, monkeypatch, text, kind):
    show(qtbot, grammar, text)
    started = []
    monkeypatch.setattr(type(grammar), "run", lambda _self: started.append(True))
    assert grammar.view.use_box.isVisible() == (kind == "gbnf")
    grammar.view.answer_link.click()
    answer = grammar.context.project.options.answer
    assert started and (answer.kind, answer.text) == (kind, text)


def test_a_bundled_grammar_passes_its_examples_and_is_converted_and_undone(
    grammar, screen, qtbot, monkeypatch
):
    menus = []
    monkeypatch.setattr(
        "glyphscope_gui.grammar.presenter.pop_up", lambda _menu, _place, *entries: menus.append(entries)
    )
    show(qtbot, grammar, 'root ::= "mine"\n')
    grammar.view.more_link.click()
    converting, bundled = menus[0][2:6], menus[0][7:]
    words = ("to Lark", "to a regular expression", "to a JSON Schema", "Regular expression as a grammar…")
    assert all(title.endswith(each) for (title, _), each in zip(converting, words, strict=True))
    assert [title for title, _ in bundled][:2] == ["Arithmetic", "A small SQL"]
    dict(bundled)["ISO dates"]()
    assert checked(qtbot, grammar).ok
    count = len(grammar.examples.examples)
    qtbot.waitUntil(lambda: grammar.examples.passing() == count > 5)  # no longer judged by the grammar before
    grammar.bench.convert("gbnf")
    qtbot.waitUntil(lambda: grammar.context.project.grammar.text.startswith("root ::="))
    assert "the same texts" in grammar.view.notice.label.text() and checked(qtbot, grammar).ok
    grammar.view.notice.action.click()
    assert "DATE:" in grammar.context.project.grammar.text


@pytest.mark.parametrize(
    ("name", "written", "converted"),
    [
        ("code.regex", "[0-9]{2}-[a-z]+\n", "[0-9]"),
        ("answer.json", '{"enum": ["yes", "no"]}', "yes"),
        ("bad.regex", "a(?=b)", "looks around"),
        ("bad.json", "{", "not JSON"),
    ],
)
def test_a_schema_or_a_regular_expression_is_opened_as_a_grammar(
    grammar, screen, qtbot, tmp_path, name, written, converted
):
    show(qtbot, grammar, 'root ::= "mine"\n')
    (tmp_path / name).write_text(written, encoding="utf-8")
    grammar.files.open(tmp_path / name)
    qtbot.waitUntil(grammar.view.notice.isVisible)
    document, words = grammar.context.project.grammar, grammar.view.notice.label.text()
    if name.startswith("bad"):
        assert converted in words and document.text == 'root ::= "mine"\n'
    else:
        assert "the same texts" in words and converted in document.text and not document.work.path
        grammar.view.notice.action.click()
        assert document.text == 'root ::= "mine"\n'


@pytest.mark.parametrize(
    ("to", "text"), [("regex", "a[0-9]+"), ("json-schema", '"pattern": "^(?:a[0-9]+)$"')]
)
def test_an_expression_or_a_schema_of_a_grammar_is_shown_to_be_copied(grammar, screen, qtbot, to, text):
    show(qtbot, grammar, 'root ::= "a" [0-9]+\n')
    grammar.bench.convert(to)
    qtbot.waitUntil(lambda: text in grammar.view.notice.label.text())
    grammar.view.notice.action.click()
    assert text in QGuiApplication.clipboard().text()
    assert grammar.context.project.grammar.text == 'root ::= "a" [0-9]+\n'


def test_a_grammar_with_errors_is_not_converted(grammar, screen, qtbot):
    show(qtbot, grammar, "start: x")
    grammar.bench.convert("regex")
    assert "errors" in grammar.view.notice.label.text()
