"""The panel of tools in use: by form, tree, keys, raw schema and file."""

from __future__ import annotations

import json
import threading

import pytest
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QTabBar, QWidget

from glyphscope.registry import Tool, ToolRegistry, bundled_registry, default_registry, load_registry, to_json
from glyphscope.registry.saving import Unused, to_form
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.shared import LineEdit
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.tools.actions import show_unused
from glyphscope_gui.tools.dock import ToolsDock
from glyphscope_gui.tools.keyword_fields import FormGrid
from on_screen import drop

TREE, SCHEMA, ERRORS = (
    "Tools and their arguments",
    "JSON Schema of the tool's arguments",
    "Errors in the schema",
)


@pytest.fixture
def document(qapp):
    return RegistryDocument(default_registry())


@pytest.fixture(scope="module")
def dressed(qapp):
    """Apply the style and fonts of the window, which widths depend on."""
    owner = QObject()
    yield ThemeManager(qapp, "light", parent=owner)
    owner.deleteLater()


@pytest.fixture
def open_dock(dressed, qtbot):
    made = []

    def build(document, *, editing=True):
        with dressed.undressed():  # as in the window
            dock = ToolsDock(document)
        qtbot.addWidget(dock)
        dock.resize(280, 620)
        dock.show()
        qtbot.waitExposed(dock)
        dock.section.show_open(editing)
        made.append(dock)
        return dock

    yield build
    for dock in made:
        end_work(dock)


@pytest.fixture
def dock(open_dock, document):
    return open_dock(document)


@pytest.fixture
def screen(screen_of, dock):
    return screen_of(dock)


def parameters(document, tool="search"):
    return document.registry.get(tool).parameters


def names(document):
    return [tool.name for tool in document.registry]


# -- the form ------------------------------------------------------------------------------------------------------

EDITS = [
    ("max_results", ("write", "Maximum", "250"), {"maximum": 250, "minimum": 1}),
    ("max_results", ("write", "Minimum", ""), {"maximum": 100, "minimum": None}),
    ("max_results", ("choose", "Type", "string"),
     {"type": "string", "maximum": None, "minimum": None, "description": "How many results to return."}),
    ("query *", ("write", "Pattern", "(a)"), {"pattern": "(a)"}),
    ("query *", ("choose", "Format", "email"), {"format": "email"}),
    ("query *", ("write", "Enum", '"low", "a, b"'), {"enum": ["low", "a, b"]}),
    ("query *", ("write", "Description", "What"), {"description": "What"}),
    ("sources", ("choose", "Items", "integer"), {"items": {"type": "integer"}}),
    ("sources", ("press", "Unique items"), {"uniqueItems": True}),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "step", "after"), EDITS)
def test_an_edit_in_the_form_is_in_the_registry_and_in_the_raw_schema_and_is_undone(
    screen, document, argument, step, after
):
    screen.choose(TREE, argument)
    do, *words = step
    getattr(screen, do)(*words)
    found = parameters(document)["properties"][argument.removesuffix(" *")]
    assert {name: found.get(name) for name in after} == after
    screen.press("Schema")
    assert json.loads(screen.read(SCHEMA)) == parameters(document)
    document.undo_stack.undo()
    assert document.registry == default_registry() and json.loads(screen.read(SCHEMA)) == parameters(document)


def test_a_custom_tool_is_added_and_its_grammar_is_edited_in_the_form(screen, dock, document):
    dock.actions_.add_custom.trigger()
    added = document.registry.get("new_tool")
    assert added.format["syntax"] == "lark"
    screen.choose(TREE, "input *")
    assert screen.read("Syntax") == "lark"
    screen.write("Grammar", "[0-9]+")
    screen.until(lambda: "x-grammar: line 1, column 1" in screen)
    screen.choose("Syntax", "regex")
    assert document.registry.get(added.name).format == {
        "type": "grammar",
        "syntax": "regex",
        "definition": "[0-9]+",
    }
    screen.until(lambda: "x-grammar: line 1" not in screen)
    screen.choose("Syntax", "none")
    assert document.registry.get(added.name).format == {"type": "text"}
    screen.choose("Syntax", "none")
    assert document.registry.get(added.name).format is None, "it is a function with a text"


