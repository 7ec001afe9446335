"""The mistakes of a grammar as a table: where, what, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import PILL_ROLE, TableModel

PLACE, MESSAGE, FIX = range(3)
SEVERITIES = {
    "error": ("✕", "impossible", tr("Error: llama.cpp rejects this grammar or crashes on it.")),
    "warning": ("▲", "forced", tr("Warning: llama.cpp accepts it, but it is probably not intended.")),
    "hint": ("●", "open", tr("Hint: it works but can be improved.")),
}
"""Sign, the theme's role, and a sentence for each."""


_NAMES = {"error": tr("error"), "warning": tr("warning"), "hint": tr("hint")}


class GrammarDiagnosticsModel(TableModel[GrammarProblem]):
    titles = (tr("Location"), tr("Problem"), tr("Fix"))

    def show(self, problems: Sequence[GrammarProblem]) -> None:
        """These, worst first by severity, each severity in the text's order."""
        rank = {"error": 0, "warning": 1}
        ordered = tuple(sorted(problems, key=lambda problem: rank.get(problem.severity, 2)))
        if ordered != self._rows:
            self._replace(ordered)

    def problem(self, row: int) -> GrammarProblem | None:
        return self._rows[row] if 0 <= row < len(self._rows) else None

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
