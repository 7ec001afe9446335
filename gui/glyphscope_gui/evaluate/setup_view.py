"""The view of an evaluation's set-up: the question first, then suites and scenarios, then the settings that vary and
those that stay; the cost, the start and earlier results on the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QAbstractItemModel, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import excerpt
from glyphscope.base.visible import visible
from glyphscope.evals.matrix.arms import OFFERED, axis_of, first_value, values_of
from glyphscope.evals.matrix.plan import Matrix, typed_text
from glyphscope.evals.matrix.questions import MODELS, QUESTIONS, SettingsQuestion
from glyphscope.evals.running.place import MAX_JOBS, SamplesPlace, read_place
from glyphscope.evals.suites.imported import endings
from glyphscope.events import Answer, RunRequest, read_pairs_line, settings_of
from glyphscope.models.remote import is_address
from glyphscope.runs.problems import notation_obstacle
from glyphscope_gui.evaluate.setup_lists import (
    MARGINS,
    JudgeChoice,
    ScenarioPicker,
    ServerTicks,
    TickList,
    TicksModel,
    model_row,
)
from glyphscope_gui.shared import fields, layouts
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import (
    PlainLabel,
    link,
    named,
    push_button,
    show_obstacle,
    show_words,
    words_label,
)
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.plain_table import PlainList, WholeRows
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import typed_answer, value_words
from glyphscope_gui.shared.settings_grid import StructForm, mark_refused, shown_words, translated
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.slices import Steps
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import GAP, is_crowded

MAX_VALUE = 16
"""Characters of a typed value beside its box."""
SIDE_BY_SIDE = 800
"""Pixels of width of the window, at the usual text size, from which the columns are side by side."""
_NAMED = ("notation", "constraint", "strategy", "thinking")
"""The axes that are always named in what stays the same; others if they have another value than the first."""
TILES = 5
"""The questions with a tile; the others are in the menu of the last one."""
_USUAL = {name: field.written(field.default) for name, field in settings_of(Matrix).items()}


class EvalAxes(QWidget):
    """The axes, each with values to tick: the arms are all combinations of the ticked values. Those that have only the
    `usual` value are in the words of what `stays`, until `every` axis is shown.

    `changed` is emitted when the user ticks or unticks.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalArms", tr("Settings varied between configurations"))
        self._boxes: dict[str, list[tuple[Any, QCheckBox]]] = {}
        self._flows: dict[str, tuple[layouts.Flow, LineEdit | None]] = {}
        self._rows: dict[str, tuple[QWidget, QWidget]] = {}
        self._every = False
        self.usual = {values_of(axis): (first_value(axis),) for axis in OFFERED}
        """The values of the axes that a question does not name, by member of Matrix."""
        self._project = ""
        self._stays_title = PlainLabel(tr("Stays"), self, role="muted")
        self.stays = words_label(parent=self, name="evalStays")
        grid = layouts.grid_layout(self, spacing=(14, 11), stretch=1)
        for row, (axis, field) in enumerate(OFFERED.items()):
            name, title = values_of(axis), in_language(field.setting.title)
            label = PlainLabel(title, self, role="muted", toolTip=in_language(field.setting.about))
            flow = layouts.Flow(self, gap=16, line_gap=7)
            self._boxes[name], self._flows[name] = [], (flow, None)
            for choice in translated(field.setting.choices):
                self._add_box(axis, *choice)
            if typed := axis_of(axis).typed:
                line = named(LineEdit(), f"{name}-typed", visible(title))
                line.setPlaceholderText(typed)
                tip = tr("Enter adds the value, as on the command line; each is a configuration")
                named(line, tip=tip, description=tip)
                line.editingFinished.connect(partial(self._add_typed, axis, line))
                flow.add(line)
                self._flows[name] = flow, line
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(flow, row, 1)
            self._rows[axis] = label, flow
        grid.addWidget(self._stays_title, len(OFFERED), 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.stays, len(OFFERED), 1)
        grid.setRowStretch(len(OFFERED) + 1, 1)

    def follow(self, usual: dict[str, tuple[Any, ...]], project: str) -> None:
        """Show other usual values, in the axes that have the former ones; `project` says what else stays."""
        before, now = self.usual, self.values()
        self.usual, self._project = {**before, **usual}, project
        self.show_values({name: values for name, values in self.usual.items() if now[name] == before[name]})

    def show_rows(self, *, every: bool | None = None) -> None:
        """Show the axes that vary or have another value than the usual one, or `every` one."""
        self._every = self._every if every is None else every
        values, stay, whole = self.values(), [self._project], []
        for axis, widgets in self._rows.items():
            name = values_of(axis)
            chosen, field = values[name], OFFERED[axis]
            shown = self._every or chosen != self.usual[name]
            for widget in widgets:
                widget.setVisible(shown)
            if not shown:
                whole.append(f"{in_language(field.setting.title)}: {shown_words(field, chosen[0])}")
                if axis in _NAMED or chosen != (first_value(axis),):
                    stay.append(value_words(axis, chosen[0]))
        if self._project:
            stay = [words for words in stay if words != value_words("profile", "project")]
        self.stays.setText(" · ".join(filter(None, stay)))
        self.stays.setToolTip(plain_tip("\n".join(whole)))
        for widget in (self._stays_title, self.stays):
            widget.setVisible(bool(whole))

    def values(self) -> dict[str, tuple[Any, ...]]:
        """Return the ticked values, by member of Matrix."""
        return {
            name: tuple(value for value, box in boxes if box.isChecked())
            for name, boxes in self._boxes.items()
        }

    def show_values(self, values: dict[str, tuple[Any, ...]]) -> None:
        """Tick exactly these values, without a signal; axes that are not named stay unchanged."""
        for axis in OFFERED:
            if (ticked := values.get(values_of(axis))) is not None:
                self._show_ticked(axis, ticked)
        self.show_rows()

    def show_answers(self, answers: Iterable[Answer]) -> None:
        """Enable the notations that one of these answers has; of several ticked ones, each can be unticked."""
        requests = [RunRequest(prompt="", registry={}, answer=answer) for answer in dict.fromkeys(answers)]
        boxes = self._boxes[values_of("notation")]
        several = sum(box.isChecked() for _, box in boxes) > 1
        for (value, box), (_value, _words, about) in zip(
            boxes, translated(OFFERED["notation"].setting.choices)
        ):
            found = [notation_obstacle(each, None, native=value == "native") for each in requests]
            can_leave = several and box.isChecked()
            why_not = found[0].words if found and found[0] and all(found) else ""
            show_obstacle(box, about, why_not)
            box.setEnabled(can_leave or not why_not)

    def _show_ticked(self, axis: str, ticked: Sequence[Any]) -> None:
        boxes = self._boxes[values_of(axis)]
        for value in ticked:
            if not any(value == other for other, _ in boxes):
                self._add_box(axis, value, excerpt(value_words(axis, value), MAX_VALUE), str(value))
        for value, box in boxes:
            box.setChecked(value in ticked)

    def _add_box(self, axis: str, value: Any, words: str, hint: str) -> None:
        name, title = values_of(axis), in_language(OFFERED[axis].setting.title)
        flow, line = self._flows[name]
        box = named(QCheckBox(words, flow), f"{name}-{value}", visible(f"{title}: {words}"))
        named(box, tip=plain_tip(hint), description=visible(hint, lines=True))
        box.clicked.connect(lambda _on=False: self.changed.emit())
        flow.add(box, line)
        box.setVisible(True)
        self._boxes[name].append((value, box))

    def _add_typed(self, axis: str, line: LineEdit) -> None:
        """Tick the typed value, with a box for a new one, and leave the others ticked."""
        text = line.text().strip()
        try:
            value = self._read(axis, text)
        except (ValueError, GlyphscopeError) as error:
            mark_refused(line, str(error))
            return
        mark_refused(line, "")
        if text:
            line.clear()
            self._show_ticked(axis, (*self.values()[values_of(axis)], value))
            self.changed.emit()

    def _read(self, axis: str, text: str) -> Any:
        """The typed value. Raises ValueError and GlyphscopeError."""
        if axis_of(axis).long:
            return typed_text(axis, text)
        if OFFERED[axis].kind is Answer and text:
            return typed_answer(text)
        read_pairs_line(text)
        return text