def test_gbnf_for_a_value_is_written_with_its_quotes(screen, document):
    screen.choose(TREE, "query *")
    assert screen.read("Syntax") == "none"
    screen.write("Grammar", '"a"')
    assert screen.read("Syntax") == "gbnf"
    assert parameters(document)["properties"]["query"]["x-grammar"] == '"a"'
    screen.write("Grammar", "")
    assert "x-grammar" not in parameters(document)["properties"]["query"]


REFUSED = [
    ("max_results", "Maximum", "1x", "7", "Maximum: Not a number. The last valid value is in use."),
    ("sources", "Min items", "-1", "2", "Not a count: enter 0 or more."),
    ("query *", "Enum", "a,,b", "a, b", "A value is missing between commas."),
    ("query *", "Pattern", "(", "(a)", "Not applied: fix the errors."),
    ("query *", "Name", "sources", "words", "another argument has this name"),
    ("query *", "Name", "", "words", "Name: required."),
    ("search", "Name", "browse", "find", "Another tool has this name. The last valid name is in use."),
    ("search", "Name", "", "find", "The last valid name is in use."),
]


@pytest.mark.parametrize(("item", "name", "wrong", "right", "words"), REFUSED)
def test_a_value_that_is_not_valid_stays_in_its_field_and_is_explained_and_not_applied(
    screen, document, item, name, wrong, right, words
):
    screen.choose(TREE, item)
    screen.write(name, wrong)
    assert document.registry == default_registry()
    assert screen.read(name) == wrong and words in screen
    screen.write(name, right)
    assert document.registry != default_registry() and words not in screen
    assert not document.problems


@pytest.mark.slow
def test_the_example_of_a_tool_is_edited_in_the_form_and_generated_if_it_is_empty(screen, document, qtbot):
    field = screen.find("Example")
    assert json.loads(field.toPlainText()) == {"query": "AI news", "max_results": 10}
    field.setFocus()
    screen.write("Example", '{"query": "tea", "max_results": 500}')
    assert parameters(document)["examples"] == [{"query": "tea", "max_results": 500}]
    screen.until("max_results is at most 100", "The prompt has another one.")
    screen.write("Example", '{"query": ')
    assert (
        "The last valid value is in use." in screen and parameters(document)["examples"][0]["query"] == "tea"
    )
    screen.write("Example", "")
    assert "examples" not in parameters(document)
    screen.find(TREE).setFocus()
    screen.choose(TREE, "calculate")
    screen.choose(TREE, "search")
    screen.until(lambda: screen.read("Example") == '{"query": "AI news"}')
    document.undo_stack.undo()
    assert "examples" in parameters(document)


def test_the_example_of_a_tool_without_one_is_one_of_its_input_examples(screen, document):
    document.replace_registry(bundled_registry("custom"))
    screen.choose(TREE, "calc")
    screen.until(lambda: screen.read("Example").startswith('{"input": '))
    screen.write("Example", '{"input": "1 + 2"}')
    tool = document.registry.get("calc")
    assert tool.input_examples == ({"input": "1 + 2"},) and tool.format is not None
    screen.write("Example", "")
    assert document.registry.get("calc").input_examples == ()


def test_a_strict_tool_is_chosen_in_its_form_which_says_where_apis_reject_it(screen, document):
    screen.choose(TREE, "search")
    screen.choose("Strict", "on")
    assert document.registry.get("search").strict is True
    screen.until("Strict: not required: max_results, sources (OpenAI)")
    screen.choose("Strict", "not stated")
    assert document.registry.get("search").strict is None
    screen.until(lambda: "not required" not in screen)
    document.undo_stack.undo()
    assert document.registry.get("search").strict is True and screen.read("Strict") == "on"


