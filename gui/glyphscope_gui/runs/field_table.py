"""The field table: value, verdict, and the constraint in words."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

from PySide6.QtCore import QModelIndex, QObject, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope.base.pointer import readable, to_pointer
from glyphscope.events import RunStarted, Status, ToolKnown
from glyphscope.explain.segments import counted
from glyphscope.notation.shapes import shape_keys
from glyphscope.prompting.signature import argument_types
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.runs import FieldState
from glyphscope.runs.answer_notes import copied_values
from glyphscope.runs.deferral import stage_registry
from glyphscope.runs.state import StageState
from glyphscope.turns.answers import schema_answer
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.shared.cells import PILL, PillDelegate
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, PlainTable
from glyphscope_gui.shared.run_words import NO_TOKENS
from glyphscope_gui.shared.table_model import PILL_ROLE, TableModel
from glyphscope_gui.shared.verdict import VERDICTS
from glyphscope_gui.theme import mono_font, ui_font

_Key: TypeAlias = tuple[int, str]
"""The index of a call, and the path of one of its fields."""
_WHOLE = "call"
"""Stands for the whole call in place of a path, which begins with a slash or is empty."""
COLUMNS = (tr("Field"), tr("Value"), tr("Verdict"), tr("Constraint"), tr("Decided at"), tr("Tokens"))
FIELD, VALUE, VERDICT, CONSTRAINT, DECIDED, TOKENS = range(6)
MAX_VALUE = 120
"""Characters of a value that are shown."""


@dataclass
class FieldRow:
    """A row of the table; `state` is None for a missing argument. The row of a whole call has the call's
    `verdict`.
    """

    path: str
    state: FieldState | None
    call: int = 0
    value: str = ""
    constraint: str = ""
    decided: str = ""
    tokens: str = ""
    verdict: Status | None = None

    @property
    def status(self) -> Status | None:
        return self.state.status if self.state else self.verdict

    @property
    def is_call(self) -> bool:
        return self.verdict is not None


class FieldTableModel(TableModel[FieldRow]):
    """The fields of a stage's calls; once it is complete, also the missing arguments."""

    titles = COLUMNS
    figures = frozenset({TOKENS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[FieldRow] = []
        self._places: dict[_Key, int] = {}
        """The rows of fields and calls."""
        self._constraints: dict[_Key, str] = {}
        """The constraint of each field of a known tool, in words."""
        self._stage = StageState()
        self._earlier = self._stage.earlier
        self._started: RunStarted | None = None
        self._touched = 0
        """The number of changes of the stage's calls that are shown."""
        self._decided: dict[_Key, int] = {}
        """The character that made a field invalid."""
        self._judged = 0
        """The number of the stage's violations among them."""
        self._tools: dict[int, ToolKnown] = {}
        """The known tools by call."""
        self._registry: ToolRegistry | None = None
        self._name_path: str | None = None
        """The path of the field that names the tool; None if no field does."""
        self._args_path = ""
        """The path of the object that contains the arguments; empty if they are beside the name."""
        self._call = 0
        """The index of the newest call."""
        self._has_copied = False
        """Whether copied values are marked."""

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        state = shown.stage
        same = state is self._stage and state.earlier is self._earlier
        if not same or shown.run.started is not self._started:
            self._begin(shown)
        new = state.touched[self._touched :]
        touched = dict.fromkeys((call, _WHOLE if path is None else path) for call, path in new)
        self._touched += len(new)
        for violation in state.violations[self._judged :]:
            self._decided.setdefault((violation.call_index, violation.path), violation.char)
        self._judged = len(state.violations)
        for call in sorted({call for call, _ in touched}):
            if call > self._call:
                self._next_call(state, call)
            tool = state.call_at(call).tool
            if tool is not None and tool is not self._tools.get(call):
                self._tools[call] = tool
                self._tool_known(tool.name, call)
                touched |= dict.fromkeys(key for key in self._places if key[0] == call)
            self._update(state, [key for key in touched if key[0] == call and self._is_there(state, key)])
        if not shown.is_growing:
            self._add_missing(state)
            self._add_copied(shown)

    def _begin(self, shown: ShownStage) -> None:
        """Begin an empty table for this stage."""
        run, stage, request = shown.run, shown.stage, shown.request
        answer = None if request is None or request.answer.is_call else request.answer
        # no field names a tool
        if answer is not None or (request is not None and request.native == "template"):
            name_key, args_key = None, None
        else:
            name_key, args_key = shape_keys("flat" if request is None else request.shape)
        self.beginResetModel()
        self._registry, self._stage, self._started = stage_registry(run, stage), stage, run.started
        self._earlier = stage.earlier
        self._name_path = f"/{name_key}" if name_key else None
        self._args_path = f"/{args_key}" if args_key else ""
        self._rows, self._places, self._constraints, self._decided, self._tools = [], {}, {}, {}, {}
        self._call = self._touched = self._judged = 0
        self._has_copied = False
        self._begin_call(0)
        if stage.kind == "arguments":  # for the last tool that was named before it
            before = takewhile(lambda other: other is not stage, run.stages)
            named = next((each.tool.name for each in reversed([*before]) if each.tool is not None), "")
            self._tool_known(named, 0)
        elif answer is not None and answer.kind == "schema":
            self._set_constraints(schema_answer(answer), 0)
        self.endResetModel()

    def _add_missing(self, state: StageState) -> None:
        """Add the missing arguments of the tool, at the end of the text."""
        tool = state.call_at(self._call).tool
        if tool is not None and not tool.allowed:
            return
        prefix = f"{self._args_path}/"
        missing = [
            key
            for key in self._constraints
            if key[0] == self._call
            and key[1].startswith(prefix)
            and key[1] != self._name_path
            and key not in self._places
        ]
        self._append(
            [
                FieldRow(path, None, call, tr("not set"), self._constraints[call, path])
                for call, path in missing
            ]
        )

    def _add_copied(self, shown: ShownStage) -> None:
        """Mark the values that are copied from the prompt's example or from the schema, once the text has ended."""
        if self._has_copied:
            return
        self._has_copied = True
        for each in copied_values(shown.run, shown.stage):
            place = self._places.get((each.call, self._args_path + to_pointer((each.name,))))
            if place is not None:
                row = self._rows[place]
                row.constraint = " · ".join(filter(None, (each.words(tr), row.constraint)))
                self._changed(place, place + 1)

    # -- the table ---------------------------------------------------------------------------------------------

    def words(self, row: FieldRow, column: int) -> str:
        return (
            tr("Call {number}", number=row.call + 1) if row.is_call else self._name(row.path),
            row.value,
            VERDICTS[row.status].words if row.status else "",
            row.constraint,
            row.decided,
            row.tokens,
        )[column]

    def tip(self, row: FieldRow, column: int) -> str:
        return self.words(row, column)

    def color(self, row: FieldRow, column: int) -> str:
        return "text-faint" if row.status is None else "text"

    def extra(self, row: FieldRow, column: int, role: int) -> Any:
        if role == PILL_ROLE and column == VERDICT and row.status is not None:
            verdict = VERDICTS[row.status]
            return f"{verdict.sign} {verdict.words}", verdict.role
        if role == Qt.ItemDataRole.FontRole and row.state is not None and column == VALUE:
            return mono_font(-0.5)
        if role == Qt.ItemDataRole.FontRole and row.is_call:
            bold = ui_font()
            bold.setWeight(QFont.Weight.DemiBold)
            return bold
        return None

    def _name(self, path: str) -> str:
        """The field's name; for a field inside an argument, preceded by the names of its parents."""
        inner = path.removeprefix(f"{self._args_path}/") if self._args_path else path.removeprefix("/")
        return readable(f"/{inner}") or path

    def _begin_call(self, call: int) -> None:
        if self._registry is not None and self._name_path is not None:
            count = len(self._registry.allowed)
            self._constraints[call, self._name_path] = (
                tr("allow list of {count}", count=count) if count != 1 else tr("one tool allowed")
            )

    def _next_call(self, state: StageState, call: int) -> None:
        """Begin another call: the one before it is complete, and each has a row above its fields."""
        self._add_missing(state)
        if (self._call, _WHOLE) not in self._places:
            row = FieldRow(_WHOLE, None, self._call, verdict="open")
            self._fill(row, state)
            self._places = {key: place + 1 for key, place in self._places.items()}
            self._places[self._call, _WHOLE] = 0
            self._insert(0, [row])
        self._call = call
        self._begin_call(call)
        row = FieldRow(_WHOLE, None, call, verdict="open")
        self._fill(row, state)
        self._append([row])

    def _is_there(self, state: StageState, key: _Key) -> bool:
        call, path = key
        return key in self._places if path == _WHOLE else path in state.call_at(call).fields

    def _tool_known(self, name: str, call: int) -> None:
        tool = self._registry.get(name) if self._registry else None
        if tool is not None:
            self._set_constraints(tool, call)

    def _set_constraints(self, tool: Tool, call: int) -> None:
        """Set those of the tool's arguments, or of the members of an answer's schema."""
        required = tool.parameters.get("required", ())
        for name, words in argument_types(tool).items():
            constraint = words if name in required else tr("{type}, optional", type=words)
            self._constraints[call, self._args_path + to_pointer((name,))] = constraint

    def _update(self, state: StageState, keys: list[_Key]) -> None:
        new = [key for key in keys if key not in self._places]
        for key in keys:
            place = self._places.get(key)
            if place is not None:
                self._fill(self._rows[place], state)
                self._changed(place, place + 1)
        rows = [FieldRow(path, state.call_at(call).fields[path], call) for call, path in new]
        for row in rows:
            self._fill(row, state)
        self._append(rows)

    def _append(self, rows: list[FieldRow]) -> None:
        first = len(self._rows)
        self._places |= {(row.call, row.path): index for index, row in enumerate(rows, first)}
        self._insert(first, rows)

    def _fill(self, row: FieldRow, state: StageState) -> None:
        if row.path == _WHOLE:
            self._fill_call(row, state)
            return
        field = row.state = state.call_at(row.call).fields[row.path]
        start = field.start or 0
        text = state.text[start : min(field.end, start + MAX_VALUE)]
        if field.closed and field.value is not None and not text:
            text = json.dumps(field.value, ensure_ascii=False)
        row.value = text + ("…" if field.end - start > MAX_VALUE else "")
        row.constraint = self._constraints.get((row.call, row.path), "")
        first = bisect_right(state.tokens, start, key=lambda token: token.end)
        last = bisect_left(state.tokens, field.end, key=lambda token: token.start)
        row.tokens = _count(state, range(first, max(last, first)))
        if field.status == "impossible":
            char = self._decided.get((row.call, row.path))
            row.decided = tr("character {char}", char=char) if char is not None else ""
        elif field.closed:
            # A quote or a bracket ends its value; only the next character ends a number or a bare word.
            ends_itself = state.text[field.end - 1 : field.end] in tuple('"}]')
            row.decided = tr("character {char}", char=field.end - ends_itself)
        else:
            row.decided = tr("still open")

    def _fill_call(self, row: FieldRow, state: StageState) -> None:
        """Fill the row of a whole call: its tool, its verdict and its error."""
        call = state.call_at(row.call)
        row.verdict = call.status
        row.value = call.tool.name if call.tool is not None else ""
        fault = call.violations[0] if call.violations else None
        row.constraint = fault.message if fault is not None else ""
        row.decided = tr("character {char}", char=fault.char) if fault is not None else ""
        part = call.part
        row.tokens = _count(state, state.tokens_between(part.start, part.end)) if part is not None else ""


def _count(state: StageState, tokens: range) -> str:
    """The number of these tokens, "–" if it is not known."""
    count = counted(state, tokens)
    return "–" if count is None else str(count)


MIN_ROWS, MAX_ROWS = 4, 7
"""The minimum and maximum height of the table in rows, before it scrolls."""
NARROW = 76
"""Width of the table, in characters, below which the column of tokens is hidden."""
NARROWER = 64
"""Width, in characters, below which the deciding character is hidden too: the stream marks it."""
MAX_MEASURED = 40
"""Number of rows that are measured for the width of a column."""


class FieldTable(PlainTable):
    def __init__(self, model: FieldTableModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=VALUE, parent=parent)
        self._fields = model
        self._complete: StageState | None = None
        """The shown stage, once it is complete."""
        named(self, "fieldTable", tr("Fields of the answer with their verdicts"))
        self.setItemDelegateForColumn(VERDICT, PillDelegate(self))
        self.fit_rows(11)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        verdicts = [f"{each.sign} {each.words} " for each in VERDICTS.values()]
        self.fit_column(VERDICT, max(verdicts, key=self.fontMetrics().horizontalAdvance))
        self.fit_column(DECIDED, tr("character {char}", char="0000"))
        self.fit_column(TOKENS, "0000")
        model.rowsInserted.connect(self._rows_changed)
        model.modelReset.connect(self.updateGeometry)

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage; once it is complete, from the first impossible field on, else from the top."""
        self._fields.show_stage(shown)
        complete = None if shown.is_growing else shown.stage
        if complete is not self._complete and complete is not None:
            self.scrollToTop()
            status = [row.status for row in self._fields.rows]
            if "impossible" in status:
                self.scrollTo(self.model().index(status.index("impossible"), FIELD))
        words = tr("No fields, as the answer has no call or value.")
        is_empty = complete is not None and not self._fields.rowCount()
        self.show_nothing((words if shown.stage.tokens else NO_TOKENS) if is_empty else "")
        is_new, self._complete = complete is not self._complete, complete
        if is_new:
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height_of(min(max(self.model().rowCount(), MIN_ROWS), MAX_ROWS)))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.height_of(1))

    def _rows_changed(self, _parent: QModelIndex, first: int, last: int) -> None:
        """Scroll to the newest field."""
        self._fit()
        self.scrollToBottom()
        self.updateGeometry()

    def _fit(self) -> None:
        """Fit the names, up to two fifths; value and constraint share the rest, each with at least the width of its
        title. The constraint gets what complete values and verdicts leave; values that still grow keep half of it.
        """
        width = self.viewport().width()
        verdict = self.fitted_width(VERDICT)
        if self._complete is not None:
            verdict = min(verdict, max(self.widest(VERDICT, MAX_MEASURED) + PILL, self.title_width(VERDICT)))
        self.setColumnWidth(VERDICT, verdict)
        whole = self.contentsRect().width()  # a scroll bar, which comes with the rows, hides no column
        for column, least in ((TOKENS, NARROW), (DECIDED, NARROWER)):
            self.setColumnHidden(column, whole < least * self.fontMetrics().averageCharWidth())
        room = width - sum(self.columnWidth(column) for column in (VERDICT, DECIDED, TOKENS))  # hidden: 0
        titles = self.least_width(VALUE) + self.least_width(CONSTRAINT)
        name = max(min(self._needed(FIELD), round(room * 0.4), room - titles), 1)
        title, value = self.title_width(CONSTRAINT), (room - name) // 2
        if self._complete is not None:
            value = min(max(value, room - name - self._needed(CONSTRAINT)), self._needed(VALUE))
        constraint = max(min(self._needed(CONSTRAINT), room - name - value), title)
        self.setColumnWidth(FIELD, name)
        self.setColumnWidth(CONSTRAINT, constraint)
        rest = room - self.columnWidth(FIELD) - self.columnWidth(CONSTRAINT)
        self.setColumnWidth(VALUE, max(rest, 40))

    def _needed(self, column: int) -> int:
        """The width in pixels that the title and the first rows need."""
        widest = self.widest(column, MAX_MEASURED)
        if column == VALUE:
            letters = QFontMetrics(mono_font(-0.5))
            widest = max(
                (letters.horizontalAdvance(row.value) for row in self._fields.rows[:MAX_MEASURED]), default=0
            )
        return max(widest + CELL, self.title_width(column))
