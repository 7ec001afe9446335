"""The panel of tools: the tree with the allow list, and below it, in a section that folds, the form or the raw schema
of the chosen tool.

The tools of a record are shown read-only instead, by `RecordedTools`.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QMenu, QTabWidget, QToolButton, QWidget

from glyphscope.base.shorten import shorten
from glyphscope.registry import ToolRegistry
from glyphscope_gui.project.registry_document import RegistryDocument, RegistryState
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.card import FoldingSection
from glyphscope_gui.shared.code_edit import TAB_WORDS
from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import WrappedLabel, link, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, holder, splitter, stack, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.shared.verdict import EnforcementMap
from glyphscope_gui.theme.sizes import side_width
from glyphscope_gui.tools.actions import ToolActions
from glyphscope_gui.tools.form import NOT_APPLIED, TOO_LONG, ToolForm
from glyphscope_gui.tools.tree import Item, RegistryTreeModel, ToolTree

FILTER_FROM = 13
"""Number of tools from which a search field is shown."""
MIN_CHARACTERS = 33
"""The least width of the panel, in characters."""
MAX_PROBLEMS, PROBLEMS_HEIGHT = 50, 120
"""The largest number of listed problems of a schema, and of their list's pixels, so that the text keeps its room."""
MAX_TITLE = 40
"""Characters of a name in the section's heading."""
ROW_MARGINS = 36
"""Pixels on the left and right of the words in the list of problems, including the scroll bar."""


class SchemaPanel(FollowsSize, QWidget):
    """Edits the raw JSON Schema of one tool, with its problems below, which link to their places; every key press
    updates the document.
    """

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
        """Show the schema of a tool; "" for none."""
        self._tool = name
        self._refresh()

    def _refresh(self, _change: object = None) -> None:
        long = self._document.is_long(self._tool)
        self.editor.setReadOnly(not self._tool or long)
        self.editor.show_text(self._document.schema_text(self._tool))
        self._show_problems()

    def _show_problems(self, _problems: object = None) -> None:
        found = self._document.problems.get(self._tool, ())[:MAX_PROBLEMS]
        self.editor.set_problems(found)
        self.list.clear()
        for problem in found:
            place = f"{problem.pointer}\n" if problem.pointer else ""
            entry = QListWidgetItem(f"{problem.line}:{problem.column}  {problem.message}", self.list)
            entry.setToolTip(plain_tip(f"{place}{problem.message}"))
            entry.setData(Qt.ItemDataRole.UserRole, problem)
        self._fit()
        self.list.setVisible(bool(found))
        long = self._document.is_long(self._tool)
        self.notice.setText(TOO_LONG if long else NOT_APPLIED)
        self.notice.setVisible(bool(found) or long)

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
        self.list.setFixedHeight(min(height + 6, PROBLEMS_HEIGHT))

    def _edited(self, text: str) -> None:
        self._document.set_schema_text(self._tool, text)

    def _go_to(self, entry: QListWidgetItem) -> None:
        self.editor.go_to(entry.data(Qt.ItemDataRole.UserRole))


class _ReadOnlyModel(RegistryTreeModel):
    """Its ticks show the allowed tools, and cannot be changed."""

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        return False