def test_renaming_while_typing_leaves_the_selection_the_cursor_and_the_place(screen, document, qtbot):
    """Also beside an error of the argument; a required one stays required."""
    screen.choose(TREE, "query *")
    screen.write("Pattern", "(")
    field = screen.find("Name", LineEdit)
    field.setCursorPosition(2)
    screen.type("Name", "xy")
    assert field.text() == "quxyery" and field.cursorPosition() == 4
    assert screen.chosen(TREE) == "quxyery *"
    screen.write("Pattern", "a")
    assert list(parameters(document)["properties"]) == ["quxyery", "max_results", "sources"]
    assert parameters(document)["required"] == ["quxyery"]
    screen.choose(TREE, "search")
    field = screen.find("Name", LineEdit)
    field.end(False)
    screen.type("Name", "er")
    assert names(document)[0] == screen.chosen(TREE) == "searcher" and field.cursorPosition() == 8


def test_undo_in_a_field_undoes_the_last_edit_wherever_it_was(screen, document):
    screen.choose(TREE, "max_results")
    screen.write("Minimum", "5")
    screen.key("Minimum", "Ctrl+Z")
    assert parameters(document)["properties"]["max_results"]["minimum"] == 1
    assert screen.read("Minimum") == "1"
    screen.key("Minimum", "Ctrl+Shift+Z")
    assert parameters(document)["properties"]["max_results"]["minimum"] == 5


def test_an_argument_of_another_type_has_other_fields(screen):
    screen.choose(TREE, "max_results")
    assert screen.named("Maximum") and not screen.named("Pattern")
    screen.choose("Type", "string")
    assert screen.named("Pattern") and not screen.named("Maximum")


def test_badges_are_shown_only_when_enforcement_is_known(screen, dock):
    screen.choose(TREE, "max_results")
    assert not screen.named("enforced…")
    dock.set_enforcement({("search", "/properties/max_results/maximum"): "enforced"})
    assert screen.named("enforced…")
    screen.choose(TREE, "query *")
    assert not screen.named("enforced…")


def test_an_enum_that_its_length_contradicts_is_marked_at_its_place(screen, dock, document):
    dock.set_enforcement({("search", "/properties/query/enum"): "enforced"})
    screen.choose(TREE, "query *")
    document.set_parameters(
        "search", {"type": "object", "properties": {"query": {"enum": ["ab", "abc"], "maxLength": 2}}}
    )
    words = 'enum: Other constraints exclude 1 of 2 values: "abc" (maxLength 2).'
    screen.until(words)
    assert screen.named("contradiction…")
    screen.choose(TREE, "search")
    assert f"query/{words}" in screen
    document.undo_stack.undo()
    screen.until(lambda: words not in screen)


# -- the tree ------------------------------------------------------------------------------------------------------


def test_a_click_on_the_tick_disables_the_tool(screen, document, qtbot):
    tree = screen.find(TREE)
    place = tree.box(tree.model().index(names(document).index("execute"), 0)).center()
    for enabled in (False, True):
        qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert document.registry.get("execute").enabled is enabled


def test_the_tree_can_be_used_by_keyboard_alone(screen, document):
    screen.key(TREE, "Space")
    assert not document.registry.get("search").enabled
    screen.key(TREE, "Down")
    assert screen.chosen(TREE) == "query *"
    screen.key(TREE, "Delete")
    assert "query" not in parameters(document)["properties"] and "required" not in parameters(document)
    screen.press("Undo…")
    assert parameters(document) == parameters(RegistryDocument(default_registry()))
    screen.choose(TREE, "search")
    screen.key(TREE, "Alt+Down")
    assert names(document)[:2] == ["calculate", "search"]
    screen.key("Name", "Alt+Down")  # a field has other uses for it
    assert names(document)[:2] == ["calculate", "search"]


def test_added_duplicated_and_moved_items_are_selected_and_named_by_typing(screen, dock, document):
    screen.press("Schema")
    screen.press("Add a tool")
    assert screen.chosen(TREE) == "new_tool" and screen.find("Name", LineEdit).selectedText() == "new_tool"
    screen.press("Add an argument")
    assert screen.chosen(TREE) == "argument" and dock.focusWidget() is screen.find("Name", LineEdit)
    screen.press("Duplicate")
    assert screen.chosen(TREE) == "argument_2"
    screen.press("Move up")
    assert list(parameters(document, "new_tool")["properties"]) == ["argument_2", "argument"]
    for argument in ("argument", "argument_2"):
        screen.choose(TREE, argument)
        screen.press("Required")
    assert parameters(document, "new_tool")["required"] == ["argument_2", "argument"], "in their order"
    screen.choose(TREE, "new_tool")
    screen.press("Move up")
    assert names(document)[0] == screen.chosen(TREE) == "new_tool"


