"""The fields of a call as a table, in the order they were opened, and what of the tool was not given."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.calling import FieldState
from glyphscope.calling.fold import StageState
from glyphscope.events import (
    AnyEvent,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    Status,
    ToolKnown,
    Violation,
)
from glyphscope.notation import shape_keys
from glyphscope.prompting.signature import argument_types
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import readable, to_pointer
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index, TableModel
from glyphscope_gui.theme import mono_font, theme

STATUS_ROLE = Qt.ItemDataRole.UserRole
COLUMNS = (tr("Field"), tr("Value so far"), tr("Verdict"), tr("Constraint"), tr("Decided at"), tr("Tokens"))
FIELD, VALUE, VERDICT, CONSTRAINT, DECIDED, TOKENS = range(6)
LONGEST_VALUE = 120
_VERDICTS: dict[Status, str] = {
    "holds": tr("holds", "a verdict"),
    "open": tr("open", "a verdict"),
    "impossible": tr("impossible", "a verdict"),
}


@dataclass
class Row:
    """A field as it is shown; `state` is None for an argument that was not given."""

    path: str
    state: FieldState | None
    value: str = ""
    constraint: str = ""
    decided: str = ""
    tokens: str = ""

    @property
    def status(self) -> Status | None:
        return self.state.status if self.state else None


class FieldTableModel(TableModel):
    """`apply` takes the events of a batch and the state after them."""

    titles = COLUMNS
    figures = frozenset({TOKENS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._places: dict[str, int] = {}
        self._constraints: dict[str, str] = {}
        self._decided: dict[str, int] = {}
        self._registry: ToolRegistry | None = None
        self._name_path, self._args_path = "/action", ""
        self._known = ""

    def begin(self, registry: ToolRegistry | None, shape: Any, tool: str = "") -> None:
        """An empty table for a text with these tools; `tool` where an earlier one named it."""
        name_key, args_key = shape_keys(shape)
        self.beginResetModel()
        self._registry = registry
        self._name_path, self._args_path = f"/{name_key}", f"/{args_key}" if args_key else ""
        self._rows, self._places, self._constraints, self._decided = [], {}, {}, {}
        if registry is not None:
            count = len(registry.allowed)
            self._constraints[self._name_path] = (
                tr("allow list of {count}", count=count) if count != 1 else tr("one tool allowed")
            )
        self._known = ""
        if tool:
            self._tool_known(tool)
        self.endResetModel()

    def apply(self, state: StageState, events: Iterable[AnyEvent]) -> None:
        touched: dict[str, None] = {}
        for event in events:
            if isinstance(event, (FieldOpened, FieldChanged, FieldClosed)):
                touched[event.path] = None
            elif isinstance(event, ToolKnown):
                self._tool_known(event.name)
                touched.update(dict.fromkeys(self._places))
            elif isinstance(event, Violation):
                self._decided.setdefault(event.path, event.char)
                touched[event.path] = None
        if touched:
            self._update(state, [path for path in touched if path in state.fields])

    def add_missing(self, state: StageState) -> None:
        """After the text: the arguments of the tool that were not given."""
        prefix = f"{self._args_path}/"
        missing = [
            path
            for path in self._constraints
            if path.startswith(prefix) and path != self._name_path and path not in self._places
        ]
        if missing and self._known and (state.tool is None or state.tool.allowed):
            self._append([Row(path, None, tr("not given"), self._constraints[path]) for path in missing])

    def row(self, place: int) -> Row:
        return self._rows[place]

    # -- the table ---------------------------------------------------------------------------------------------

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._text(row, column))
        if role == STATUS_ROLE:
            return row.status
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text-faint" if row.state is None else "text")
        if role == Qt.ItemDataRole.FontRole and row.state is not None and column == VALUE:
            return mono_font(-0.5)
        return None

    def _text(self, row: Row, column: int) -> str:
        match column:
            case 0:
                return self._name(row.path)
            case 1:
                return row.value
            case 2:
                return _VERDICTS[row.status] if row.status else ""
            case 3:
                return row.constraint
            case 4:
                return row.decided
            case _:
                return row.tokens

    def _name(self, path: str) -> str:
        """The field's name; below an argument with the names above it."""
        inner = path.removeprefix(f"{self._args_path}/") if self._args_path else path.removeprefix("/")
        return readable(f"/{inner}") or path

    # -- inside ------------------------------------------------------------------------------------------------

    def _tool_known(self, name: str) -> None:
        tool = self._registry.get(name) if self._registry else None
        if tool is None:
            return
        self._known = name
        required = tool.parameters.get("required", ())
        for name, words in argument_types(tool).items():
            told = words if name in required else tr("{type}, optional", type=words)
            self._constraints[self._args_path + to_pointer((name,))] = told

    def _update(self, state: StageState, paths: list[str]) -> None:
        new = [path for path in paths if path not in self._places]
        for path in paths:
            place = self._places.get(path)
            if place is not None:
                self._fill(self._rows[place], state)
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(COLUMNS) - 1))
        rows = [Row(path, state.fields[path]) for path in new]
        for row in rows:
            self._fill(row, state)
        self._append(rows)

    def _append(self, rows: list[Row]) -> None:
        if not rows:
            return
        first = len(self._rows)
        self.beginInsertRows(NO_INDEX, first, first + len(rows) - 1)
        for row in rows:
            self._places[row.path] = len(self._rows)
            self._rows.append(row)
        self.endInsertRows()

    def _fill(self, row: Row, state: StageState) -> None:
        field = row.state = state.fields[row.path]
        start = field.start or 0
        text = state.text[start : min(field.end, start + LONGEST_VALUE)]
        if field.closed and field.value is not None and len(text) < LONGEST_VALUE and not text:
            text = json.dumps(field.value, ensure_ascii=False)
        row.value = text + ("…" if field.end - start > LONGEST_VALUE else "")
        row.constraint = self._constraints.get(row.path, "")
        first = bisect_right(state.tokens, start, key=lambda token: token.end)
        last = bisect_left(state.tokens, field.end, key=lambda token: token.start)
        row.tokens = str(max(last - first, 0))
        if field.status == "impossible":
            char = self._decided.get(row.path)
            row.decided = tr("character {char}", char=char) if char is not None else ""
        elif field.closed:
            # A quote or a bracket ends its value; a number or a bare word ends with what follows it.
            ends_itself = state.text[field.end - 1 : field.end] in tuple('"}]')
            row.decided = tr("character {char}", char=field.end - ends_itself)
        else:
            row.decided = tr("still open")