class QuestionTile(QPushButton):
    """A question, with what is compared below it; pressed while the set-up answers it."""

    def __init__(self, name: str, title: str, about: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        named(self, name, title, description=about, tip=tr("Sets what varies; scenarios and models stay"))
        self.setProperty("choice", "words")
        labels = words_label(title, "title", self), words_label(about, parent=self)
        for label in labels:
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            label.setMinimumWidth(40)  # a long text would ask for more, to be nearly square
        self._column = layouts.vbox(*labels, layouts.STRETCH, parent=self, spacing=2)
        self.leave_room(0)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def leave_room(self, right: int) -> None:
        """Keep so many more pixels at the right free of words."""
        self._column.setContentsMargins(12, 7, 12 + right, 7)

    def sizeHint(self) -> QSize:
        return self._column.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._column.minimumSize()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._column.totalHeightForWidth(width)


class PlaceField(LineEdit):
    """The place of the samples, as `--on` names it; empty for this computer. `place` is None if it is empty or invalid,
    `problem` is the reason for the latter.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalPlace")
        self.setPlaceholderText(tr("This computer"))
        self.setClearButtonEnabled(True)
        self.place: SamplesPlace | None = None
        self.problem = ""
        self.textChanged.connect(self._read)

    def _read(self, text: str) -> None:
        self.place, self.problem = None, ""
        try:
            self.place = read_place(text.strip()) if text.strip() else None
        except GlyphscopeError as error:
            self.problem = error.words
        mark_refused(self, self.problem)


class EvalSetupView(layouts.FollowsSize, QWidget):
    """All settings of an evaluation as one Matrix, with its cost; `lay_out` places the parts.

    `axes` are made before, as they take as long as the others. `changed` is emitted when the user changes anything;
    `questionAsked` carries the Question, `projectToggled` says whether the project's prompt is used.
    """

    changed = Signal()
    questionAsked = Signal(object)
    projectToggled = Signal()

    def __init__(
        self,
        suites: TicksModel,
        models: TicksModel,
        axes: EvalAxes,
        results: QAbstractItemModel,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("evalSetup")
        self._suites, self._models = suites, models
        self.suites = TickList(suites, "evalSuites", tr("Suites of scenarios"), endings, self)
        self.models = TickList(models, "evalModels", tr("Models"), lambda: (".gguf",), self, fitted=True)
        self.scenarios = ScenarioPicker(self)
        self.axes = axes
        tip = tr(
            "The system prompt, the template and the sampling of the open project, for suites that do not exclude it"
        )
        self.uses_project = QCheckBox(tr("Project’s prompt, template and sampling"), self)
        self.uses_project.setChecked(True)
        named(self.uses_project, "evalProject", tip=tip, description=tip)
        self._tiles: dict[str, QuestionTile] = {}
        self._asks_models = False
        self.results = _Results(
            results, "evalResults", tr("Earlier results"), self, description=tr("Enter opens a result.")
        )
        add = tr("Add file…")
        self.add_suite = link(
            add, tr("Add a suite, also of promptfoo or Inspect; you can also drop its file here")
        )
        self.new_suite = link(tr("New…"), tr("Create a suite"))
        self.edit_suite = link(tr("Edit…"), tr("Edit this suite; a bundled suite is copied"))
        self.add_model = link(add, tr("Add a GGUF file; you can also drop it here"))
        for button, title in ((self.add_suite, tr("Suites")), (self.add_model, tr("Models"))):
            named(button, words=f"{title}: {add}")
        self.add_endpoint = link(tr("Endpoint…"), tr("Add a served model by the address of its endpoint"))
        self.judge = JudgeChoice(self)
        self.repetitions = StructForm(Matrix(suites=(), models=()), 2)
        self.repetitions.add_settings()
        self.numbers = self.repetitions.fields
        self.servers = ServerTicks(self)
        self.jobs = _spin(1, MAX_JOBS, "evalJobs")
        self.place = PlaceField(self)
        self.cost = words_label(role="", parent=self, name="evalCost")
        self.cost.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.problem = words_label(role="problem", parent=self)
        self.problem.hide()
        self.arms_note = PlainLabel(
            self, objectName="evalArmsNote", role="muted", alignment=Qt.AlignmentFlag.AlignTop
        )
        self.arms_note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.start = push_button(tr("Evaluate"), self, name="evalRunButton", role="primary")
        self.start.setAccessibleDescription(tr("Start the evaluation"))
        tip = tr("Show all settings that can vary, models, and how the samples are made")
        self.more = link(tr("More settings"), tip, self)
        self.more.setCheckable(True)
        self._row = layouts.hbox(parent=self, spacing=GAP)
        self._is_laid_out = self._is_stacked = False
        self._connect()
        self.setFocusProxy(self.suites)

    def _connect(self) -> None:
        for ticks in (self._suites, self._models):
            ticks.checksChanged.connect(self.changed)
        self.more.toggled.connect(lambda _on: self.show_parts())
        self.uses_project.clicked.connect(lambda _on=False: self.projectToggled.emit())
        for part in (self.axes, self.scenarios, self.judge, self.servers):
            part.changed.connect(self.changed)
        for box in self.numbers.values():
            box.setKeyboardTracking(True)  # the price of what is typed is computed before Evaluate is clicked
        self.repetitions.chosen.connect(lambda _matrix: self.changed.emit())
        self.jobs.valueChanged.connect(lambda _value: self.changed.emit())
        self.place.textChanged.connect(self._place_changed)

    def _place_changed(self, text: str) -> None:
        self.jobs.setEnabled(not text.strip())
        self.changed.emit()

    def matrix(self) -> Matrix:
        """Return the settings as a matrix, valid or not."""
        varied: dict[str, Any] = {**self.axes.values(), **self.scenarios.values()}
        matrix: Matrix = self.repetitions.settings
        return msgspec.structs.replace(
            matrix,
            suites=self._suites.ticked,
            models=self._models.ticked,
            **varied,
            jobs=self.place.place.jobs if self.place.place is not None else self.jobs.value(),
            judge=self.judge.value,
            servers=self.servers.planned,
        )

    def show_matrix(self, changes: dict[str, Any]) -> None:
        """Show these members of a Matrix, without a signal; the others stay."""
        if "suites" in changes:
            self._suites.tick(changes["suites"])
        if "models" in changes:
            self._models.tick(changes["models"])
        self.axes.show_values(changes)
        self.scenarios.show_values(changes)
        numbers = {name: changes[name] for name in self.numbers if name in changes}
        self.repetitions.show_settings(msgspec.structs.replace(self.repetitions.settings, **numbers))
        if "servers" in changes:
            self.servers.tick(changes["servers"])
        if "jobs" in changes:
            with QSignalBlocker(self.jobs):
                self.jobs.setValue(changes["jobs"])
        self.show_parts()

    def show_saved(self, saved: dict[str, Any]) -> None:
        """Show the members of the last start's set-up, whose suites are ticked once they are read; without any, what
        answers the first question.
        """
        first = {name: field.default for name, field in settings_of(Matrix).items()}
        for name in filter(None, saved.get("models", ())):
            note = tr("an endpoint") if is_address(name) else str(Path(name).parent)
            self._models.put(model_row(name, note), ticked=True)
        asked = saved or QUESTIONS[0].members(self.axes.usual)
        others = {name: value for name, value in asked.items() if name not in ("suites", "models")}
        self.show_matrix({**first, **self.axes.usual, **others})

    def show_cost(
        self, words: str, problem: str = "", *, arms: Sequence[str] = (), can_start: bool = False
    ) -> None:
        """Show the cost and the arms, or why the evaluation cannot be run."""
        self.arms_note.setText("\n".join(arms))
        self.arms_note.setToolTip(plain_tip("\n".join(arms)))
        show_words(self.cost, words)
        self.cost.setAccessibleName(words)
        show_words(self.problem, problem)
        self.start.setEnabled(can_start)
        self._cost_area.updateGeometry()

    def show_parts(self) -> None:
        """Show what the evaluation needs, or with *More settings* everything."""
        every = self.more.isChecked()
        self.axes.show_rows(every=every)
        self.uses_project.setVisible(every or not self.uses_project.isChecked())
        self.servers.show_every(every)
        self.show_models()
        names = [name for name in self.numbers if name != "trials"]
        others = [self.numbers[name] for name in names if every or self.numbers[name].value() != _USUAL[name]]
        places = [self.jobs, self.place] if every or self.jobs.value() != 1 or self.place.text() else []
        self.repetitions.grid.show_only([self.numbers["trials"], *others, *places])
        self._cost_area.updateGeometry()

    def show_models(self) -> None:
        """Show the models if several are evaluated or asked about, or none is chosen; and the question."""
        several = len(self._models.ticked) != 1
        self._models_part.setVisible(self.more.isChecked() or several or self._asks_models)
        chosen = self.axes.values()
        for question in QUESTIONS[:TILES]:
            asked = question.members(self.axes.usual) == chosen
            models = self._asks_models or several
            self._tiles[question.key].setChecked(asked and (not question.varied or not models))

    def ask(self, question: SettingsQuestion) -> None:
        """Set up what answers a question."""
        self._asks_models = question.key == MODELS
        self.show_matrix(question.members(self.axes.usual))

    def lay_out(self) -> Steps:
        """Place the parts, once: separate steps, as they take as long as making them.

        Containers are placed before they are filled, as Qt restyles their contents at each move.
        """
        left, right = named(QWidget(), "evalLeft"), named(QWidget(), "evalRight")
        self._row.addWidget(_Scrolled(left, self))
        self._row.addWidget(right)
        questions = Card(tr("1  What do you want to know?"), self._questions(), parent=left)
        yield
        self._sources = layouts.hbox(
            (WholeRows(self.suites, flexible=True), 2), (self.scenarios, 3), spacing=GAP
        )
        links = self.new_suite, self.add_suite, self.edit_suite
        scenarios = Card(
            tr("2  On which scenarios?"),
            layouts.holder(self._sources),
            actions=links,
            padded=False,
            parent=left,
        )
        yield
        hint = tr("all combinations are evaluated")
        arms = Card(
            tr("3  What varies, and what stays"), self._arms(), hint=hint, actions=(self.more,), parent=left
        )
        yield
        self._left = layouts.vbox(questions, (scenarios, 1), arms, parent=left, spacing=GAP)
        cost = self._cost_area = _Scrolled(Card(tr("Cost"), self._cost()), right)
        cost.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        list_ = WholeRows(self.results, flexible=True)
        results = self._results_card = Card(tr("Results"), list_, padded=False, parent=right)
        self._right = layouts.vbox(cost, self.start, (results, 1), parent=right, spacing=GAP)
        yield
        self.show_parts()
        self._is_laid_out = True
        self._fit()

    def _arms(self) -> QWidget:
        inside = named(QWidget(), "evalArmsInside")
        label = PlainLabel(tr("Models"), inside, role="muted")
        head = layouts.hbox(label, layouts.STRETCH, self.add_model, self.add_endpoint)
        self._models_part = layouts.holder(layouts.vbox(head, self.models, spacing=6))
        layouts.vbox(
            self._models_part,
            self.judge,
            self.servers,
            self.axes,
            self.uses_project,
            parent=inside,
            spacing=10,
        )
        return inside

    def _questions(self) -> QWidget:
        inside = QWidget(self)
        grid = layouts.grid_layout(inside, spacing=(8, 8))
        for question in QUESTIONS[:TILES]:
            title, about = in_language(question.title), in_language(question.about)
            tile = self._tiles[question.key] = QuestionTile(
                f"evalQuestion-{question.key}", title, about, inside
            )
            tile.clicked.connect(lambda _on=False, asked=question: self.questionAsked.emit(asked))
        about = tr("Other questions, or any setting")
        other = QuestionTile("evalOtherQuestions", tr("Something else…"), about, inside)
        other.setCheckable(False)
        menu = QMenu(other)
        for question in QUESTIONS[TILES:]:
            action = menu.addAction(in_language(question.title))
            action.setToolTip(in_language(question.about))
            action.triggered.connect(lambda _on=False, asked=question: self.questionAsked.emit(asked))
        menu.addSeparator()
        menu.addAction(tr("Any setting…"), lambda: self.more.setChecked(True))
        other.setMenu(menu)
        other.leave_room(12)  # of its arrow
        for place, tile in enumerate((*self._tiles.values(), other)):
            grid.addWidget(tile, *divmod(place, 3))
        for column in range(3):
            grid.setColumnStretch(column, 1)
        return inside

    def _repetitions(self) -> QWidget:
        grid = self.repetitions.grid
        grid.add(
            tr("Jobs"),
            self.jobs,
            tr("Samples run in parallel; each job loads a separate copy of the model"),
        )
        grid.add(
            tr("Run on"),
            self.place,
            tr("Empty for this computer, or dask://HOST:PORT for the workers of a Dask scheduler"),
            wide=True,
        )
        return grid

    def _cost(self) -> QWidget:
        parts = (self.cost, self.problem, self.arms_note, self._repetitions())
        return layouts.holder(layouts.vbox(*parts, spacing=10), self)

    def _fit(self) -> None:
        """Place the columns side by side, or in one that scrolls above the button, if large text leaves no room."""
        if not self._is_laid_out:
            return
        stacked = is_crowded(self, SIDE_BY_SIDE)
        if stacked != self._is_stacked:
            self._is_stacked = stacked
            (self._left if stacked else self._right).insertWidget(3 * stacked, self._cost_area)
            (self._left if stacked else self._right).addWidget(self._results_card, 0 if stacked else 1)
        directions = QHBoxLayout.Direction
        for row in (self._row, self._sources):
            row.setDirection(directions.TopToBottom if stacked else directions.LeftToRight)
        for place, stretch in enumerate((1, 0) if stacked else (11, 5)):
            self._row.setStretch(place, stretch)


class _Results(PlainList):
    """The list of results, with a message while there are none."""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.model().rowCount():
            painter = QPainter(self.viewport())
            painter.setPen(theme().color("text-muted"))
            box = self.viewport().rect().adjusted(9, 8, -9, -8)
            painter.drawText(
                box, Qt.TextFlag.TextWordWrap, tr("None yet. Results of evaluations appear here.")
            )


class _Scrolled(layouts.ScrollArea):
    """As high as its content if there is room, and otherwise scrolls; never narrower than its content."""

    def __init__(self, inside: QWidget, parent: QWidget) -> None:
        super().__init__(inside, parent)
        self._inside = inside

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # its words need other lines

    def sizeHint(self) -> QSize:
        layout = self._inside.layout()
        if layout is None:  # not filled yet
            return super().sizeHint()
        high = layout.totalHeightForWidth(self.viewport().width()) if layout.hasHeightForWidth() else 0
        return QSize(super().sizeHint().width(), high or self._inside.sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(self._inside.minimumSizeHint().width() + bar, 120)


def _spin(least: int, most: int, name: str) -> fields.WholeBox:
    spin = named(fields.WholeBox(), name)
    spin.setRange(least, most)
    spin.setMinimumWidth(64)
    spin.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    spin.lineEdit().setTextMargins(*MARGINS)
    return spin