def test_a_tool_is_edited_once_its_section_is_opened_by_enter_a_double_click_or_its_heading(
    open_dock, document, screen_of, qtbot
):
    dock = open_dock(document, editing=False)
    screen, tree = screen_of(dock), dock.tree
    assert "7 tools, 7 allowed" in screen and not screen.named("Name") and not screen.named("", QTabBar)
    screen.choose(TREE, "max_results")
    screen.key(TREE, "Return")
    assert screen.read("Name") == "max_results" and dock.focusWidget() is screen.find("Name", LineEdit)
    assert tree.height() >= tree.sizeHint().height(), "the tree keeps the height that it needs"
    screen.press("Edit max_results")
    assert not screen.named("Name")
    place = tree.visualRect(tree.model().index(1, 0)).center()
    qtbot.mouseDClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert screen.read("Name") == "calculate"
    screen.press("Edit calculate")
    dock.show_argument("browse", "url")
    assert screen.read("Name") == "url"


def test_the_menus_of_the_tools_have_all_actions_with_their_keys(screen, dock):
    more = screen.find("Edit, import and export tools").menu()
    entries = {action.text(): action for action in more.actions() if not action.isSeparator()}
    assert set(entries) >= {"Add a tool", "Duplicate", "Remove", "Move up", "Import tools…"}
    keys = {words: action.shortcut().toString() for words, action in entries.items()}
    assert keys["Remove"] == "Del" and keys["Move up"] == "Alt+Up" and keys["Add a tool"] == "Ctrl+Shift+A"
    assert all(action.isShortcutVisibleInContextMenu() for words, action in entries.items() if keys[words])
    assert [action for group in dock._groups() for action in group] == list(entries.values())


def test_the_panel_says_how_many_tools_are_allowed_and_how_many_constraints_the_mask_does_not_enforce(
    screen, dock, document, qtbot
):
    document.set_enabled("browse", False)
    assert "7 tools, 6 allowed" in screen and not screen.named("Show on the Grammar page…")
    dock.show_unenforced(2)
    assert "7 tools, 6 allowed · 2 constraints not enforced by the mask" in screen
    document.replace_registry(ToolRegistry(()))
    assert "No tools. The menu on the right" in screen
    with qtbot.waitSignal(dock.unenforcedRequested):
        screen.press("Show on the Grammar page…")


@pytest.mark.slow
def test_many_tools_can_be_filtered(open_dock, screen_of, qtbot):
    tools = tuple(Tool(f"tool_{n}", f"Number {n}") for n in range(2000))
    screen = screen_of(open_dock(RegistryDocument(ToolRegistry(tools))))
    with qtbot.captureExceptions() as errors:
        screen.type("Find tools", "number 1999")
    tree = screen.find(TREE)
    assert [row for row in range(2000) if not tree.isRowHidden(row, tree.rootIndex())] == [
        1999
    ] and not errors


def test_the_focus_moves_between_the_tree_of_the_project_and_the_tree_of_a_record(
    screen, dock, document, qtbot
):
    dock.activateWindow()
    screen.find("The selected tool or argument").setFocus()
    tree = screen.find(TREE)
    tree.setFocus()
    qtbot.waitUntil(tree.hasFocus)
    dock.show_record(document.registry)
    assert screen.find("Tools of the record and their arguments").hasFocus()
    dock.show_record(None)
    assert tree.hasFocus()


# -- the raw schema ------------------------------------------------------------------------------------------------


