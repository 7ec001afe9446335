"""The lists of the set-up: suites and models to tick, with files dropped on them, the scenarios to run, and judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QSignalBlocker, QSize, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QSizePolicy, QWidget

from glyphscope.base.shorten import and_more
from glyphscope.base.visible import visible
from glyphscope.evals.matrix.plan import Plan
from glyphscope.evals.running.tool_servers import planned_server
from glyphscope.evals.suites.suite import Scenario, expected_words
from glyphscope.tools.mcp import ServerConfig
from glyphscope_gui.evaluate.setup import SuiteChoice
from glyphscope_gui.shared.cells import NoteDelegate
from glyphscope_gui.shared.fields import WholeBox, field_label
from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Flow, hbox, vbox
from glyphscope_gui.shared.plain_table import LongList, PlainList, WholeRows
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.shared.table_model import NOTE_ROLE, ListModel
from glyphscope_gui.shared.text_edits import LineEdit

MARGINS = (6, 0, 0, 0)
"""Padding of the text in a box with buttons, for which Qt ignores the style sheet's padding."""
_SUITES_JUDGE = tr("As in the suite")
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
        expected = tr("Expected: {expected}", expected=visible(expected_words(row.scenario)[:TIP]))
        return "\n\n".join(part for part in (prompt, expected, row.scenario.note) if part)

    def extra(self, row: ScenarioRow, column: int, role: int) -> Any:
        return (_expects(row.scenario), "text-muted") if role == NOTE_ROLE else None


def _expects(scenario: Scenario) -> str:
    """The expected answer to the first prompt in short: the tools, no call, or an answer."""
    expect = scenario.expect
    tools = dict.fromkeys(tool for call in expect.calls for tool in call.tools[:1])
    if tools:
        return tr("expects {tools}", tools=visible(and_more(list(tools), 2)))
    return tr("expects an answer") if expect.final is not None else tr("expects no call")


class ScenarioPicker(QWidget):
    """`changed` is emitted when the user filters; `openRequested` carries the ScenarioRow whose suite to edit."""

    changed = Signal()
    openRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = named(LineEdit(self), "evalScenarioFilter", tr("Filter scenarios"))
        self.search.setPlaceholderText(tr("Filter by id, group or prompt"))
        self.search.setClearButtonEnabled(True)
        self.first = named(WholeBox(self), "evalFirst")
        self.first.setRange(0, 100_000)
        self.first.setSpecialValueText(tr("all"))
        self.first.lineEdit().setTextMargins(*MARGINS)
        self.first.setAccessibleName(tr("Number of scenarios per suite"))
        self.first.setToolTip(tr("Only the first N scenarios of each suite"))
        self.model = ScenariosModel(self)
        self.list = LongList(self.model, "evalScenarios", tr("Scenarios to run"), self)
        self.list.fit_rows(least=MIN_ROWS)
        label = field_label(tr("First"), self.first, "muted")
        self.list.setItemDelegate(NoteDelegate(self.list))
        row = hbox((self.search, 1), label, self.first, margins=(5, 6, 5, 0), spacing=8)
        vbox(row, (WholeRows(self.list, self, flexible=True), 1), parent=self, spacing=6)
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


class Tickable(NamedTuple):
    """`value` is the chosen value; a row with a `problem` cannot be ticked, and shows it."""

    value: str
    words: str
    note: str = ""
    tip: str = ""
    problem: str = ""


class TicksModel(ListModel[Tickable]):
    checks = 0
    key = "value"

    @property
    def ticked(self) -> tuple[str, ...]:
        """Return the ticked values, in the list's order."""
        return tuple(row.value for row in self._rows if self.is_checked(row))

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(row.value for row in self._rows)

    def put(self, row: Tickable, *, ticked: bool = False, first: bool = False) -> None:
        """Add a row, or replace the one with the same value."""
        if ticked and not row.problem:
            self._checked.add(row.value)
        if row.value in self.values:
            self.refresh([row if one.value == row.value else one for one in self._rows])
        else:
            self.refresh([row, *self._rows] if first else [*self._rows, row])

    def take(self, value: str) -> None:
        """Remove a row."""
        self._checked.discard(value)
        self.refresh([row for row in self._rows if row.value != value])

    def tick(self, values: Iterable[str]) -> None:
        """Tick exactly these values, without a signal."""
        self._checked = set(values) & {row.value for row in self._rows if self.can_check(row)}
        self._changed()

    def words(self, row: Tickable, column: int) -> str:
        return row.words

    def spoken(self, row: Tickable, column: int) -> str:
        return ", ".join(part for part in (row.words, row.note, row.problem) if part)

    def tip(self, row: Tickable, column: int) -> str:
        return row.problem or row.tip

    def color(self, row: Tickable, column: int) -> str:
        return "impossible" if row.problem else ""

    def can_check(self, row: Tickable) -> bool:
        return not row.problem

    def extra(self, row: Tickable, column: int, role: int) -> Any:
        note = tr("cannot be used") if row.problem else row.note
        return (note, "text-muted") if role == NOTE_ROLE else None


MIN_ROWS, MAX_ROWS = 3, 6
"""The least number of visible rows, if there are that many, and the preferred one."""


