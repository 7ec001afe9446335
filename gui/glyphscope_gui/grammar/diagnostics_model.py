"""The mistakes of a grammar as a table: where, what, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.shared.grammar_roles import PILL_ROLE
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data

_Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()
PLACE, MESSAGE, FIX = range(3)
SEVERITIES = {
    "error": ("✕", "impossible", tr("Error: llama.cpp rejects this grammar or crashes on it.")),
    "warning": ("▲", "forced", tr("Warning: llama.cpp accepts it, but it is probably not intended.")),
    "hint": ("●", "open", tr("Hint: it works but can be improved.")),
}
"""Sign, the theme's role, and a sentence for each."""


_NAMES = {"error": tr("error"), "warning": tr("warning"), "hint": tr("hint")}


class GrammarDiagnosticsModel(QAbstractTableModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._problems: tuple[GrammarProblem, ...] = ()

    def show(self, problems: Sequence[GrammarProblem]) -> None:
        """These, worst first by severity, each severity in the text's order."""
        rank = {"error": 0, "warning": 1}
        ordered = tuple(sorted(problems, key=lambda problem: rank.get(problem.severity, 2)))
        if ordered == self._problems:
            return
        self.beginResetModel()
        self._problems = ordered
        self.endResetModel()

    def problem(self, row: int) -> GrammarProblem | None:
        return self._problems[row] if 0 <= row < len(self._problems) else None

    def rowCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._problems)

    def columnCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() else 3

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (tr("Location"), tr("Problem"), tr("Fix"))[section]
        return None

    @plain_data
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        problem = self._problems[index.row()]
        sign, color, meaning = SEVERITIES.get(problem.severity, SEVERITIES["error"])
        where = f"{problem.line}:{problem.column}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = (
                tr(
                    "{severity} at line {line}, column {column}",
                    severity=_NAMES.get(problem.severity, problem.severity),
                    line=problem.line,
                    column=problem.column,
                ),
                problem.message,
                problem.fix,
            )
            return words[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            tips = (
                f"{meaning}\n" + tr("Line {line}, column {column}", line=problem.line, column=problem.column),
                problem.message,
                _tip(problem),
            )
            return tips[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (where, problem.message, problem.fix)[index.column()]
        if role == PILL_ROLE and index.column() == PLACE:
            return f"{sign} {where}", color
        return None


def _tip(problem: GrammarProblem) -> str:
    return tr("{fix} (Ctrl+. with the cursor there)", fix=problem.fix) if problem.fix else ""
