"""The tools page in use: by mouse, by keyboard, by form and by raw text."""

from __future__ import annotations

import json
import threading

import pytest
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QWidget

from glyphscope.registry import Tool, ToolRegistry, default_registry, load_registry, to_json
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.errors import ErrorDialog
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.tools.dock import ToolsDock
from glyphscope_gui.tools.keyword_fields import FormGrid
from glyphscope_gui.tools.tree import Item


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
def dock(document, dressed, qtbot):
    with dressed.undressed():  # as in the window
        dock = ToolsDock(document)
    qtbot.addWidget(dock)
    dock.resize(280, 620)
    dock.show()
    qtbot.waitExposed(dock)
    yield dock
    end_work(dock)


def field(dock, label):
    form = dock.form.argument_form
    return next(row.field for keyword, row in form.keyword_rows.items() if keyword.label == label)


def parameter(document, argument="max_results"):
    return document.registry.get("search").parameters["properties"][argument]


def test_the_tool_editors_have_accessible_names(dock):
    for name in ("toolTree", "toolForm", "toolSchemaEdit"):
        assert dock.findChild(QWidget, name).accessibleName()


def test_a_click_on_the_tick_disables_the_tool(dock, document, qtbot):
    index = dock.tree.model().index_of(Item("execute"))
    place = dock.tree.box(index).center()
    qtbot.mouseClick(dock.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not document.registry.get("execute").enabled
    qtbot.mouseClick(dock.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert document.registry.get("execute").enabled


def test_the_tree_can_be_used_by_keyboard_alone(dock, document, qtbot):
    dock.tree.setFocus()
    qtbot.keyClick(dock.tree, Qt.Key.Key_Space)
    assert not document.registry.get("search").enabled
    qtbot.keyClick(dock.tree, Qt.Key.Key_Down)
    assert dock.tree.selected() == Item("search", "query")
    qtbot.keyClick(dock.tree, Qt.Key.Key_Delete)
    assert "query" not in document.registry.get("search").parameters["properties"]
    dock.actions_.undo.trigger()
    assert "query" in document.registry.get("search").parameters["properties"]


def test_a_number_typed_in_the_form_reaches_the_registry(dock, document, qtbot):
    dock.show_argument("search", "max_results")
    maximum = field(dock, "Maximum")
    maximum.selectAll()
    qtbot.keyClicks(maximum, "250")
    assert parameter(document)["maximum"] == 250
    assert (
        dock.tree.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole).startswith("max_results, int 1–250")
    )
    document.undo_stack.undo()
    assert parameter(document)["maximum"] == 100
    assert maximum.text() == "100"


def test_text_in_a_number_field_is_marked_and_not_applied(dock, document, qtbot):
    dock.show_argument("search", "max_results")
    maximum = field(dock, "Maximum")
    maximum.end(False)
    qtbot.keyClicks(maximum, "x")
    assert maximum.text() == "100x"
    assert maximum.property("refused")
    assert dock.form.problem.isVisible() and "is in use" in dock.form.problem.text()
    assert parameter(document)["maximum"] == 100
    qtbot.keyClick(maximum, Qt.Key.Key_Backspace)
    assert not maximum.property("refused")
    assert not dock.form.problem.isVisible()


def test_an_invalid_pattern_is_not_applied_while_it_is_typed(dock, document, qtbot):
    dock.show_argument("search", "query")
    pattern = field(dock, "Pattern")
    qtbot.keyClicks(pattern, "(")
    assert "pattern" not in parameter(document, "query")
    assert pattern.text() == "("
    assert dock.form.problem.isVisible()
    qtbot.keyClicks(pattern, "a)")
    assert parameter(document, "query")["pattern"] == "(a)"
    assert not dock.form.problem.isVisible()


@pytest.mark.slow
def test_renaming_an_argument_beside_an_error_leaves_one_argument(dock, document, qtbot):
    dock.show_argument("search", "query")
    qtbot.keyClicks(field(dock, "Pattern"), "(")
    name = dock.form.argument_form.name_field
    name.setFocus()
    name.setCursorPosition(2)
    qtbot.keyClicks(name, "xy")
    assert name.text() == "quxyery" and name.cursorPosition() == 4
    assert dock.tree.selected() == Item("search", "quxyery")
    name.setCursorPosition(len("quxyery"))
    for _ in range(5):
        qtbot.keyClick(name, Qt.Key.Key_Backspace)
    qtbot.keyClicks(name, "ery_2")
    assert dock.tree.selected() == Item("search", "query_2")
    field(dock, "Pattern").setText("")
    qtbot.keyClicks(field(dock, "Pattern"), "a")
    assert next(iter(document.registry.get("search").parameters["properties"])) == "query_2"
    assert "query" not in document.registry.get("search").parameters["properties"]
    assert not document.problems


def test_undo_in_a_field_undoes_the_last_edit(dock, document, qtbot):
    dock.show_argument("search", "max_results")
    minimum = field(dock, "Minimum")
    minimum.setFocus()
    minimum.selectAll()
    qtbot.keyClicks(minimum, "5")
    qtbot.keyClick(minimum, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert parameter(document)["minimum"] == 1
    qtbot.keyClick(
        minimum, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert parameter(document)["minimum"] == 5


def test_renaming_while_typing_leaves_the_selection(dock, document, qtbot):
    dock.show_argument("search")
    name = dock.form.tool_page.name_field
    name.setFocus()
    name.end(False)
    qtbot.keyClicks(name, "er")
    assert document.registry.tools[0].name == "searcher"
    assert dock.tree.selected() == Item("searcher")
    assert name.cursorPosition() == len("searcher")
    document.undo_stack.undo()
    assert dock.form.title.text() == "search"


def test_another_type_shows_only_its_own_fields(dock, document):
    dock.show_argument("search", "max_results")
    dock.form.argument_form.type_field.activated.emit(0)
    assert parameter(document)["type"] == "string"
    assert not field(dock, "Maximum").isVisible()
    assert field(dock, "Pattern").isVisible()


def test_an_invalid_schema_text_is_preserved_and_reported(dock, document, qtbot):
    dock.show_argument("search")
    dock.tabs.setCurrentIndex(1)
    editor = dock.schema.editor
    editor.setFocus()
    editor.moveCursor(editor.textCursor().MoveOperation.End)
    qtbot.keyClick(editor, Qt.Key.Key_Backspace)
    text = editor.toPlainText()
    assert dock.schema.notice.isVisible()
    assert dock.schema.list.count() == 1
    dock.show_argument("browse")
    assert not dock.schema.notice.isVisible()
    dock.show_argument("search")
    assert editor.toPlainText() == text
    qtbot.keyClick(editor, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert json.loads(editor.toPlainText()) == document.registry.get("search").parameters
    assert not dock.schema.notice.isVisible()


def test_a_click_on_an_error_leads_to_its_line(dock, document):
    text = document.schema_text("search").replace('"integer"', '"intger"')
    document.set_schema_text("search", text)
    dock.tabs.setCurrentIndex(1)
    dock.schema.list.itemActivated.emit(dock.schema.list.item(0))
    line = text[: text.index('"intger"')].count("\n")
    assert dock.schema.editor.textCursor().blockNumber() == line


def test_an_edit_by_form_is_shown_in_the_raw_schema(dock, document, qtbot):
    dock.show_argument("search", "max_results")
    maximum = field(dock, "Maximum")
    maximum.selectAll()
    qtbot.keyClicks(maximum, "7")
    assert json.loads(dock.schema.editor.toPlainText())["properties"]["max_results"]["maximum"] == 7


def test_badges_are_shown_only_when_enforcement_is_known(dock):
    dock.show_argument("search", "max_results")
    row = next(r for k, r in dock.form.argument_form.keyword_rows.items() if k.name == "maximum")
    assert not row.badge.isVisible()
    dock.set_enforcement({("search", "/properties/max_results/maximum"): "enforced"})
    assert row.badge.isVisible()
    assert row.badge.accessibleName().startswith("enforced")
    dock.show_argument("search", "query")
    dock.set_enforcement({})
    assert not row.badge.isVisible()


def test_added_duplicated_and_moved_items_are_selected(dock, document):
    actions = dock.actions_
    actions.add_tool.trigger()
    assert dock.tree.selected() == Item("new_tool")
    actions.add_argument.trigger()
    assert dock.tree.selected() == Item("new_tool", "argument")
    actions.duplicate.trigger()
    assert dock.tree.selected() == Item("new_tool", "argument_2")
    actions.move_up.trigger()
    assert list(document.registry.get("new_tool").parameters["properties"]) == ["argument_2", "argument"]
    dock.show_argument("new_tool")
    actions.move_up.trigger()
    assert document.registry.tools[0].name == "new_tool"
    assert dock.tree.selected() == Item("new_tool")


def test_a_new_tool_or_argument_is_named_by_typing(dock, document, qtbot):
    dock.tabs.setCurrentIndex(1)
    dock.actions_.add_tool.trigger()
    field = dock.form.tool_page.name_field
    assert dock.tabs.currentWidget() is dock.form and field.selectedText() == "new_tool"
    dock.actions_.add_argument.trigger()
    field = dock.form.argument_form.name_field
    assert field.selectedText() == "argument" and dock.focusWidget() is field


def test_a_tool_is_moved_by_keyboard_only_from_the_tree(dock, document, qtbot):
    dock.tree.setFocus()
    qtbot.keyClick(dock.tree, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert [t.name for t in document.registry][:2] == ["calculate", "search"]
    name = dock.form.tool_page.name_field
    name.setFocus()
    qtbot.keyClick(name, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert [t.name for t in document.registry][:2] == ["calculate", "search"]


def test_the_focus_moves_between_the_tree_of_the_project_and_the_tree_of_a_record(dock, document, qtbot):
    dock.activateWindow()
    dock.form.setFocus()
    dock.tree.setFocus()
    qtbot.waitUntil(dock.tree.hasFocus)
    dock.show_record(document.registry)
    assert dock.recorded.tree.hasFocus()
    dock.show_record(None)
    assert dock.tree.hasFocus()


@pytest.mark.slow
def test_pasted_tools_are_added_after_a_question(dock, document, qtbot):
    openai = [
        {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}
    ]
    QGuiApplication.clipboard().setText(json.dumps(openai))
    dock.actions_.paste.trigger()
    qtbot.waitUntil(lambda: dock.findChild(QMessageBox, "importQuestion") is not None)
    box = dock.findChild(QMessageBox, "importQuestion")
    next(b for b in box.buttons() if b.text() == "Add").click()
    assert [t.name for t in document.registry][-1] == "ping"
    assert len(document.registry) == 8
    document.undo_stack.undo()
    assert len(document.registry) == 7


@pytest.mark.slow
def test_a_dropped_file_that_is_not_a_registry_leaves_the_tools(dock, document, qtbot, tmp_path):
    file = tmp_path / "broken.json"
    file.write_text('{"tools": [')
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    dock.dropEvent(event)
    qtbot.waitUntil(lambda: dock.findChild(ErrorDialog) is not None)
    dock.findChild(ErrorDialog).close()
    assert len(document.registry) == 7


def test_an_exported_registry_is_read_unchanged(dock, document, qtbot, tmp_path):
    file = tmp_path / "tools.json"
    dock.actions_._write(file, to_json(document.registry))
    dock.actions_.background.close()
    assert load_registry(file) == document.registry


@pytest.mark.slow
def test_many_tools_can_be_filtered(dressed, qtbot):
    tools = tuple(Tool(f"tool_{n}", f"Number {n}") for n in range(2000))
    document = RegistryDocument(ToolRegistry(tools))
    with dressed.undressed():  # as in the window
        dock = ToolsDock(document)
    qtbot.addWidget(dock)
    dock.show()
    assert dock.filter_edit.isVisible()
    with qtbot.captureExceptions() as errors:
        QTest.keyClicks(dock.filter_edit, "number 1999")
    assert errors == []
    shown = [row for row in range(2000) if not dock.tree.isRowHidden(row, dock.tree.rootIndex())]
    assert shown == [1999]
    end_work(dock)


@pytest.mark.slow
@pytest.mark.parametrize("width", [280, 320])
def test_nothing_is_clipped_in_the_narrowest_dock(dock, qtbot, width):
    dock.resize(width, 560)
    for item in (
        Item("search"),
        Item("search", "query"),
        Item("search", "max_results"),
        Item("search", "sources"),
    ):
        dock.show_argument(*item)
        kinds = {
            ("search", f"/properties/{item.argument}/{k.name}"): "checked"
            for k in dock.form.argument_form.keyword_rows
        }
        dock.set_enforcement(kinds)
        QGuiApplication.processEvents()
        body = dock.form.widget()
        assert body.minimumSizeHint().width() <= dock.form.viewport().width()
        for child in body.findChildren(QWidget):
            if child.isVisible():
                assert child.mapTo(body, QPoint(child.width(), 0)).x() <= body.width()


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
    ids=[
        "hostile pattern",
        "200 levels",
        "5000 levels",
        "twice",
        "beyond U+FFFF",
        "wrong kinds",
        "no text",
        "NaN",
    ],
)
def test_a_hostile_schema_is_rejected_without_an_exception(dock, document, qtbot, schema):
    dock.show_argument("search")
    dock.tabs.setCurrentIndex(1)
    with qtbot.captureExceptions() as errors:
        dock.schema.editor.setPlainText(schema)
        dock.tabs.setCurrentIndex(0)
        for row in range(dock.model.rowCount(dock.tree.currentIndex())):
            dock.tree.setCurrentIndex(dock.model.index(row, 0, dock.model.index(0, 0)))
        dock.grab()
    assert errors == []
    assert document.schema_text("search") in (schema, "")
    document.undo_stack.undo()
    assert document.registry == default_registry()


@pytest.mark.slow
def test_a_file_of_many_tools_is_read_in_another_thread(dock, document, qtbot, tmp_path, monkeypatch):
    readers = []

    def reading(path):
        readers.append(threading.get_ident())
        return load_registry(path)

    monkeypatch.setattr("glyphscope_gui.tools.actions.load_registry", reading)
    file = tmp_path / "many.json"
    file.write_text(json.dumps({f"tool_{n}": {"type": "object", "properties": {}} for n in range(2000)}))
    dock.actions_.read_file(file)
    qtbot.waitUntil(lambda: dock.findChild(QMessageBox, "importQuestion") is not None)
    box = dock.findChild(QMessageBox, "importQuestion")
    next(b for b in box.buttons() if b.text() == "Replace").click()
    assert len(document.registry) == 2000
    assert len(readers) == 1 and readers[0] != threading.get_ident(), "it is read in the background"
    assert dock.tree.selected() == Item("tool_0")
    document.undo_stack.undo()
    assert len(document.registry) == 7


def test_an_enum_that_its_length_contradicts_is_marked_at_its_place(dock, document, qtbot):
    dock.set_enforcement({("search", "/properties/query/enum"): "enforced"})
    dock.show_argument("search", "query")
    assert not dock.form.warning.isVisible()
    document.set_parameters(
        "search", {"type": "object", "properties": {"query": {"enum": ["ab", "abc"], "maxLength": 2}}}
    )
    qtbot.waitUntil(dock.form.warning.isVisible)
    assert dock.form.warning.text() == 'enum: Other constraints exclude 1 of 2 values: "abc" (maxLength 2).'
    rows = {keyword.name: row for keyword, row in dock.form.argument_form.keyword_rows.items()}
    assert rows["enum"].badge.accessibleName().startswith("contradiction")
    dock.show_argument("search")
    assert dock.form.warning.text().startswith("query/enum: Other constraints")
    document.undo_stack.undo()
    qtbot.waitUntil(lambda: not dock.form.warning.isVisible())


def test_a_label_of_the_form_is_as_high_as_its_field_in_another_style(qtbot):
    grid = FormGrid()
    qtbot.addWidget(grid)
    row = grid.add_row("Name", LineEdit(grid))
    before = row.label.minimumHeight()
    grid.setStyleSheet("QLineEdit { padding: 20px; }")
    assert row.label.minimumHeight() == row.field.sizeHint().height() > before
