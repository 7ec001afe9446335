"""A grammar's diagnostics as an editor needs them, by line and column and in Qt's count of characters; their list."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHeaderView, QSizePolicy, QWidget

from glyphscope.grammar.gbnf import Diagnostic, Fix
from glyphscope_gui.shared.cells import LinkDelegate, PillDelegate, WordsDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import PILL_ROLE, TableModel

MAX_SHOWN = 1000
"""Diagnostics that are shown; the rest are counted."""


class TextPositions:
    """The places of the characters of a text: lines and columns from 1, and Qt's UTF-16 positions."""

    def __init__(self, text: str) -> None:
        self._lines = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]
        wide = not text.isascii() and max(text) > "\uffff"
        self._wide = [index for index, char in enumerate(text) if char > "\uffff"] if wide else []

    def line_column(self, index: int) -> tuple[int, int]:
        line = bisect_right(self._lines, index)
        return line, index - self._lines[line - 1] + 1

    def in_qt(self, index: int) -> int:
        return index + bisect_left(self._wide, index)

    def from_qt(self, position: int) -> int:
        """The character at a Qt position."""
        low, high = max(0, position - len(self._wide)), position
        while low < high:
            middle = (low + high) // 2
            if self.in_qt(middle) < position:
                low = middle + 1
            else:
                high = middle
        return low


@dataclass(frozen=True)
class GrammarProblem:
    """A diagnostic; `start` and `end` are Qt positions, `edits` are the fix's replacements, also in Qt positions."""

    severity: str
    code: str
    message: str
    line: int
    column: int
    start: int
    end: int
    fix: str = ""
    edits: tuple[tuple[int, int, str], ...] = ()


def to_problems(text: str, diagnostics: Iterable[Diagnostic]) -> tuple[GrammarProblem, ...]:
    """The first problems, in the text's order."""
    places = TextPositions(text)
    return tuple(_problem(places, found) for found in islice(diagnostics, MAX_SHOWN))


def _problem(places: TextPositions, found: Diagnostic) -> GrammarProblem:
    line, column = places.line_column(found.start)
    fix: Fix | None = found.fix
    edits = () if fix is None else tuple((places.in_qt(a), places.in_qt(b), new) for a, b, new in fix.edits)
    return GrammarProblem(
        found.severity,
        found.code,
        found.message,
        line,
        column,
        places.in_qt(found.start),
        places.in_qt(found.end),
        "" if fix is None else fix.title,
        edits,
    )


PLACE, MESSAGE, FIX = range(3)
SEVERITIES = {
    "error": ("✕", "impossible", tr("Error: the engine rejects this grammar or crashes on it.")),
    "warning": ("▲", "forced", tr("Warning: the engine accepts it, but it is probably not intended.")),
    "hint": ("●", "open", tr("Hint: it works but can be improved.")),
}
"""The sign, theme role and sentence for each."""


_NAMES = {"error": tr("error"), "warning": tr("warning"), "hint": tr("hint")}


class GrammarDiagnosticsModel(TableModel[GrammarProblem]):
    titles = (tr("Location"), tr("Problem"), tr("Fix"))

    def show(self, problems: Sequence[GrammarProblem]) -> None:
        """Show these problems, the most severe first; problems of equal severity in the text's order."""
        rank = {"error": 0, "warning": 1}
        ordered = tuple(sorted(problems, key=lambda problem: rank.get(problem.severity, 2)))
        if ordered != self._rows:
            self.show_rows(ordered)

    def words(self, row: GrammarProblem, column: int) -> str:
        return (f"{row.line}:{row.column}", row.message, row.fix)[column]

    def spoken(self, row: GrammarProblem, column: int) -> str:
        if column != PLACE:
            return self.words(row, column)
        severity = _NAMES.get(row.severity, row.severity)
        return tr(
            "{severity} at line {line}, column {column}", severity=severity, line=row.line, column=row.column
        )

    def tip(self, row: GrammarProblem, column: int) -> str:
        if column == PLACE:
            meaning = _look(row)[2]
            return f"{meaning}\n" + tr("Line {line}, column {column}", line=row.line, column=row.column)
        if column == MESSAGE or not row.fix:
            return self.words(row, column)
        return tr("{fix} (Ctrl+. with the cursor there)", fix=row.fix)

    def extra(self, row: GrammarProblem, column: int, role: int) -> Any:
        sign, color, _meaning = _look(row)
        return (f"{sign} {row.line}:{row.column}", color) if role == PILL_ROLE and column == PLACE else None