class TickList(TakesFiles, PlainList):
    """`dropped` carries the paths of files with one of the `endings`, which are asked for at a drop; a `fitted` list is
    as high as its rows.
    """

    dropped = Signal(object)
    one_file = False

    def __init__(
        self,
        model: TicksModel,
        name: str,
        words: str,
        endings: Callable[[], tuple[str, ...]],
        parent: QWidget | None = None,
        *,
        fitted: bool = False,
    ) -> None:
        description = tr("Space selects or clears a row.")
        super().__init__(model, name, words, parent, description=description, uniformItemSizes=True)
        self._endings = endings
        self.setItemDelegate(NoteDelegate(self))
        self.setAcceptDrops(True)
        policy = QSizePolicy.Policy.Maximum if fitted else QSizePolicy.Policy.Expanding
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        model.rowsInserted.connect(self.updateGeometry)
        model.rowsRemoved.connect(self.updateGeometry)
        model.modelReset.connect(self.updateGeometry)

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() in self._endings()

    def sizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MAX_ROWS)
        return QSize(200, rows * max(self.sizeHintForRow(0), self.fontMetrics().height() + 8) + 8)

    def minimumSizeHint(self) -> QSize:
        rows = min(max(self.model().rowCount(), 1), MIN_ROWS)
        return QSize(140, rows * (self.fontMetrics().height() + 8) + 2)

    def files_dropped(self, paths: list[Path]) -> None:
        self.dropped.emit(paths)


class ServerTicks(QWidget):
    """The MCP servers that execute calls, of those that are configured and allowed; hidden if there are none, and
    until `show_every` if none is ticked.

    `changed` is emitted when the user ticks or unticks one.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._flow = Flow(self, gap=16, line_gap=7)
        self._known: list[tuple[ServerConfig, QCheckBox]] = []
        self._ticked: set[str] = set()
        self._every = False
        label = PlainLabel(tr("Servers"), self, role="muted")
        named(
            label, tip=tr("Calls of their tools that no script answers are executed, for each sample afresh")
        )
        hbox(label, (self._flow, 1), parent=self, spacing=14)
        self.hide()

    @property
    def planned(self) -> tuple[str, ...]:
        """The ticked ones, as a matrix has them."""
        known = (planned_server(config) for config, _ in self._known)
        return tuple(server for server in known if server in self._ticked)

    def tick(self, servers: Iterable[str]) -> None:
        """Tick exactly these, also if they become known later, without a signal."""
        self._ticked = set(servers)
        for config, box in self._known:
            box.setChecked(planned_server(config) in self._ticked)

    def show_servers(self, known: Sequence[ServerConfig]) -> None:
        """Set the servers to choose from; the choice stays."""
        if list(known) != [config for config, _ in self._known]:
            for _, box in self._known:
                self._flow.take(box)
            self._known = [(config, self._box(config)) for config in known]
        self.show_every(self._every)

    def show_every(self, every: bool) -> None:
        """Show the servers also if none is ticked."""
        self._every = every
        self.setVisible(bool(self._known) and (every or bool(self.planned)))

    def _box(self, config: ServerConfig) -> QCheckBox:
        box = named(QCheckBox(visible(config.name)), words=visible(tr("Server: {name}", name=config.name)))
        named(box, tip=plain_tip(config.identity), description=visible(config.identity))
        box.setChecked(planned_server(config) in self._ticked)
        server = planned_server(config)
        box.clicked.connect(lambda on: self._toggle(server, on))
        self._flow.add(box)
        box.show()
        return box

    def _toggle(self, server: str, on: bool) -> None:
        (self._ticked.add if on else self._ticked.discard)(server)
        self.changed.emit()


class JudgeChoice(QWidget):
    """The model that decides the suites' rubrics: each suite's judge, one of the listed models, or a typed name.

    Visible if a chosen suite has rubrics. `changed` is emitted when the user chooses another model.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = named(QComboBox(self), "evalJudgeModel", tr("Judge"))
        self.box.setLineEdit(LineEdit())
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        tip = tr("The model that decides rubrics: a listed one, a GGUF file, or the URL of an endpoint")
        named(self.box, description=tip, tip=tip)
        self.box.addItem(_SUITES_JUDGE, "")
        hbox(field_label(tr("Judge"), self.box, "muted"), (self.box, 1), parent=self, spacing=10)
        self.box.editTextChanged.connect(lambda _text: self.changed.emit())
        self.hide()

    @property
    def value(self) -> str:
        """The model's name; empty for each suite's judge, and if no judge is needed."""
        if self.isHidden():
            return ""
        text = self.box.currentText().strip()
        index = self.box.findText(text)
        return str(self.box.itemData(index)) if index >= 0 else text

    def show_models(self, models: Sequence[str], *, needed: bool) -> None:
        """Set the models to choose from, without a signal; the choice stays."""
        self.setVisible(needed)
        known = [self.box.itemData(index) for index in range(1, self.box.count())]
        if known == list(models):
            return
        text = self.box.currentText()
        with QSignalBlocker(self.box):
            self.box.clear()
            self.box.addItem(_SUITES_JUDGE, "")
            for model in models:
                self.box.addItem(model_name(model).name, model)
            self.box.setCurrentText(text)


def model_row(model: str, note: str) -> Tickable:
    """A model to tick."""
    name = model_name(model)
    return Tickable(model, " ".join(part for part in name if part), note, model)


def suite_row(choice: SuiteChoice) -> Tickable:
    """A suite to tick."""
    note = tr("%n scenario(s)", "", choice.scenarios)
    tip = "\n".join((choice.about, *choice.notes))
    return Tickable(choice.source, choice.title, note, tip, choice.problem)
