"""The tools and their arguments as a tree: a row with a tick for each tool, its arguments below; all by keyboard.

Children are made from the schema on request, and an edit reports only its changes to the view, so that thousands of
tools cost nothing.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import (
    QAbstractItemModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QStyle, QStyleOptionViewItem, QWidget

from glyphscope.base.shorten import shorten
from glyphscope.registry import Tool
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.project import argument_schema as schema
from glyphscope_gui.shared.cells import NoteDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTree
from glyphscope_gui.shared.plain_text import plain_data
from glyphscope_gui.shared.table_model import NO_INDEX, NOTE_ROLE, Index
from glyphscope_gui.theme import mono_font, theme

MAX_ARGUMENTS = 1_000
"""Arguments of a tool that have rows: Qt asks for each of them when the tool is expanded."""
MAX_NAME = 300
"""Characters of a name in a row."""


class Item(NamedTuple):
    """A row's tool or argument; `argument` is None for the tool itself."""

    tool: str
    argument: str | None = None


class RegistryTreeModel(QAbstractItemModel):
    """Tools at the top, arguments below.

    Every tool has a number that stays the same when it is moved or renamed. The internal id of an argument is its
    tool's number, the id of a tool 0, so the persistent indexes of a view stay valid.
    """

    def __init__(self, document: RegistryDocument, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._numbers = itertools.count(1)
        self._tools: list[Tool] = []
        self._ids: list[int] = []
        """The number of the tool in each row."""
        self._rows: dict[int, int] = {}
        """The row of the tool with each number."""
        self._needed: tuple[Tool | None, frozenset[str]] = None, frozenset()
        """The tool whose arguments were shown last, and those that it requires."""
        self._arguments: dict[int, list[str]] = {}
        """By row, the names of the tool's arguments, if they were needed so far."""
        tools = document.shown_tools()
        self._take(tools, [next(self._numbers) for _ in tools])
        document.changed.connect(self._tools_changed)
        document.textChanged.connect(self._tools_changed)
        document.problemsChanged.connect(self._problems_changed)

    # -- what a view asks --------------------------------------------------------------------------------------

    def index(self, row: int, column: int, parent: Index = NO_INDEX) -> QModelIndex:
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, 0, self._ids[parent.row()] if parent.isValid() else 0)

    def hasChildren(self, parent: Index = NO_INDEX) -> bool:
        """Called for every tool at each layout of a view, so it does not make the list of names."""
        if not parent.isValid():
            return bool(self._tools)
        return not parent.internalId() and bool(schema.arguments(self._tools[parent.row()].parameters))

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        owner = index.internalId() if index.isValid() else 0
        return self.createIndex(self._rows[owner], 0, 0) if owner else QModelIndex()

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        if not parent.isValid():
            return len(self._tools)
        return 0 if parent.internalId() else len(self._names(parent.row()))

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 1

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_tool = index.isValid() and not index.internalId()
        return flags | Qt.ItemFlag.ItemIsUserCheckable if is_tool else flags

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        item = self.item(index)
        tool = self._tools[self._tool_row(index)]
        return (
            self._tool_data(tool, role)
            if item.argument is None
            else self._argument_data(tool, item.argument, role)
        )

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or index.internalId():
            return False
        self._document.set_enabled(self.item(index).tool, Qt.CheckState(value) == Qt.CheckState.Checked)
        return True

    def matches(self, row: int, words: list[str]) -> bool:
        """Whether a tool's name and description contain all the words, which are casefolded."""
        tool = self._tools[row]
        text = f"{tool.name} {tool.description}".casefold()
        return all(word in text for word in words)

    # -- rows and names ----------------------------------------------------------------------------------------

    def item(self, index: Index) -> Item:
        """The tool or argument of a valid index."""
        row = self._tool_row(index)
        argument = self._names(row)[index.row()] if index.internalId() else None
        return Item(self._tools[row].name, argument)

    def _tool_row(self, index: Index) -> int:
        return self._rows[index.internalId()] if index.internalId() else index.row()

    def index_of(self, item: Item) -> QModelIndex:
        """The index of a tool or argument; invalid if there is none."""
        for row, tool in enumerate(self._tools):
            if tool.name == item.tool:
                top = self.index(row, 0)
                if item.argument is None:
                    return top
                names = self._names(row)
                return (
                    self.index(names.index(item.argument), 0, top)
                    if item.argument in names
                    else QModelIndex()
                )
        return QModelIndex()

    def _names(self, row: int) -> list[str]:
        if row not in self._arguments:
            self._arguments[row] = _shown_arguments(self._tools[row])
        return self._arguments[row]

    # -- what a row says ---------------------------------------------------------------------------------------

    def _tool_data(self, tool: Tool, role: int) -> object:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shorten(tool.name, MAX_NAME)
            case Qt.ItemDataRole.CheckStateRole:
                return Qt.CheckState.Checked if tool.enabled else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ToolTipRole:
                return f"{tool.name}\n{tool.description}".strip()
            case Qt.ItemDataRole.AccessibleTextRole:
                arguments = tr("%n argument(s)", "", len(schema.arguments(tool.parameters)))
                allowed = tr("allowed") if tool.enabled else tr("not allowed")
                return f"{tool.name}, {allowed}, {arguments}"
            case Qt.ItemDataRole.ForegroundRole if not tool.enabled:
                return theme().color("text-faint")
            case _ if role == NOTE_ROLE:
                if tool.name in self._document.problems:
                    return tr("has errors"), "impossible"
                if not tool.enabled:
                    return tr("not allowed"), "text-faint"
                count = len(schema.arguments(tool.parameters))
                if count > MAX_ARGUMENTS:
                    words = tr("first {shown:,} of {count:,} args", shown=MAX_ARGUMENTS, count=count)
                    return words, "text-faint"
                return tr("%n arg(s)", "", count), "text-faint"
        return None

    def _argument_data(self, tool: Tool, name: str, role: int) -> object:
        argument = schema.arguments(tool.parameters)[name]
        if self._needed[0] is not tool:  # a row is asked for its data many times
            self._needed = tool, frozenset(schema.required(tool.parameters))
        needed = name in self._needed[1]
        need = tr("required") if needed else tr("optional")
        match role:
            case Qt.ItemDataRole.DisplayRole:
                shown = shorten(name, MAX_NAME)
                return f"{shown} *" if needed else shown
            case Qt.ItemDataRole.ToolTipRole:
                description = argument.get("description", "") if isinstance(argument, dict) else ""
                words = f"{name}: {schema.summary(argument, tool.parameters)}, {need}"
                return f"{words}\n{description}".strip()
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{name}, {schema.summary(argument, tool.parameters)}, {need}"
            case Qt.ItemDataRole.ForegroundRole:
                return theme().color("text-muted")
            case _ if role == NOTE_ROLE:
                return schema.summary(argument, tool.parameters), "text-faint"
        return None

    # -- what an edit changed ----------------------------------------------------------------------------------

    def _tools_changed(self, _change: object) -> None:
        old, new = self._tools, self._document.shown_tools()
        start, end = _common(old, new, operator.is_)
        gone, come = old[start : len(old) - end], new[start : len(new) - end]
        root = QModelIndex()
        if len(gone) == len(come):
            moved = _moved(gone, come)
            if moved is None:
                for row, tool in enumerate(come, start):
                    self._tool_changed(row, tool)
                return
            source, target = start + moved[0], start + moved[1]
            self.beginMoveRows(root, source, source, root, target + (target > source))
            ids = list(self._ids)
            ids.insert(target, ids.pop(source))
            self._take(new, ids)
            self.endMoveRows()
            return
        fresh = [next(self._numbers) for _ in come]
        ids = [*self._ids[:start], *fresh, *self._ids[len(old) - end :]]
        if not gone:
            self.beginInsertRows(root, start, start + len(come) - 1)
            self._take(new, ids)
            self.endInsertRows()
        elif not come:
            self.beginRemoveRows(root, start, start + len(gone) - 1)
            self._take(new, ids)
            self.endRemoveRows()
        else:
            self.beginResetModel()
            self._take(new, ids)
            self.endResetModel()

    def _take(self, tools: Sequence[Tool], ids: list[int]) -> None:
        self._tools = list(tools)
        self._ids = ids
        self._rows = {number: row for row, number in enumerate(ids)}
        self._arguments = {}

    def _tool_changed(self, row: int, tool: Tool) -> None:
        """Replace one tool in place; rows of arguments are only inserted or removed if their number changes."""
        top = self.index(row, 0)
        before, after = self._names(row), _shown_arguments(tool)
        start, end = _common(before, after, operator.eq)
        gone, come = len(before) - start - end, len(after) - start - end
        if gone > come:
            self.beginRemoveRows(top, start, start + gone - come - 1)
        elif come > gone:
            self.beginInsertRows(top, start, start + come - gone - 1)
        self._tools[row] = tool
        self._arguments[row] = after
        if gone > come:
            self.endRemoveRows()
        elif come > gone:
            self.endInsertRows()
        self.dataChanged.emit(top, top)
        if after:
            self.dataChanged.emit(self.index(0, 0, top), self.index(len(after) - 1, 0, top))

    def _problems_changed(self, _problems: object) -> None:
        if self._tools:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._tools) - 1, 0), [NOTE_ROLE])