def test_an_invalid_schema_text_is_preserved_and_its_errors_lead_to_their_places(screen, document, dock):
    screen.press("Schema")
    text = screen.read(SCHEMA).replace('"integer"', '"intger"').replace('"string"', '"sting"')
    screen.write(SCHEMA, text)
    assert "Not applied" in screen
    entries = screen.find(ERRORS)
    assert dock.tabs.tabText(1) == f"Schema ({entries.count()})"
    entries.itemActivated.emit(entries.item(0))
    assert screen.find(SCHEMA).textCursor().blockNumber() == text[: text.index('"sting"')].count("\n")
    screen.choose(TREE, "browse")
    assert not screen.named(ERRORS)
    screen.choose(TREE, "search")
    assert screen.read(SCHEMA) == text
    screen.key(SCHEMA, "Ctrl+Z")
    assert json.loads(screen.read(SCHEMA)) == parameters(document) and not screen.named(ERRORS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}}',
        '{"properties": {"a": ' * 200 + "{}" + "}}" * 200,
        '{"a": ' * 5000 + "1" + "}" * 5000,
        '{"type": "object", "type": "object"}',
        '{"properties": {"😀": {"type": "strng"}}}',
        '{"properties": 5, "required": "a", "anyOf": 3}',
        "\x00",
        '{"a": NaN}',
    ],
    ids=["hostile pattern", "200 levels", "5000 levels", "twice", "beyond U+FFFF", "kinds", "no text", "NaN"],
)
def test_a_hostile_schema_is_rejected_without_an_exception(screen, dock, document, qtbot, schema):
    screen.press("Schema")
    with qtbot.captureExceptions() as errors:
        screen.write(SCHEMA, schema)
        screen.press("Form")
        screen.key(TREE, "Right", "Down", "Down", "Down", "Up")
        dock.grab()
    assert errors == []
    assert document.schema_text("search") in (schema, "")
    document.undo_stack.undo()
    assert document.registry == default_registry()


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pasted_tools_are_added_after_a_question_that_names_what_an_export_has_again(screen, document):
    body = {"model": "m", "messages": [], "tools": [{"name": "ping", "input_schema": {}}]}
    QGuiApplication.clipboard().setText(json.dumps(body))
    added = [*names(document), "ping"]
    for words, answer, after in (("and kept", "Add", added), ("Only Replace keeps", "Replace", ["ping"])):
        screen.press("Paste tools")
        screen.until("Add it to your tools")
        assert words in screen
        screen.press(answer)
        assert names(document) == after


@pytest.mark.slow
def test_a_file_of_many_tools_is_read_in_another_thread(screen, dock, document, tmp_path, monkeypatch):
    readers = []

    def reading(path):
        readers.append(threading.get_ident())
        return load_registry(path)

    monkeypatch.setattr("glyphscope_gui.tools.actions.load_registry", reading)
    file = tmp_path / "many.json"
    file.write_text(json.dumps({f"tool_{n}": {"type": "object", "properties": {}} for n in range(2000)}))
    dock.actions_.read_file(file)
    screen.until("2,000 tools from many.json")
    screen.press("Replace")
    assert len(document.registry) == 2000 and screen.chosen(TREE) == "tool_0"
    assert len(readers) == 1 and readers[0] != threading.get_ident(), "it is read in the background"
    document.undo_stack.undo()
    assert document.registry == default_registry()


@pytest.mark.slow
def test_bundled_tools_are_opened_from_the_menu_custom_ones_with_their_grammar(screen, document):
    screen.press("custom")
    screen.until("4 tools from custom")
    screen.press("Replace")
    assert document.registry == bundled_registry("custom")
    screen.choose(TREE, "input *")
    assert "SIGN: /[-+]/" in screen.read("Grammar")


@pytest.mark.slow
def test_a_dropped_file_that_is_not_a_registry_leaves_the_tools(screen, dock, document, tmp_path):
    file = tmp_path / "broken.json"
    file.write_text('{"tools": [')
    drop(dock, file)
    screen.until("broken.json")
    screen.press("Close")
    assert document.registry == default_registry()


def test_an_exported_registry_is_read_unchanged(dock, document, tmp_path):
    file = tmp_path / "tools.json"
    dock.actions_._write(file, lambda: to_json(document.registry))
    dock.actions_.background.close()
    assert load_registry(file) == document.registry


