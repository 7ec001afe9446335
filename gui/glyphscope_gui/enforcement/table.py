"""The enforcement table: for each constraint, whether each engine really enforces it, filled in as proofs arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QModelIndex, QObject, QSize, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope_gui.shared.cells import PILL, PillDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import CELL, MIN_CELL, PlainTable
from glyphscope_gui.shared.table_model import PILL_ROLE, TableModel

Engines: TypeAlias = tuple[tuple[str, str, str], ...]
"""The key, heading and sentence for each tested engine."""
ENGINES: Engines = (
    ("mask", tr("Mask"), tr("Glyphscope’s grammar in llguidance, as used by the constraint “Mask”")),
    (
        "gbnf",
        tr("GBNF"),
        tr("Glyphscope’s grammar in llama.cpp’s grammar sampler, as used by the constraint “GBNF”"),
    ),
    (
        "converter",
        tr("Converter"),
        tr(
            "The grammar that llama.cpp’s own converter generates from the tool’s JSON Schema. "
            "It supports only JSON, so it is tested with JSON."
        ),
    ),
)
OUTSIDE_ENGINES: Engines = (
    (
        "outlines",
        "outlines",
        tr("outlines-core with the tool’s JSON Schema, as of its installation; tested with JSON"),
    ),
    (
        "xgrammar",
        "XGrammar",
        tr("XGrammar with the tool’s JSON Schema, as of its installation; tested with JSON"),
    ),
)
"""Engines that are installed on request, for the user's choice."""
CUSTOM = "own"
"""The key of the column for a custom grammar, which only Glyphscope's matcher reads."""
CUSTOM_ENGINE: Engines = (
    (CUSTOM, tr("This grammar"), tr("The grammar in the editor, as read by Glyphscope’s matcher")),
)
CONSTRAINT = 0


@dataclass(frozen=True)
class EnforcementCell:
    """The enforcement of one constraint by one engine. `state` is a key of _LOOKS; `witness` is short, `why` is not."""

    state: str
    witness: str = ""
    why: str = ""


@dataclass(frozen=True)
class EnforcementRow:
    """A constraint of a tool, and its known enforcement by engine."""

    tool: str
    pointer: str
    keyword: str
    words: str
    cells: dict[str, EnforcementCell]

    def lacks(self, engine: str) -> bool:
        """Whether that engine does not enforce it, as far as is known."""
        return engine in self.cells and self.cells[engine].state != "enforced"

    def is_unknown(self, engine: str) -> bool:
        """Whether it is not known if that engine enforces it."""
        return engine in self.cells and self.cells[engine].state == "unknown"


_LOOKS = {
    "enforced": (tr("enforced"), "holds", tr("No output can violate it.")),
    "checked": (
        tr("checked after"),
        "open",
        tr("The grammar cannot enforce it; the validator checks it while the text is generated."),
    ),
    "leaks": (tr("accepts a violation"), "impossible", tr("A text that violates it is accepted.")),
    "unsupported": (
        tr("not checked"),
        "impossible",
        tr("Neither the grammar nor the validator enforces it."),
    ),
    "unknown": (tr("unknown"), "open", tr("No text can demonstrate it.")),
    "error": (tr("no grammar"), "impossible", tr("The engine could not build a grammar for it.")),
}


_TESTING = "…", "open"
"""The pill of a cell without a proof so far."""


class EnforcementModel(TableModel[EnforcementRow]):
    key = "tool pointer keyword"

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._set_engines(ENGINES)
        self._of_one_tool = True

    def show(
        self, rows: Sequence[EnforcementRow], engines: Engines = ENGINES, *, of_one_tool: bool = True
    ) -> None:
        """Show the same constraints with more cells, or others. Those of several tools begin with the tool's name."""
        if (engines, of_one_tool) == (self.engines, self._of_one_tool):
            self.refresh(rows)
            return
        self._set_engines(engines)
        self._of_one_tool = of_one_tool
        self.show_rows(list(rows))

    def _set_engines(self, engines: Engines) -> None:
        """Set the engines, which are the columns after the first."""
        self.engines = engines
        self.titles = (tr("Constraint"), *(title for _, title, _ in engines))
        self.tips = ("", *(tip for _, _, tip in engines))

    def first_of(self, tool: str, argument: str | None) -> int:
        """The row of the first constraint of an argument; -1 for none."""
        for number, row in enumerate(self._rows):
            if row.tool == tool and (argument is None or row.pointer.startswith(f"/properties/{argument}")):
                return number
        return -1

    def words(self, row: EnforcementRow, column: int) -> str:
        return self._constraint(row) if column == CONSTRAINT else ""

    def spoken(self, row: EnforcementRow, column: int) -> str:
        if column == CONSTRAINT:
            return self._constraint(row)
        cell = self._cell(row, column)
        return tr("not tested yet") if cell is None else _cell_words(cell)

    def tip(self, row: EnforcementRow, column: int) -> str:
        if column == CONSTRAINT:
            return self._constraint(row)
        cell = self._cell(row, column)
        return tr("Testing…") if cell is None else _cell_tip(cell)

    def extra(self, row: EnforcementRow, column: int, role: int) -> Any:
        if role != PILL_ROLE or column == CONSTRAINT:
            return None
        cell = self._cell(row, column)
        return _TESTING if cell is None else (_cell_words(cell), _LOOKS.get(cell.state, _LOOKS["error"])[1])

    def _constraint(self, row: EnforcementRow) -> str:
        return row.words if self._of_one_tool else f"{row.tool} · {row.words}"

    def _cell(self, row: EnforcementRow, column: int) -> EnforcementCell | None:
        return row.cells.get(self.engines[column - 1][0])