def _shown_arguments(tool: Tool) -> list[str]:
    """The names of the arguments that have rows."""
    return list(itertools.islice(schema.arguments(tool.parameters), MAX_ARGUMENTS))


def _common(old: Sequence[Any], new: Sequence[Any], same: Callable[[Any, Any], bool]) -> tuple[int, int]:
    """The number of equal items at the start and at the end."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and same(old[start], new[start]):
        start += 1
    end = 0
    while end < shorter - start and same(old[-1 - end], new[-1 - end]):
        end += 1
    return start, end


def _moved(old: Sequence[Tool], new: Sequence[Tool]) -> tuple[int, int] | None:
    """The places from and to which one item moved, if it moved from end to end and nothing else changed."""
    if len(old) < 2:
        return None
    if all(a is b for a, b in zip((*old[1:], old[0]), new)):
        return 0, len(old) - 1
    if all(a is b for a, b in zip((old[-1], *old[:-1]), new)):
        return len(old) - 1, 0
    return None


INDENT = 22
"""Pixels by which arguments are indented."""


class _ToolDelegate(NoteDelegate):
    """The chosen row, and the tool of a chosen argument, in bold; the notes in the fixed-pitch font."""

    def note_font(self, font: QFont) -> QFont:
        return mono_font(-1)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        view = option.widget
        has_current = isinstance(view, QAbstractItemView) and view.currentIndex().parent() == index
        if has_current or option.state & QStyle.StateFlag.State_Selected:
            font = QFont(option.font)
            font.setWeight(QFont.Weight.DemiBold)
            option.font = font
        super().initStyleOption(option, index)


_CHECK = Qt.ItemDataRole.CheckStateRole
_OTHER = {
    Qt.CheckState.Checked: Qt.CheckState.Unchecked,
    Qt.CheckState.Unchecked: Qt.CheckState.Checked,
}
MIN_ROWS, MAX_ROWS = 4, 60
"""The minimum and maximum number of rows for which the tree requests room."""


class ToolTree(PlainTree):
    """`itemSelected` carries the chosen Item, or None; `editRequested` asks to edit it.

    A chosen tool shows its arguments; a second click hides them.
    """

    itemSelected = Signal(object)
    editRequested = Signal()

    def __init__(self, model: RegistryTreeModel, parent: QWidget | None = None) -> None:
        keys = tr(
            "Space allows or forbids a tool. Right and left show and hide its arguments. Enter edits, Delete removes."
        )
        words = tr("Tools and their arguments")
        super().__init__(model, "toolTree", words, parent, description=keys, indent=INDENT)
        self._tools = model
        self._delegate = _ToolDelegate(self)
        self.setItemDelegate(self._delegate)
        self.setRootIsDecorated(False)
        self.setExpandsOnDoubleClick(False)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        for changed in (
            self.expanded, self.collapsed, model.modelReset, model.rowsInserted, model.rowsRemoved
        ):  # fmt: skip
            changed.connect(lambda *_: self.updateGeometry())
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self.select_first)

    def sizeHint(self) -> QSize:
        """As high as its rows, within bounds; with more rows it scrolls."""
        rows, index = 0, self._tools.index(0, 0)
        while index.isValid() and rows < MAX_ROWS:
            rows += 1
            index = self.indexBelow(index)
        return QSize(200, max(rows, MIN_ROWS) * self.sizeHintForRow(0) + 2)

    def selected(self) -> Item | None:
        index = self.currentIndex()
        return self._tools.item(index) if index.isValid() else None

    def select(self, item: Item) -> None:
        """Choose a row and show it; does nothing if there is no such row."""
        index = self._tools.index_of(item)
        if index.isValid():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.scrollTo(index)

    def select_first(self) -> None:
        if self._tools.rowCount():
            self.select(self._tools.item(self._tools.index(0, 0)))
        else:
            self.itemSelected.emit(None)

    def filter(self, words: str) -> None:
        """Show only the tools whose name and description contain all the words."""
        searched, root = words.casefold().split(), QModelIndex()
        for row in range(self._tools.rowCount()):
            hidden = not self._tools.matches(row, searched)
            if hidden != self.isRowHidden(row, root):
                self.setRowHidden(row, root, hidden)

    def _current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid() and not current.parent().isValid():
            self.expand(current)
        self.itemSelected.emit(self.selected())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on the chosen tool's name hides its arguments, and shows them again."""
        place = event.position().toPoint()
        index = self.indexAt(place)
        again = index.isValid() and index == self.currentIndex() and not index.parent().isValid()
        super().mousePressEvent(event)
        if again and place.x() > self.box(index).right() and event.button() == Qt.MouseButton.LeftButton:
            self.setExpanded(index, not self.isExpanded(index))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if index.isValid() and (index.parent().isValid() or place.x() > self.box(index).right()):
            self.editRequested.emit()

    def box(self, index: QModelIndex) -> QRect:
        """The rectangle of a tool's check box."""
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        option.rect = self.visualRect(index)
        return self._delegate.box(option, index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.editRequested.emit()
        elif event.key() == Qt.Key.Key_Space and (checked := index.data(_CHECK)) is not None:
            # The view would treat a space soon after another key as a search by name.
            self._tools.setData(index, _OTHER[Qt.CheckState(checked)], _CHECK)
        else:
            super().keyPressEvent(event)
