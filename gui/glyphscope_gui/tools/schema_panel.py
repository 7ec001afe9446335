"""The raw JSON Schema of a tool, with its problems below: each leads to its place."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.code_edit import TAB_WORDS
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.tools.form import NOT_APPLIED

MAX_SHOWN = 50
MAX_HEIGHT = 120
"""Of the list of problems, so that the text keeps its room."""
ROW_MARGINS = 36
"""Pixels to the left and right of the words in the list, with the scroll bar."""


class SchemaPanel(FollowsSize, QWidget):
    """Edits the schema of one tool; every key press updates the document."""

    def __init__(self, document: RegistryDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._tool = ""
        self.editor = named(JsonEditor(self, own_undo=False), "toolSchemaEdit")
        self.editor.setStyleSheet("#toolSchemaEdit { border: none; border-radius: 0; }")
        named(self.editor, words=tr("JSON Schema of the tool's arguments"), description=TAB_WORDS)
        self.notice = words_label(NOT_APPLIED, "problem", self)
        self.notice.setContentsMargins(14, 6, 14, 0)
        self.list = named(QListWidget(self), "toolSchemaProblems", tr("Errors in the schema"), wordWrap=True)
        self.list.setFrameShape(QListWidget.Shape.NoFrame)
        vbox((self.editor, 1), self.notice, self.list, parent=self, spacing=0)
        self.editor.textEdited.connect(self._edited)
        self.list.itemActivated.connect(self._go_to)
        self.list.itemClicked.connect(self._go_to)
        document.changed.connect(self._refresh)
        document.textChanged.connect(self._refresh)
        document.problemsChanged.connect(self._show_problems)
        self.show_tool("")

    def show_tool(self, name: str) -> None:
        """The tool whose schema is shown; "" for none."""
        self._tool = name
        self.editor.setReadOnly(not name)
        self._refresh()

    def _refresh(self, _change: object = None) -> None:
        self.editor.show_text(self._document.schema_text(self._tool))
        self._show_problems()

    def _show_problems(self, _problems: object = None) -> None:
        found = self._document.problems.get(self._tool, ())[:MAX_SHOWN]
        self.editor.set_problems(found)
        self.list.clear()
        for problem in found:
            place = f"{problem.pointer}\n" if problem.pointer else ""
            entry = QListWidgetItem(f"{problem.line}:{problem.column}  {problem.message}", self.list)
            entry.setToolTip(plain_tip(f"{place}{problem.message}"))
            entry.setData(Qt.ItemDataRole.UserRole, problem)
        self._fit()
        self.list.setVisible(bool(found))
        self.notice.setVisible(bool(found))

    def _fit(self) -> None:
        """Fit the list's height to its problems at the panel's width; its own width is known only once it is shown."""
        room = QRect(0, 0, max(self.width() - ROW_MARGINS, 50), 1000)
        height = sum(
            self.fontMetrics()
            .boundingRect(room, Qt.TextFlag.TextWordWrap, self.list.item(row).text())
            .height()
            + 9
            for row in range(self.list.count())
        )
        self.list.setFixedHeight(min(height + 6, MAX_HEIGHT))

    def _edited(self, text: str) -> None:
        self._document.set_schema_text(self._tool, text)

    def _go_to(self, entry: QListWidgetItem) -> None:
        self.editor.go_to(entry.data(Qt.ItemDataRole.UserRole))