def _cell_words(cell: EnforcementCell) -> str:
    if cell.state == "leaks" and cell.witness:
        return tr("accepts {value}", value=cell.witness)
    return _LOOKS.get(cell.state, _LOOKS["error"])[0]


def _cell_tip(cell: EnforcementCell) -> str:
    lines = [_LOOKS.get(cell.state, _LOOKS["error"])[2]]
    if cell.why:
        lines.append(cell.why)
    return "\n".join(lines)


MIN_CONSTRAINT, MOST_CONSTRAINT = 0.3, 0.68
"""The share of the width for the constraint's words, and in a table that scrolls for its pills, unless the user chose
more of these."""


class EnforcementTable(PlainTable):
    """`constraintChosen` carries the tool and the JSON Pointer of the chosen row."""

    constraintChosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._model = EnforcementModel()
        super().__init__(self._model, stretch=CONSTRAINT, parent=parent)
        self._model.setParent(self)
        self.setObjectName("enforcementTable")
        self.setAccessibleName(tr("Enforcement of each constraint by each engine"))
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for column in range(1, 1 + len(ENGINES + OUTSIDE_ENGINES)):
            self.setItemDelegateForColumn(column, PillDelegate(self))
        self.fit_rows(11)
        self.clicked.connect(self._chosen)
        self.activated.connect(self._chosen)
        self._model.modelReset.connect(self._fit)
        self._model.dataChanged.connect(self._fit)

    def show_rows(
        self, rows: Sequence[EnforcementRow], engines: Engines = ENGINES, *, of_one_tool: bool = True
    ) -> None:
        """Show these rows, with the engines as columns."""
        self._model.show(rows, engines, of_one_tool=of_one_tool)

    def show_argument(self, tool: str, argument: str | None) -> None:
        """Scroll to an argument's constraints."""
        row = self._model.first_of(tool, argument)
        if row >= 0:
            self.selectRow(row)
            self.scrollTo(self._model.index(row, 0), self.ScrollHint.PositionAtTop)

    def sizeHint(self) -> QSize:
        return QSize(300, 160)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 70)

    def _chosen(self, index: QModelIndex) -> None:
        row = self._model.row(index.row())
        if row is not None:
            self.constraintChosen.emit(row.tool, row.pointer)

    def _fit(self, *_what: object) -> None:
        engines = self._model.engines
        width = self.viewport().width()
        left = round(width * (1 - MIN_CONSTRAINT))
        head = self.fontMetrics()
        needs, likes = [], []
        for column in range(1, 1 + len(engines)):
            words = self.widest(column) + PILL
            needs.append(words)
            likes.append(max(words, head.horizontalAdvance(engines[column - 1][1]) + CELL))
        for column, given in enumerate(_shared(left, needs, likes), 1):
            self.setColumnWidth(column, given)
        room = width - sum(self.columnWidth(column) for column in range(1, 1 + len(engines)))
        if sum(needs) > left:
            most = MOST_CONSTRAINT if len(engines) <= len(ENGINES) else MIN_CONSTRAINT
            room = max(room, min(self.widest(CONSTRAINT) + CELL, round(width * most)))
        self.setColumnWidth(CONSTRAINT, max(room, MIN_CELL * head.averageCharWidth()))


def _shared(room: int, needs: Sequence[int], likes: Sequence[int]) -> list[int]:
    """The widths of columns in `room` pixels: the pills take precedence, longer headings share the rest."""
    spare = max(room - sum(needs), 0)
    scale = min(1.0, spare / max(sum(likes) - sum(needs), 1))
    return [need + round((like - need) * scale) for need, like in zip(needs, likes, strict=True)]
