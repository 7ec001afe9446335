"""An editor of a suite: its scenarios on the left, the chosen one on the right. Saved once it has no error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QModelIndex, QObject, QSignalBlocker, QSize, Signal
from PySide6.QtWidgets import QCheckBox, QScrollArea, QWidget

from glyphscope.base.errors import GlyphscopeError, SuiteError
from glyphscope.base.visible import visible
from glyphscope.evals.suites.own import free_id, keep_suite, suite_path
from glyphscope.evals.suites.registries import only_allowed, open_registry
from glyphscope.evals.suites.suite import VERSION, Expectation, Scenario, Suite
from glyphscope.registry import ToolRegistry
from glyphscope_gui.context import AppContext
from glyphscope_gui.evaluate.consent import ask_about_files
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.evaluate.reading import EvalReading
from glyphscope_gui.evaluate.scenario_form import ScenarioForm
from glyphscope_gui.evaluate.setup import editable
from glyphscope_gui.evaluate.setup_lists import ScenarioRow
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, grid_layout, hbox, vbox
from glyphscope_gui.shared.named_files import NamedFile, NamedFiles
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_table import LongList
from glyphscope_gui.shared.table_model import NO_INDEX, ListModel
from glyphscope_gui.shared.text_edits import LineEdit

MAX_PROBLEMS = 4
"""Problems that are shown."""


class _ScenariosModel(ListModel[Scenario]):
    _rows: list[Scenario]

    def words(self, row: Scenario, column: int) -> str:
        return visible(row.id)

    def replace(self, place: int, scenario: Scenario) -> None:
        self._rows[place] = scenario
        self._changed(place, place + 1)

    def add(self, scenario: Scenario) -> None:
        self._insert(len(self._rows), [scenario])

    def take(self, index: int) -> None:
        self.beginRemoveRows(NO_INDEX, index, index)
        del self._rows[index]
        self.endRemoveRows()


class SuiteEditor(PlainDialog):
    """`saved` carries the suite's path. A bundled suite is saved as a copy."""

    saved = Signal(object)

    def __init__(
        self,
        suite: Suite,
        path: Path | None,
        folder: Path,
        chosen: str = "",
        parent: QWidget | None = None,
        files: NamedFiles | None = None,
    ) -> None:
        super().__init__("suiteEditor", tr("Edit suite"), parent)
        self._suite, self._path, self._folder = suite, path, folder
        self._files = files or NamedFiles()
        self._outside: tuple[NamedFile, ...] = ()
        """The files outside of the folder that the last save was not allowed to read."""
        self._scenarios = list(suite.scenarios)
        self._row, self._warned = -1, False
        self._opened: tuple[object, ToolRegistry | None] = None, None
        """The tools that were opened last, with their source."""
        self._background = Background(self)
        self.name_edit = named(LineEdit(suite.name, self), "suiteName", tr("Name of the suite"))
        self.name_edit.setEnabled(path is None)
        self.judge_edit = LineEdit(suite.judge, self, placeholderText=tr("A model, for rubrics"))
        self.judge_edit.setObjectName("suiteJudge")
        self.judge_edit.setAccessibleName(tr("Judge model"))
        self.judge_edit.setToolTip(
            tr(
                "The model that decides rubrics: a GGUF file, or “embedded”. An evaluation can name another one."
            )
        )
        words = tr("Project’s prompt, template and sampling")
        self.project_box = QCheckBox(words, self)
        self.project_box.setChecked(suite.project is not False)
        tip = tr("Evaluate with those of the project; otherwise with the suite’s own")
        named(self.project_box, "suiteProject", tip=tip, description=tip)
        self.model = _ScenariosModel(self)
        self.model.show_rows(self._scenarios)
        self.list = LongList(self.model, "suiteScenarios", tr("Scenarios"), self)
        self.add = link(tr("Add"), tr("Add a scenario"), clicked=self._add)
        self.copy = link(tr("Duplicate"), tr("Add a copy of this scenario"), clicked=self._copy)
        self.remove = link(tr("Remove"), tr("Remove this scenario"), clicked=self._remove)
        named(self.remove, words=tr("Remove this scenario"))
        self.form = ScenarioForm(self)
        self.problem = words_label(role="problem", parent=self, name="suiteProblem")
        self.problem.hide()
        self.save_button = push_button(tr("Save"), self, name="suiteSave", role="primary", clicked=self._save)
        self._lay_out()
        self.list.selectionModel().currentChanged.connect(lambda now, _before: self._choose(now.row()))
        self.form.changed.connect(self._check)
        ids = [each.id for each in self._scenarios]
        if not ids:
            self._add()
        self.choose_row(ids.index(chosen) if chosen in ids else 0)
        self._unedited = self._edited()
        if ids and path is not None:
            self.list.setFocus()

    def reject(self) -> None:
        """Close; unsaved changes are discarded only at the second request."""
        if self._is_changed() and not self._warned:
            self._warned = True
            show_words(self.problem, tr("There are unsaved changes. Press Cancel again to discard them."))
        else:
            super().reject()

    def choose_row(self, row: int) -> None:
        """Choose the scenario in that row."""
        self.list.setCurrentIndex(self.model.index(row, 0))

    def _is_changed(self) -> bool:
        return not self._take() or self._edited() != self._unedited

    def _edited(self) -> tuple[tuple[Scenario, ...], str, str, bool | None]:
        """The members with fields: the scenarios, the judge, the name, and whether a project's prompt is used."""
        project: bool | None = self.project_box.isChecked()
        if project and self._suite.project is None:
            project = None  # as before
        return tuple(self._scenarios), self.judge_edit.text().strip(), self.name_edit.text().strip(), project

    def _choose(self, row: int) -> None:
        """Show another scenario, unless the current one cannot be read."""
        if row == self._row or row < 0:
            return
        if not self._take():
            with QSignalBlocker(self.list.selectionModel()):
                self.choose_row(self._row)
            self.list.viewport().update()
            return
        self._row = row
        scenario = self._scenarios[row]
        self.form.show_scenario(scenario, self._registry(scenario), self._suite.answer)
        show_words(self.problem, "")

    def _registry(self, scenario: Scenario) -> ToolRegistry | None:
        """The tools of a scenario; None if they cannot be read."""
        source = self._suite.registry if scenario.registry is None else scenario.registry
        if self._opened[0] is not source:
            try:
                self._opened = (
                    source,
                    open_registry(source, self._path.parent if self._path else self._folder),
                )
            except GlyphscopeError:
                self._opened = source, None
        registry = self._opened[1]
        return None if registry is None else only_allowed(registry, scenario.tools)

    def _take(self) -> bool:
        """Apply the edits; False if they cannot be read."""
        if self._row < 0:
            return True
        try:
            edited = self.form.scenario()
        except GlyphscopeError as error:
            show_words(self.problem, str(error))
            return False
        self.model.replace(self._row, edited)
        return True

    def _check(self) -> None:
        self._warned = False
        if self._take():
            show_words(self.problem, "")

    def _add(self) -> None:
        made = Scenario(id=free_id(self._scenarios, "scenario"), prompt="", expect=Expectation())
        if self._take():
            self._put(made)
            self.form.prompt_edit.setFocus()

    def _copy(self) -> None:
        if self._take() and self._row >= 0:
            now = self._scenarios[self._row]
            self._put(msgspec.structs.replace(now, id=free_id(self._scenarios, now.id)))

    def _put(self, scenario: Scenario) -> None:
        self.model.add(scenario)
        self.choose_row(len(self._scenarios) - 1)

    def _remove(self) -> None:
        row = self._row
        if row < 0 or len(self._scenarios) < 2:
            show_words(self.problem, tr("A suite has at least one scenario."))
            return
        self._row = -1
        with QSignalBlocker(self.list.selectionModel()):
            self.model.take(row)
            self.list.setCurrentIndex(QModelIndex())
        self.choose_row(min(row, len(self._scenarios) - 1))

    def _save(self) -> None:
        if not self._take():
            return
        name = self.name_edit.text().strip()
        try:
            path = self._path or suite_path(self._folder, name)
        except SuiteError as error:
            show_words(self.problem, str(error))
            return
        if self._path is None and path.exists():
            show_words(self.problem, tr("A suite with this name exists. Choose another name."))
            return
        scenarios, judge, _name, project = self._edited()
        suite = msgspec.structs.replace(
            self._suite, name=name, scenarios=scenarios, judge=judge, project=project
        )
        self._show_saving(True)
        self._background.start(
            "save", lambda: self._keep(path, suite), lambda _: self._saved(path), self._not_saved
        )

    def _keep(self, path: Path, suite: Suite) -> None:
        """Write the suite, in the background."""
        with self._files.reading() as outside:
            try:
                keep_suite(path, suite)
            finally:
                self._outside = tuple(outside)

    def _saved(self, path: Path) -> None:
        self.saved.emit(path)
        self.accept()

    def _not_saved(self, error: BaseException) -> None:
        self._show_saving(False)
        problems = error.problems if isinstance(error, SuiteError) else ()
        for problem in problems[:1]:
            parts = problem.pointer.split("/")
            if parts[1:2] == ["scenarios"] and parts[2:3] and parts[2].isdigit():
                self.choose_row(int(parts[2]))
        words = [f"{self._place(each.pointer)}{each.message}" for each in problems[:MAX_PROBLEMS]]
        show_words(self.problem, "\n".join(words) or str(error))
        if self._outside:
            ask_about_files(self, self._suite.name, self._outside, self._allow)

    def _allow(self, files: Sequence[NamedFile]) -> None:
        self._files.allow(files)
        self._save()

    def _show_saving(self, saving: bool) -> None:
        """Show the saving: every expected call is checked first, which takes seconds for many scenarios."""
        self.save_button.setEnabled(not saving)
        self.save_button.setText(tr("Saving…") if saving else tr("Save"))
        if saving:
            show_words(self.problem, "")

    def _place(self, pointer: str) -> str:
        """Return `search-news, expect/calls/0: ` for the place of a problem in a scenario."""
        parts = pointer.split("/")
        if parts[1:2] != ["scenarios"] or not parts[2:3] or not parts[2].isdigit():
            return f"{pointer.strip('/')}: " if pointer else ""
        return f"{self._scenarios[int(parts[2])].id}, {'/'.join(parts[3:])}: "

    def _lay_out(self) -> None:
        row = hbox(self.add, self.copy, self.remove, STRETCH)
        names = grid_layout(spacing=(10, 8), stretch=1)
        for index, (words, edit) in enumerate(((tr("Name"), self.name_edit), (tr("Judge"), self.judge_edit))):
            names.addWidget(PlainLabel(words, self, "muted"), index, 0)
            names.addWidget(edit, index, 1)
        left = vbox(names, self.project_box, (self.list, 1), row, spacing=8)
        scrolled = QScrollArea(self, widgetResizable=True)
        scrolled.setFrameShape(QScrollArea.Shape.NoFrame)
        scrolled.setWidget(self.form)
        parts = hbox((left, 2), (scrolled, 5), spacing=16)
        buttons = self.button_box(Standard.Cancel, (self.save_button, Role.ActionRole))
        vbox((parts, 1), self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        line = self.fontMetrics().lineSpacing()
        self.resize(QSize(66 * line, 38 * line).boundedTo(self.screen().availableSize()))


class SuiteEditing(QObject):
    """Connects the lists of suites and scenarios with the editor."""

    def __init__(self, context: AppContext, view: EvalPage, reading: EvalReading, parent: QObject) -> None:
        super().__init__(parent)
        self._context, self._view, self._reading = context, view, reading
        view.setup.new_suite.clicked.connect(self.make)
        view.setup.edit_suite.clicked.connect(self.edit_current)
        view.setup.scenarios.openRequested.connect(self.edit)

    @property
    def folder(self) -> Path:
        return self._context.services.places.suites

    def make(self) -> None:
        """Edit a new suite with the project's tools."""
        registry = self._context.project.tools.registry.to_document()
        suite = Suite(glyphscope_suite=VERSION, name="my-suite", about="", registry=registry, project=True)
        self._show(suite, None)

    def edit_current(self) -> None:
        """Edit the suite of the selected scenario, or the first ticked suite."""
        row = self._view.setup.scenarios.current()
        if row is not None:
            self.edit(row)
        else:
            self._view.notice.show_words(tr("Select a suite to edit."))

    def edit(self, row: ScenarioRow) -> None:
        """Edit the suite of a scenario, which is selected in it; of a bundled suite, a copy."""
        self._reading.start_with_files(
            "load", lambda: editable(row.source), lambda found: self._show(*found, row.scenario.id)
        )

    def _show(self, suite: Suite, path: Path | None, chosen: str = "") -> None:
        window, files = self._context.window, self._context.services.named_files
        editor = SuiteEditor(suite, path, self.folder, chosen, window, files)
        editor.saved.connect(lambda saved: self._reading.read_suite(str(saved)))
        editor.open()
