"""The tools of a record, to read: the tree above, the description and the schema of the chosen tool below."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from glyphscope.registry import ToolRegistry
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import holder, splitter, vbox
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.tools.registry_tree_model import Item, RegistryTreeModel
from glyphscope_gui.tools.tree import ToolTree


class _ReadOnlyModel(RegistryTreeModel):
    """Its ticks show which tools were allowed, and cannot be changed."""

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        return False


class RecordedTools(QWidget):
    """Shows one registry and changes nothing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recordedTools")
        self._document = RegistryDocument(ToolRegistry(()), self)
        self.model = _ReadOnlyModel(self._document, self)
        self.mark = words_label(tr("Tools of the record, read-only."), parent=self, name="recordedToolsMark")
        self.tree = named(ToolTree(self.model, self), "recordedToolTree")
        self.tree.setAccessibleName(tr("Tools of the record and their arguments"))
        self.tree.setAccessibleDescription(tr("Right and left show and hide a tool’s arguments."))
        self.about = words_label(role="", parent=self, name="recordedToolAbout", selectable=True)
        self.schema = named(JsonEditor(self), "recordedToolSchema")
        self.schema.setAccessibleName(tr("JSON Schema of the tool’s arguments in the record"))
        self.schema.setReadOnly(True)
        self.schema.format_action.setEnabled(False)
        self._lay_out()
        self.tree.itemSelected.connect(self._select)

    def show_registry(self, registry: ToolRegistry) -> None:
        """Show the tools of that record, with the first one chosen."""
        self._document.reset(self._document.draft_state(registry, {}))
        self.tree.select_first()

    def show_argument(self, tool: str, argument: str | None = None) -> None:
        """Choose a tool or an argument, as from a link elsewhere."""
        self.tree.select(Item(tool, argument))

    def _select(self, item: Item | None) -> None:
        tool = None if item is None else self._document.registry.get(item.tool)
        show_words(self.about, "" if tool is None else tool.description)
        self.schema.show_text("" if tool is None else self._document.schema_text(tool.name))

    def _lay_out(self) -> None:
        upper = holder(vbox(self.mark, (self.tree, 1), margins=(10, 10, 10, 4), spacing=6), self)
        lower = holder(vbox(self.about, (self.schema, 1), margins=(10, 4, 10, 10), spacing=6), self)
        parts = splitter(Qt.Orientation.Vertical, (upper, lower), (0, 1), of_cards=False)
        parts.setSizes([320, 480])
        vbox(parts, parent=self)
