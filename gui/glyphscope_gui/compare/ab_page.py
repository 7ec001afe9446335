"""The page of an A/B test of two prompts on the same seeds: their sources, each seed's results, the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from glyphscope.evals.ab import Trial
from glyphscope_gui.compare.seeded_page import SeededPage
from glyphscope_gui.compare.variants import WARM_TEMPERATURE
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.fields import choice_box, field_label
from glyphscope_gui.shared.labels import ElidedLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, grid_layout, hbox, holder, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import GAP

NAMES = ("A", "B")
_FIRST_WORDS = tr(
    "Keep the current prompt as A, edit it, and run both with the same seeds: one run "
    "per prompt and seed, no tools are executed."
)
SEED, FIRST, SECOND, DIFFERENCE = range(4)
"""The columns of the table: a seed, the results of A and of B, and the first difference of their answers."""
_NOT_RUN = "…"


class AbRow(NamedTuple):
    """A trial is None until it has run."""

    seed: int
    first: Trial | None
    second: Trial | None
    difference: str = ""


class AbTableModel(TableModel[AbRow]):
    key = "seed"
    titles = (tr("Seed"), "A", "B", tr("First difference"))
    figures = frozenset({SEED})

    def words(self, row: AbRow, column: int) -> str:
        difference = row.difference or (tr("same answer") if _both_called(row) else "")
        return (str(row.seed), trial_words(row.first), trial_words(row.second), difference)[column]

    def tip(self, row: AbRow, column: int) -> str:
        return self.words(row, column)


def trial_words(trial: Trial | None) -> str:
    """The trial with a sign in front: correct, wrong, or without an expectation."""
    if trial is None:
        return _NOT_RUN
    if trial.ok is None:
        return f"· {trial.why}"
    return f"✓ {trial.call}" if trial.ok else f"✕ {trial.why}"


def _both_called(row: AbRow) -> bool:
    """Whether both trials have an answer, which is the same if there is no difference."""
    return bool(row.first and row.second and row.first.call and row.second.call)


class AbPage(SeededPage):
    """The settings of the A/B, its table and its conclusion. Prompt A is 0, B is 1.

    `sourceChosen` carries a prompt and the key of its source, `openRequested` the prompt and the row of a run to open.
    """

    sourceChosen = Signal(object, object)
    openRequested = Signal(object, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        run = (tr("Run A and B"), tr("All seeds of A, then all of B (Ctrl+Enter)"))
        super().__init__("ab", tr("Two prompts, the same seeds"), run, _FIRST_WORDS, parent)
        self._free = True
        self.sources = [
            choice_box(self, f"abSource{name}", tr("Source of prompt {name}", name=name), least=18)
            for name in NAMES
        ]
        self.about = [ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted") for _ in NAMES]
        self.keep_button = push_button(
            tr("Keep as A"),
            self,
            name="abKeepButton",
            tip=tr("Keep the current prompt as A; later edits do not change it"),
        )
        self._make_settings()
        self.model = AbTableModel(self)
        table = PlainTable(self.model, DIFFERENCE, self)
        self.table = named(table, "abTable", tr("Seeds, with the result of each prompt"))
        self.open_buttons = [
            push_button(tr("Open {name}’s run", name=name), self, name=f"abOpen{name}Button")
            for name in NAMES
        ]
        self._lay_out()
        self._connect()
        self.setFocusProxy(self.sources[0])
        self.show_choice()

    def show_sources(self, index: int, sources: Sequence[tuple[str, str]], chosen: str, about: str) -> None:
        """Show each source's key and words, the chosen source, and its description."""
        box = self.sources[index]
        box.clear()
        for key, words in sources:
            box.addItem(words, key)
        box.setCurrentIndex(box.findData(chosen))
        self.about[index].setText(about)
        self.about[index].setAccessibleName(about)

    def show_running(self, *, running: bool, free: bool) -> None:
        for widget in (*self.sources, self.keep_button, self.seeds, self.temperature, self.expect):
            widget.setEnabled(not running)
        self._free = free
        self.show_choice()

    def show_choice(self) -> None:
        """Enable the buttons that open the runs of the selected row, if these have ended and the model is free."""
        row = self.model.row(self.table.currentIndex().row())
        for which, button in enumerate(self.open_buttons):
            button.setEnabled(self._free and row is not None and (row.first, row.second)[which] is not None)

    def _make_settings(self) -> None:
        self.seeds.setText("1-5")
        tip = tr("1-10, or 1,3,7-9. With fewer than six seeds, no difference can be significant.")
        named(self.seeds, words=tr("Seeds for both prompts"), tip=tip)
        named(self.temperature, words=tr("Temperature for both prompts"))
        self.temperature.setValue(WARM_TEMPERATURE)
        self.expect = named(
            LineEdit(self, placeholderText=tr("as set for the prompt, or any valid one")),
            "abExpect",
            tr("Expected answer"),
            tip=tr(
                "A call or value in GLYPH or JSON, or another text. With the mask every answer is valid: enter the one "
                "that is correct."
            ),
        )
        self.expect_button = push_button(
            tr("Answer of the run shown"), self, name="abExpectButton", role="link"
        )

    def _lay_out(self) -> None:
        top = QWidget(self)
        grid = grid_layout(top, spacing=(10, 8), stretch=2)
        for index, name in enumerate(NAMES):
            grid.addWidget(field_label(name, self.sources[index], "title"), index, 0)
            grid.addWidget(self.sources[index], index, 1)
            grid.addWidget(self.about[index], index, 2)
        grid.addWidget(self.keep_button, 0, 3)
        line = hbox(
            field_label(tr("Seeds"), self.seeds),
            self.seeds,
            field_label(tr("Temperature"), self.temperature),
            self.temperature,
            field_label(tr("Expected"), self.expect),
            (self.expect, 1),
            self.expect_button,
            spacing=10,
        )
        grid.addLayout(line, 2, 0, 1, 4)
        grid.addLayout(self._run_line(), 3, 0, 1, 4)
        padded = hbox(self.words, margins=(14, 10, 14, 0))
        opens = hbox(STRETCH, *self.open_buttons, margins=(14, 0, 14, 10), spacing=10)
        below = holder(vbox(padded, (self.table, 1), opens, spacing=8), self)
        vbox(
            Card(tr("Two prompts, the same seeds"), top, hint=tr("Ctrl+Enter runs both")),
            (Card(tr("Seed by seed"), below, padded=False), 1),
            parent=self,
            margins=(GAP + 4, GAP),
            spacing=GAP,
        )

    def _connect(self) -> None:
        for place, box in enumerate(self.sources):
            box.activated.connect(
                lambda _at, place=place, box=box: self.sourceChosen.emit(place, box.currentData())
            )
        self.table.selectionModel().currentChanged.connect(lambda _now, _before: self.show_choice())
        self.table.doubleClicked.connect(self._open_clicked)
        for which, button in enumerate(self.open_buttons):
            button.clicked.connect(lambda _on=False, which=which: self._open(which))
        self.table.fit_column(SEED, "000")
        for column in (FIRST, SECOND):  # as wide as the window allows, like the last one
            self.table.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)

    def _open(self, which: int) -> None:
        index = self.table.currentIndex().row()
        if index >= 0:
            self.openRequested.emit(which, index)

    def _open_clicked(self, index: QModelIndex) -> None:
        which = index.column() - FIRST
        if which in (0, 1) and self.open_buttons[which].isEnabled():
            self._open(which)
