"""The scenarios to run: filtered, limited to the first few, each with its prompt."""

from __future__ import annotations

from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QSignalBlocker, Signal
from PySide6.QtWidgets import QSpinBox, QWidget

from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.suites.suite import Scenario
from glyphscope.visible import visible
from glyphscope_gui.shared.fields import field_label
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.plain_table import LongList
from glyphscope_gui.shared.table_model import ListModel
from glyphscope_gui.shared.text_edits import LineEdit

MARGINS = (6, 0, 0, 0)
"""Padding of the text in a box with buttons, for which Qt ignores the style sheet's padding."""
MAX_LENGTH, TIP = 200, 1200
"""Characters of a prompt in a row, and in its tip."""


class ScenarioRow(NamedTuple):
    """`source` is the suite as ticked, a name or a path; `suite` its name if several are chosen."""

    source: str
    suite: str
    scenario: Scenario


def scenario_rows(plan: Plan) -> list[ScenarioRow]:
    """The scenarios of a plan; not for the window's thread, as there can be 100,000."""
    suites = tuple(zip(dict.fromkeys(plan.matrix.suites), plan.suites))
    return [
        ScenarioRow(source, loaded.suite.name if len(suites) > 1 else "", scenario)
        for source, loaded in suites
        for scenario in loaded.suite.scenarios
    ]


class ScenariosModel(ListModel[ScenarioRow]):
    """The scenarios of a plan."""

    def words(self, row: ScenarioRow, column: int) -> str:
        name = " · ".join(part for part in (row.suite, row.scenario.id) if part)
        return f"{name}   {' '.join(visible(row.scenario.prompt[:TIP])[:MAX_LENGTH].split())}"

    def tip(self, row: ScenarioRow, column: int) -> str:
        prompt = visible(row.scenario.prompt[:TIP])
        return "\n\n".join(part for part in (prompt, row.scenario.note) if part)


class ScenarioPicker(QWidget):
    """`changed` is emitted when the user filters; `openRequested` carries the ScenarioRow whose suite to edit."""

    changed = Signal()
    openRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = named(LineEdit(self), "evalScenarioFilter", tr("Filter scenarios"))
        self.search.setPlaceholderText(tr("Filter by id, group or prompt"))
        self.search.setClearButtonEnabled(True)
        self.first = named(QSpinBox(self), "evalFirst")
        self.first.setRange(0, 100_000)
        self.first.setSpecialValueText(tr("all"))
        self.first.lineEdit().setTextMargins(*MARGINS)
        self.first.setAccessibleName(tr("Number of scenarios per suite"))
        self.first.setToolTip(tr("Only the first N scenarios of each suite"))
        self.model = ScenariosModel(self)
        self.list = LongList(self.model, "evalScenarios", tr("Scenarios to run"), self)
        self.list.setMinimumHeight(3 * (self.fontMetrics().height() + 8))
        label = field_label(tr("First"), self.first, "muted")
        row = hbox((self.search, 1), label, self.first, margins=(5, 6, 5, 0), spacing=8)
        vbox(row, (self.list, 1), parent=self, spacing=6)
        self.search.textChanged.connect(lambda _text: self.changed.emit())
        self.first.valueChanged.connect(lambda _value: self.changed.emit())
        self.list.activated.connect(self._open)

    def current(self) -> ScenarioRow | None:
        """The selected scenario, otherwise the first one."""
        return self.model.row(max(self.list.currentIndex().row(), 0))

    def values(self) -> dict[str, Any]:
        """Members of Matrix."""
        return {"search": self.search.text(), "first": self.first.value()}

    def show_values(self, changes: dict[str, Any]) -> None:
        """Show these members of a Matrix, without a signal."""
        with QSignalBlocker(self.search), QSignalBlocker(self.first):
            self.search.setText(changes.get("search", self.search.text()))
            self.first.setValue(changes.get("first", self.first.value()))

    def _open(self, index: QModelIndex) -> None:
        self.openRequested.emit(self.model.row(index.row()))
