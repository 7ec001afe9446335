"""The tree of tools: its texts, and that an edit notifies the view of exactly its changes."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt

from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.project import RegistryDocument, argument_schema
from glyphscope_gui.shared.table_model import NOTE_ROLE
from glyphscope_gui.tools.tree import Item, RegistryTreeModel


def tool(name, *arguments):
    return Tool(name, "", {"type": "object", "properties": {a: {"type": "string"} for a in arguments}})


@pytest.fixture
def document(qapp):
    return RegistryDocument(ToolRegistry((tool("a", "x", "y"), tool("b", "z"), tool("c"))))


@pytest.fixture
def model(document, qtmodeltester):
    model = RegistryTreeModel(document)
    qtmodeltester.check(model)
    return model


def rows(model):
    return [(model.index(r, 0).data(), model.rowCount(model.index(r, 0))) for r in range(model.rowCount())]


def test_every_tool_and_argument_has_a_row(model):
    assert rows(model) == [("a", 2), ("b", 1), ("c", 0)]
    assert model.index(0, 0).data(NOTE_ROLE)[0] == "2 args"
    assert model.index_of(Item("a", "y")).data(NOTE_ROLE)[0] == "string"


def test_a_tick_reaches_the_allow_list(model, document):
    assert model.setData(model.index(1, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert [t.name for t in document.registry.allowed] == ["a", "c"]
    assert model.index(1, 0).data(NOTE_ROLE)[0] == "not allowed"


def test_a_persistent_index_follows_its_argument_through_edits(model, document, qtmodeltester):
    persistent = QPersistentModelIndex(model.index_of(Item("b", "z")))
    document.add(tool("new", "q"), at=0)
    document.move("c", 0)
    document.remove("a")
    document.rename("b", "renamed")
    assert model.item(persistent) == Item("renamed", "z")
    assert persistent.parent().data() == "renamed"
    assert rows(model) == [("c", 0), ("new", 1), ("renamed", 1)]
    for _ in range(4):
        document.undo_stack.undo()
    assert rows(model) == [("a", 2), ("b", 1), ("c", 0)]
    qtmodeltester.check(model)


def test_an_edit_of_an_argument_does_not_reset_the_tree(model, document):
    resets = []
    model.modelReset.connect(lambda: resets.append(1))
    parameters = document.shown_parameters("a")
    document.set_parameters("a", argument_schema.removed(parameters, "x"))
    document.set_parameters(
        "b", argument_schema.added(document.shown_parameters("b"), "w", {"type": "integer"})
    )
    assert rows(model) == [("a", 1), ("b", 2), ("c", 0)]
    assert resets == []


def test_a_tool_with_an_invalid_text_is_marked(model, document):
    document.set_schema_text("c", "{")
    assert model.index(2, 0).data(NOTE_ROLE) == ("see Schema", "impossible")
    assert model.index(0, 0).data(NOTE_ROLE)[1] == "text-faint"


def test_an_edit_among_two_thousand_tools_is_fast(qapp):
    document = RegistryDocument(ToolRegistry(tuple(tool(f"tool_{n}", "a", "b") for n in range(2000))))
    model = RegistryTreeModel(document)
    start = time.process_time()
    document.set_enabled("tool_1999", False)
    document.move("tool_1000", 3)
    document.rename("tool_7", "seven")
    assert model.rowCount() == 2000
    assert time.process_time() - start < 0.25