class RecordedTools(QWidget):
    """The tools of a record, read-only: the tree above, the description and the schema of the chosen tool below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recordedTools")
        self._document = RegistryDocument(ToolRegistry(()), self)
        self.model = _ReadOnlyModel(self._document, self)
        self.mark = words_label(tr("Tools of the record, read-only."), parent=self, name="recordedToolsMark")
        self.tree = named(ToolTree(self.model, self), "recordedToolTree")
        self.tree.setAccessibleName(tr("Tools of the record and their arguments"))
        self.tree.setAccessibleDescription(tr("Right and left show and hide a tool’s arguments."))
        self.about = named(WrappedLabel(self), "recordedToolAbout")
        self.about.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.schema = named(JsonEditor(self), "recordedToolSchema")
        self.schema.setAccessibleName(tr("JSON Schema of the tool’s arguments in the record"))
        self.schema.setReadOnly(True)
        self.schema.format_action.setEnabled(False)
        self._lay_out()
        self.tree.itemSelected.connect(self._select)

    def show_registry(self, registry: ToolRegistry) -> None:
        """Show the tools of that record, with the first one chosen."""
        self._document.reset(RegistryState(registry))
        self.tree.select_first()

    def show_argument(self, tool: str, argument: str | None = None) -> None:
        """Choose a tool or an argument, such as for a link elsewhere."""
        self.tree.select(Item(tool, argument))

    def _select(self, item: Item | None) -> None:
        tool = None if item is None else self._document.registry.get(item.tool)
        show_words(self.about, "" if tool is None else tool.description)
        self.schema.show_text("" if tool is None else self._document.schema_text(tool.name))

    def _lay_out(self) -> None:
        upper = holder(vbox(self.mark, self.tree, STRETCH, margins=(10, 10, 10, 4), spacing=6), self)
        lower = holder(vbox(self.about, (self.schema, 1), margins=(10, 4, 10, 10), spacing=6), self)
        parts = splitter(Qt.Orientation.Vertical, (upper, lower), (0, 1), of_cards=False)
        parts.setSizes([320, 480])
        vbox(parts, parent=self)


class ToolsDock(TakesFiles, QWidget):
    """Edits the project's tools in the RegistryDocument, which alone it changes. `unenforcedRequested` asks for the
    constraints that the mask does not enforce.
    """

    unenforcedRequested = Signal()
    endings = (".json",)

    def __init__(self, document: RegistryDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tools")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._document = document
        self.recorded: RecordedTools | None = None
        self.model = RegistryTreeModel(document, self)
        self.tree = ToolTree(self.model, self)
        self.form = ToolForm(document, self)
        self.schema = SchemaPanel(document, self)
        self.actions_ = ToolActions(document, self)
        self.filter_edit = self._make_filter()
        self.tabs = QTabWidget(self, documentMode=True)
        self.tabs.tabBar().setAccessibleName(tr("Edit by form or as raw schema"))
        self.tabs.addTab(self.form, tr("Form"))
        self.tabs.addTab(self.schema, tr("Schema"))
        self.section = FoldingSection("", self.tabs, beside=10)
        named(self.section.button, "editTool", tip=tr("Edit the selected tool or argument (Enter)"))
        self.about = words_label()
        tip = tr("Show on the Grammar page which constraints are enforced")
        self.unenforced_link = link(tr("show"), tip, spoken=tip, clicked=self.unenforcedRequested)
        self.unenforced_link.hide()
        self._unenforced = 0
        self._lay_out()
        self.setAcceptDrops(True)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._show_menu)
        self.tree.itemSelected.connect(self._select)
        self.tree.editRequested.connect(self.edit)
        self.actions_.selectRequested.connect(self.tree.select)
        self.actions_.added.connect(self.edit)
        for signal in (document.changed, document.textChanged, document.problemsChanged):
            signal.connect(self._refresh)
        self.section.toggled.connect(self._share_room)
        self._add_shortcuts()
        self.tree.select_first()
        self._refresh()

    def minimumSizeHint(self) -> QSize:
        """Wide enough for label, field and badge side by side, in any font, as badges appear and disappear."""
        return QSize(side_width(self, MIN_CHARACTERS), super().minimumSizeHint().height())

    def set_enforcement(self, mapping: EnforcementMap) -> None:
        """Set each constraint's enforcement, by tool and JSON Pointer into its parameters; {} hides the badges."""
        self.form.set_enforcement(mapping)

    def show_unenforced(self, count: int) -> None:
        """Show how many constraints the mask does not enforce; 0 also if none is used."""
        self._unenforced = count
        self._show_about()

    def edit(self) -> None:
        """Open the section in which the chosen tool or argument is edited, with the focus in its form."""
        self.section.show_open(True)
        self._focus_name()

    def show_argument(self, tool: str, argument: str | None = None) -> None:
        """Choose a tool or an argument, such as for a link elsewhere."""
        if self.recorded is not None and self.stack.currentWidget() is self.recorded:
            self.recorded.show_argument(tool, argument)
            return
        self.tree.select(Item(tool, argument))
        self.section.show_open(True)

    def make_recorded(self) -> RecordedTools:
        """Make the view of a record's tools in advance, so that it does not delay a record's first tokens."""
        if self.recorded is None:
            self.recorded = RecordedTools(self)
            self.stack.addWidget(self.recorded)
        return self.recorded

    def show_record(self, registry: ToolRegistry | None) -> None:
        """Show the tools of a record, read-only; None shows the project's again."""
        if registry is not None:
            recorded = self.make_recorded()
            recorded.show_registry(registry)
            self._show_page(recorded, recorded.tree)
        else:
            self._show_page(self.editor, self.tree)
        for action in (self.actions_.add_tool, self.actions_.add_argument, self.actions_.paste):
            action.setEnabled(registry is None)
        self.setAcceptDrops(registry is None)
        if registry is None:
            self._refresh()

    def closeEvent(self, event: QCloseEvent) -> None:
        end_work(self)
        super().closeEvent(event)

    def files_dropped(self, paths: list[Path]) -> None:
        self.actions_.read_file(paths[0])

    def _make_filter(self) -> QLineEdit:
        edit = LineEdit(self, placeholderText=tr("Find tools"), clearButtonEnabled=True)
        named(edit, "toolFilter", tr("Find tools"))
        edit.textChanged.connect(self.tree.filter)
        return edit

    def _show_page(self, page: QWidget, tree: ToolTree) -> None:
        """Show one of the two pages; the focus moves from tree to tree, not to another part of the window."""
        focused = self.window().focusWidget()
        moves = focused is not None and self.stack.isAncestorOf(focused) and not page.isAncestorOf(focused)
        if moves:
            focused.clearFocus()
        self.stack.setCurrentWidget(page)
        if moves:
            tree.setFocus(Qt.FocusReason.OtherFocusReason)

    def _lay_out(self) -> None:
        about = hbox((self.about, 1), self.unenforced_link, self._more_button(), spacing=4)
        above = (self.filter_edit, self.tree, about, STRETCH)
        self._upper = holder(vbox(*above, margins=(10, 10, 10, 4), spacing=6), self)
        self.editor = splitter(Qt.Orientation.Vertical, (self._upper, self.section), (0, 1), of_cards=False)
        self.stack = stack(self.editor)
        vbox(self.stack, parent=self)
        self._share_room()

    def _share_room(self, _open: bool = True) -> None:
        """Give the tree as much height as it needs, and an open section at least half."""
        self.editor.handle(1).setEnabled(self.section.is_open)
        room = self.height() - self.editor.handleWidth()
        above = min(self._upper.sizeHint().height(), room // 2)
        self.editor.setSizes([above, room - above])

    def _more_button(self) -> IconButton:
        words, tip = tr("Edit, import and export tools"), tr("Add, edit, import and export tools")
        more = named(IconButton("more", None, self), "", words, tip=tip)
        self.menu = QMenu(tr("Tools"), more)
        for group in self._groups():
            self.menu.addActions(group)
            self.menu.addSeparator()
        more.setMenu(self.menu)
        more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return more

    def _groups(self) -> tuple[list[QAction], ...]:
        acts = self.actions_
        return (
            [acts.add_tool, acts.add_argument, acts.add_custom],
            [acts.duplicate, acts.remove, acts.move_up, acts.move_down],
            [acts.allow_all, acts.forbid_all],
            [acts.bundled, acts.import_file, acts.paste, acts.show_unused],
            [acts.export_file, acts.export_as],
        )

    def _add_shortcuts(self) -> None:
        """Add shortcuts that work only in this page; keys that fields use work only in the tree, and undo works in the
        whole window, wherever no text takes its keys.
        """
        acts = self.actions_
        for action in (acts.duplicate, acts.remove, acts.move_up, acts.move_down):
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self.tree.addAction(action)
        for action in (acts.add_tool, acts.add_argument, acts.paste):
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            self.addAction(action)
        self.addActions([acts.undo, acts.redo])

    def _show_menu(self, place: QPoint) -> None:
        entries = [entry for group in self._groups() for entry in (*group, None)]
        pop_up(QMenu(self), self.tree.viewport().mapToGlobal(place), *entries)

    def _select(self, item: Item | None) -> None:
        self.actions_.set_item(item)
        self.form.show_item(item)
        self.schema.show_tool(item.tool if item else "")
        name = "" if item is None else item.tool if item.argument is None else item.argument
        self.section.set_title(
            tr("Edit {name}", name=shorten(name, MAX_TITLE)) if name else tr("Edit a tool")
        )
        self.section.button.setEnabled(item is not None)

    def _show_about(self) -> None:
        """Show the numbers of tools, of allowed ones, and of constraints that only the validator checks."""
        registry = self._document.registry
        counted = (
            tr("%n tool(s)", "", len(registry)) + ", " + tr("{count:,} allowed", count=len(registry.allowed))
        )
        words = [counted if registry else tr("No tools. The menu on the right adds and imports some.")]
        if self._unenforced:
            words.append(tr("%n constraint(s) not enforced by the mask", "", self._unenforced))
        self.about.setText(" · ".join(words))
        self.unenforced_link.setVisible(bool(self._unenforced))

    def _focus_name(self) -> None:
        """Focus the name of a tool or argument, so that the user can type another one."""
        self.tabs.setCurrentWidget(self.form)
        self.form.focus_name()

    def _refresh(self, _change: object = None) -> None:
        """Update after an edit: the chosen row may have a new name, which the tree knows first."""
        self._select(self.tree.selected())
        self._show_about()
        many = len(self._document.registry) >= FILTER_FROM
        self.filter_edit.setVisible(many or bool(self.filter_edit.text()))
        if self.filter_edit.text():
            self.tree.filter(self.filter_edit.text())
        errors = sum(map(len, self._document.problems.values()))
        self.tabs.setTabText(1, tr("Schema ({count})", count=errors) if errors else tr("Schema"))