def _look(problem: GrammarProblem) -> tuple[str, str, str]:
    return SEVERITIES.get(problem.severity, SEVERITIES["error"])


MAX_MEASURED = 100
"""Number of rows that are as high as their words; others are one line high."""
MAX_HEIGHT = 0.42
"""The list's largest share of the height of editor and list."""
FIX_SHARE = 0.3
"""The fixes' largest share of the width."""


class GrammarDiagnostics(PlainTable):
    """The list of problems: Enter goes to one, Ctrl+period or a click on its fix applies it.

    `chosen` carries the problem to go to, `fixRequested` the one to fix.
    """

    chosen = Signal(object)
    fixRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._model = GrammarDiagnosticsModel()
        super().__init__(self._model, stretch=MESSAGE, parent=parent)
        self._model.setParent(self)
        self.setObjectName("grammarDiagnostics")
        self.setAccessibleName(tr("Problems in the grammar"))
        self.setAccessibleDescription(tr("Enter: go to location. Ctrl+.: apply fix."))
        self.setWordWrap(True)
        self.setMouseTracking(True)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setItemDelegateForColumn(PLACE, PillDelegate(self))
        self.setItemDelegateForColumn(MESSAGE, WordsDelegate(self))
        self.setItemDelegateForColumn(FIX, LinkDelegate(self))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._clicked)
        self.doubleClicked.connect(self._go)
        self._height = 0
        self.hide()

    def show_problems(self, problems: Sequence[GrammarProblem]) -> None:
        """Show these problems; an empty list takes no room."""
        scrolled = self.verticalScrollBar().value()
        self._model.show(problems)
        self.setVisible(bool(problems))
        self._fit()
        self.verticalScrollBar().setValue(scrolled)

    def set_room(self, height: int) -> None:
        """Set the total height of the list and the parts above it."""
        self._height = height
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        problem = self._model.row(self.currentIndex().row())
        if problem is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit(problem)
        elif (
            problem is not None
            and event.key() == Qt.Key.Key_Period
            and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.fixRequested.emit(problem)
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        link = index.isValid() and index.column() == FIX and index.data()
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.ArrowCursor)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._fit()

    def _clicked(self, index: QModelIndex) -> None:
        problem = self._model.row(index.row())
        if problem is not None and index.column() == FIX and problem.edits:
            self.fixRequested.emit(problem)

    def _go(self, index: QModelIndex) -> None:
        problem = self._model.row(index.row())
        if problem is not None and (index.column() != FIX or not problem.edits):
            self.chosen.emit(problem)

    def _fit(self) -> None:
        rows = self._model.rowCount()
        if not rows:
            return
        width = self.viewport().width()
        self.setColumnWidth(PLACE, self.widest(PLACE) + 30)
        widest = self.widest(FIX)
        fix = min(widest + 20, round(width * FIX_SHARE)) if widest else 0
        self.setColumnWidth(FIX, fix)
        self.setColumnWidth(MESSAGE, max(width - self.columnWidth(PLACE) - fix, 80))
        for row in range(min(rows, MAX_MEASURED)):
            self.resizeRowToContents(row)
        needed = sum(self.rowHeight(row) for row in range(min(rows, MAX_MEASURED))) + 2
        least = self.verticalHeader().defaultSectionSize() * 2
        most = max(round(self._height * MAX_HEIGHT), least)
        if self.underMouse():
            needed = max(needed, self.height())  # otherwise the next fix would move away from the pointer
        self.setFixedHeight(min(needed, most))