@pytest.mark.slow
def test_an_import_lists_what_is_not_used_and_keeps_it(screen, dock, document, tmp_path):
    file = tmp_path / "anthropic.json"
    tool = {"name": "ping", "input_schema": {"type": "object"}, "allowed_callers": ["direct"]}
    file.write_text(json.dumps([tool, {"type": "web_search_20260318", "name": "web_search"}]))
    dock.actions_.read_file(file)
    screen.until("One tool from anthropic.json")
    screen.until("allowed_callers (ping)")
    screen.press("Replace")
    assert to_form(document.registry, "anthropic") == json.loads(file.read_text())
    assert dock.actions_.show_unused.isEnabled()
    document.set_description("ping", "Answers")
    assert to_form(document.registry, "anthropic")[0] == {**tool, "description": "Answers"}


def test_all_of_a_long_list_of_unused_parts_is_in_its_details(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    show_unused(owner, [Unused(f"part{n}", "not used.", ("a",)) for n in range(20)], "Open")
    box = owner.findChild(QMessageBox, "unusedParts")
    assert "part19" in box.detailedText() and "and 8 more" in box.informativeText()


def test_a_request_is_opened_as_a_project_or_gives_its_tools(screen, dock, document, tmp_path):
    file, found = tmp_path / "body.json", []
    tools = [{"name": "ping", "input_schema": {"type": "object"}}]
    file.write_text(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools})
    )
    dock.actions_.requestFound.connect(found.append)
    dock.actions_.read_file(file)
    screen.until("body.json is a whole request")
    screen.press("Open as a project")
    assert found == [file]
    document.replace_registry(ToolRegistry((Tool("a"),), kept={"request": {"api": "chat"}}))
    assert not dock.actions_.show_unused.isEnabled(), (
        "its tools are all used, and nothing is said of the rest"
    )
    document.undo_stack.undo()
    dock.actions_.read_file(file)
    screen.until("body.json is a whole request")
    screen.press("Import its tools")
    screen.until("One tool from body.json")
    screen.press("Replace")
    assert names(document) == ["ping"] and "Hi" not in str(document.registry.kept)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([{"name": "a" * 200, "input_schema": {}}], "One tool from bad.json"),
        ([{"type": "custom", "name": "a", "format": {"type": "grammar", "syntax": "ebnf"}}], "Unknown syntax"),
        ([{"type": "namespace", "name": "a", "tools": [{"type": "custom", "name": "b"}] * 2}], "Another tool has this"),
        ([{"type": "function", "name": f"t{n}", "parameters": {}} for n in range(5_000)], "5,000 tools from bad.json"),
        ([{"type": "web_search"}], "0 tools from bad.json"),
        ([5], "A tool is an object"),
    ],
)  # fmt: skip
def test_a_list_of_another_program_is_imported_or_says_where_it_is_wrong(
    screen, dock, document, tmp_path, tools, words
):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(tools))
    dock.actions_.read_file(file)
    screen.until(words)
    screen.press("Replace" if "from bad.json" in words else "Close")
    assert len(document.registry) == (
        len(tools) if words.startswith(("One", "5,")) else 0 if "0 tools" in words else 7
    )


# -- looks ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("width", [280, 320])
def test_nothing_is_clipped_in_the_narrowest_dock(screen, dock, width):
    dock.resize(width, 560)
    for item in ("search", "query *", "max_results", "sources"):
        screen.choose(TREE, item)
        keywords = ("minimum", "maximum", "minLength", "maxLength", "pattern", "items", "enum")
        dock.set_enforcement(
            {("search", f"/properties/{item.removesuffix(' *')}/{name}"): "checked" for name in keywords}
        )
        QGuiApplication.processEvents()
        form = screen.find("The selected tool or argument")
        assert form.widget().minimumSizeHint().width() <= form.viewport().width()
        for child in form.widget().findChildren(QWidget):
            right = child.mapTo(form.widget(), QPoint(child.width(), 0)).x()
            assert not child.isVisible() or right <= form.widget().width()


def test_a_label_of_the_form_is_as_high_as_its_field_in_another_style(qtbot):
    grid = FormGrid()
    qtbot.addWidget(grid)
    row = grid.add_row("Name", LineEdit(grid))
    before = row.label.minimumHeight()
    grid.setStyleSheet("QLineEdit { padding: 20px; }")
    assert row.label.minimumHeight() == row.field.sizeHint().height() > before
