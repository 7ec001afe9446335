"""Two prompts on the same seeds: where they come from, what each seed came to, and what may be said of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QPushButton, QWidget

from glyphscope.evals.ab import Trial
from glyphscope_gui.compare.ab_prompts import NAMES, WARM
from glyphscope_gui.compare.ab_runs import AbRow
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import ElidedLabel, FittedLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, grid_layout, hbox, holder, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import GAP

_FIRST_WORDS = tr(
    "Keep the current prompt as A, edit it, and run both with the same seeds: one run "
    "per prompt and seed, no tools are executed."
)


SEED, FIRST, SECOND, PARTING = range(4)
_WAITS = "…"


class AbTableModel(TableModel[AbRow]):
    titles = (tr("Seed"), "A", "B", tr("First difference"))
    figures = frozenset({SEED})

    def show_rows(self, rows: Sequence[AbRow]) -> None:
        """Rows that are there stay, so that the chosen one stays chosen."""
        if len(rows) != len(self._rows):
            super().show_rows(list(rows))
            return
        for place, (old, new) in enumerate(zip(self._rows, rows)):
            if old != new:
                self._rows[place] = new  # type: ignore[index]
                self.dataChanged.emit(self.index(place, 0), self.index(place, PARTING))

    def words(self, row: AbRow, column: int) -> str:
        difference = row.difference or (tr("same call") if _same(row) else "")
        return (str(row.seed), trial_words(row.first), trial_words(row.second), difference)[column]

    def tip(self, row: AbRow, column: int) -> str:
        return self.words(row, column)


def trial_words(trial: Trial | None) -> str:
    """The trial with a sign in front: right, wrong, or not judged."""
    if trial is None:
        return _WAITS
    if trial.ok is None:
        return f"· {trial.why}"
    return f"✓ {trial.call}" if trial.ok else f"✕ {trial.why}"


def _same(row: AbRow) -> bool:
    return bool(row.first and row.second and row.first.call and row.second.call)


class AbPage(QWidget):
    """Places the parts. `sourceChosen` carries the prompt (0 or 1) and the key of its source, `openRequested` the
    prompt and the row of the run that is to be opened.
    """

    sourceChosen = Signal(object, object)
    keepRequested = Signal()
    expectRequested = Signal()
    runRequested = Signal()
    stopRequested = Signal()
    openRequested = Signal(object, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "abPage", tr("Two prompts, the same seeds"))
        self.sources = [self._make_source(place) for place in (0, 1)]
        self.about = [ElidedLabel(self, Qt.TextElideMode.ElideRight) for _ in (0, 1)]
        for label in self.about:
            label.setProperty("role", "muted")
        self.keep_button = self._button("abKeepButton", tr("Keep as A"))
        self.keep_button.setToolTip(tr("Keep the current prompt as A; later edits do not change it"))
        self._make_settings()
        self.run_button = self._button("abRunButton", tr("Run A and B"))
        self.run_button.setProperty("role", "primary")
        self.run_button.setToolTip(tr("All seeds of A, then all of B (Ctrl+Return)"))
        self.stop_button = self._button("abStopButton", tr("Stop"))
        self.stop_button.setToolTip(tr("Stop and keep the finished runs (Esc)"))
        self.turn = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.words = named(FittedLabel(self), "abWords")
        self.words.setText(_FIRST_WORDS)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.model = AbTableModel(self)
        self.table = PlainTable(self.model, PARTING, self)
        self.table.setObjectName("abTable")
        self.table.setAccessibleName(tr("Seeds, with the result of each prompt"))
        self.open_buttons = [
            self._button(f"abOpen{name}Button", tr("Open {name}’s run", name=name)) for name in NAMES
        ]
        self._lay_out()
        self._connect()
        self.setFocusProxy(self.sources[0])
        self.show_choice()

    def show_sources(self, place: int, sources: Sequence[tuple[str, str]], chosen: str, about: str) -> None:
        """Key and words of each source, the chosen one, and what it is."""
        box = self.sources[place]
        box.clear()
        for key, words in sources:
            box.addItem(words, key)
        box.setCurrentIndex(box.findData(chosen))
        self.about[place].setText(about)
        self.about[place].setAccessibleName(about)

    def show_words(self, lines: Sequence[str]) -> None:
        """What the pairs come to."""
        self.words.setText("\n".join(lines) if lines else _FIRST_WORDS)

    def show_running(self, *, running: bool, free: bool) -> None:
        for widget in (*self.sources, self.keep_button, self.seeds, self.temperature, self.expect):
            widget.setEnabled(not running)
        self.run_button.setEnabled(free and not running)
        self.stop_button.setEnabled(running)

    def show_choice(self) -> None:
        """Which runs can be opened: those of the chosen row that came to an end."""
        row = self.model.row(self.table.currentIndex().row())
        for which, button in enumerate(self.open_buttons):
            button.setEnabled(row is not None and (row.first, row.second)[which] is not None)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(400, 360))

    # -- inside ------------------------------------------------------------------------------------------------

    def _make_source(self, place: int) -> QComboBox:
        box = QComboBox(self)
        box.setObjectName(f"abSource{NAMES[place]}")
        box.setAccessibleName(tr("Source of prompt {name}", name=NAMES[place]))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(18)
        return box

    def _button(self, name: str, words: str) -> QPushButton:
        return push_button(words, self, name=name)

    def _make_settings(self) -> None:
        self.seeds = LineEdit("1-5", self)
        self.seeds.setObjectName("abSeeds")
        self.seeds.setAccessibleName(tr("Seeds for both prompts"))
        self.seeds.setToolTip(
            tr("1-10, or 1,3,7-9. With fewer than six seeds, no difference can be significant.")
        )
        self.seeds.setMaximumWidth(120)
        self.temperature = QDoubleSpinBox(self, singleStep=0.1, decimals=2)
        self.temperature.setObjectName("abTemperature")
        self.temperature.setAccessibleName(tr("Temperature for both prompts"))
        self.temperature.setToolTip(tr("At 0 all seeds give the same tokens, so one is run."))
        self.temperature.setRange(0.0, 5.0)
        self.temperature.setValue(WARM)
        self.expect = LineEdit(self, placeholderText=tr("any valid call"))
        self.expect.setObjectName("abExpect")
        self.expect.setAccessibleName(tr("Expected call"))
        self.expect.setToolTip(
            tr(
                'As JSON: {"tool": …, "arguments": {…}}. With the mask every call is valid: enter '
                "the call that is correct."
            )
        )
        self.expect_button = named(self._button("abExpectButton", tr("Call of the run shown")), role="link")

    def _lay_out(self) -> None:
        top = QWidget(self)
        grid = grid_layout(top, spacing=(10, 8), stretch=2)
        for place, name in enumerate(NAMES):
            label = PlainLabel(name, top, role="title")
            label.setBuddy(self.sources[place])
            grid.addWidget(label, place, 0)
            grid.addWidget(self.sources[place], place, 1)
            grid.addWidget(self.about[place], place, 2)
        grid.addWidget(self.keep_button, 0, 3)
        line = hbox(spacing=10)
        for words, field in (
            (tr("Seeds"), self.seeds),
            (tr("Temperature"), self.temperature),
            (tr("Expected call"), self.expect),
        ):
            label = PlainLabel(words, top)
            label.setBuddy(field)
            line.addWidget(label)
            line.addWidget(field, 1 if field is self.expect else 0)
        line.addWidget(self.expect_button)
        grid.addLayout(line, 2, 0, 1, 4)
        run = hbox((self.turn, 1), self.stop_button, self.run_button, spacing=10)
        grid.addLayout(run, 3, 0, 1, 4)
        padded = hbox(self.words, margins=(14, 10, 14, 0))
        opens = hbox(STRETCH, *self.open_buttons, margins=(14, 0, 14, 10), spacing=10)
        below = holder(vbox(padded, (self.table, 1), opens, spacing=8), self)
        vbox(
            Card(tr("Two prompts, the same seeds"), top, hint=tr("Ctrl + Enter runs both")),
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
        self.keep_button.clicked.connect(self.keepRequested)
        self.expect_button.clicked.connect(self.expectRequested)
        self.run_button.clicked.connect(self.runRequested)
        self.stop_button.clicked.connect(self.stopRequested)
        self.table.selectionModel().currentChanged.connect(lambda _now, _before: self.show_choice())
        self.table.doubleClicked.connect(self._open_clicked)
        for which, button in enumerate(self.open_buttons):
            button.clicked.connect(lambda _on=False, which=which: self._open(which))
        self.table.fit_column(SEED, "000")
        for column in (FIRST, SECOND):
            self.table.setColumnWidth(column, 260)

    def _open(self, which: int) -> None:
        place = self.table.currentIndex().row()
        if place >= 0:
            self.openRequested.emit(which, place)

    def _open_clicked(self, index: object) -> None:
        column = self.table.currentIndex().column()
        if column in (FIRST, SECOND) and self.open_buttons[column - FIRST].isEnabled():
            self._open(column - FIRST)
