"""The presenter of the Evaluate page: set-up, the running evaluation, results, and opening a sample's run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QModelIndex, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import OFFERED, axes_of, first_value, values_of
from glyphscope.evals.matrix.needs import PythonFile, needs_of
from glyphscope.evals.matrix.notes import project_notes
from glyphscope.evals.matrix.questions import SettingsQuestion
from glyphscope.evals.results.export import EXPORTERS, Exported, export_samples
from glyphscope.evals.results.folder import ResultRow, list_results
from glyphscope.evals.running.place import SamplesPlace
from glyphscope.evals.running.progress import EvaluationState
from glyphscope.evals.suites.imported import endings
from glyphscope.evals.suites.reading import STARTER
from glyphscope.events import RunRequest
from glyphscope.store.named_models import NamedModels, fixed_batch
from glyphscope_gui.context import AppContext, FilePlace, Page, Place
from glyphscope_gui.evaluate.consent import PythonConsent, ask_about_files
from glyphscope_gui.evaluate.evaluations import EvalJob, EvalPhase, Evaluations
from glyphscope_gui.evaluate.page import RESULT, EvalPage
from glyphscope_gui.evaluate.reading import (
    EvalReading,
    OpenedResult,
    OpenedRun,
    PricedPlan,
    made_report,
    planned_again,
    priced,
    read_result,
)
from glyphscope_gui.evaluate.result import EvalResult
from glyphscope_gui.evaluate.result_presenter import EvalResultPresenter, EvalResultsModel, ResultComparing
from glyphscope_gui.evaluate.setup import (
    SuiteChoice,
    nothing_ticked,
    price_words,
    read_setup,
    saved_setup,
    seconds_a_sample,
    suite_choices,
)
from glyphscope_gui.evaluate.setup_lists import model_row, suite_row
from glyphscope_gui.evaluate.suite_editor import SuiteEditing
from glyphscope_gui.evaluate.words import arm_labels, sample_words
from glyphscope_gui.model_picker.dialog import EndpointDialog
from glyphscope_gui.runs.run_controller import EndedRun
from glyphscope_gui.runs.worker.model_keeper import OptionsOf
from glyphscope_gui.shared.dialogs import ask_for_files, ask_for_folder, ask_where_to_save, open_once
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.named_files import NamedFile
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.run_words import model_name, value_words
from glyphscope_gui.slices import Slices, Steps

LOOK_MS = 50
"""Milliseconds from showing the page to reading what may be new: a thread that reads slows down the page's painting."""
PRICE_MS = 150
"""Milliseconds from the last change of the set-up to the computation of its price."""
MAX_LINES = 6
"""Lines of a suite's problems in the banner."""


class EvaluatePresenter(Page):
    """Connects the page with its parts: `reading` (files, prices, results), `evaluations` (the running one),
    `result_presenter` (the shown result), `comparing` and `suite_editing`.

    `making` makes the contents of the view and the last three parts in slices, when the page is first shown.
    """

    id = PageId.EVALUATE
    title = tr("Evaluate")
    tip = tr("Run suites of prompts under several settings and compare the success rates")
    can_run = True
    result_presenter: EvalResultPresenter

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.widget = self.view = EvalPage()
        self._results = EvalResultsModel(self)
        self._model = ""
        """The window's model in the list of models."""
        self._priced: PricedPlan | None = None
        """The price of the set-up; None while it is computed."""
        self._is_made = False
        """Whether the contents of the page are made."""
        self.making = Slices(self)
        self._run_shown: OpenedRun | None = None
        """The run of a sample that the playground is about to show."""
        self._saved: dict[str, Any] = {}  # the set-up of the last start
        self._chosen = ""
        """The suite that is to be the only ticked one, once it is in the list."""
        self._asked: set[str] = set()
        """The suites in the user's folder whose files outside of it were mentioned."""
        self._allowed: set[PythonFile] = set()
        """The Python files that the user allowed while the window is open."""
        self.evaluations = Evaluations(context.services.open_model, self)
        self.reading = EvalReading(context.services.named_files, self)
        self._price_timer = QTimer(self, singleShot=True, interval=PRICE_MS)
        self._price_timer.timeout.connect(self._ask_price)
        self._look_timer = QTimer(self, singleShot=True, interval=LOOK_MS)
        self._look_timer.timeout.connect(self._look_again)
        context.navigator.shown.connect(self._page_shown)

    def run(self) -> None:
        """Start the evaluation, if the set-up is shown."""
        if self._is_made and self.view.setup.isVisible():
            self.view.setup.start.click()

    def go_to(self, place: Place) -> None:
        """Choose the suite of that file, alone."""
        if isinstance(place, FilePlace):
            self._chosen = str(place.path)
            if self._is_made:
                self._look_timer.start()

    def close(self) -> None:
        """Stop the running evaluation, which can be resumed."""
        self.making.stop()
        self.evaluations.close()
        super().close()

    @property
    def is_busy(self) -> bool:
        return self.making.is_busy or self.evaluations.is_busy or super().is_busy

    @property
    def unfinished(self) -> str:
        if not self.evaluations.is_busy:
            return ""
        progress = self.evaluations.progress
        return tr(
            "An evaluation is running: {done:,} of {planned:,} samples are done. They are kept, and Resume makes "
            "the others.",
            done=progress.done,
            planned=progress.planned,
        )

    # -- connections -------------------------------------------------------------------------------------------

    def _make(self) -> Steps:
        """Make everything on the page."""
        page = self.view
        yield from page.make(self._results)
        self.result_presenter = EvalResultPresenter(page, self.reading, self)
        self.comparing = ResultComparing(
            self.context, page, self.reading, self.result_presenter, self._results
        )
        self.suite_editing = SuiteEditing(self.context, page, self.reading, self)
        self._connect_setup()
        self._connect_evaluations()
        self._connect_reading()
        self._saved, uses_project = read_setup(self.context.settings.value.evaluation)
        page.setup.uses_project.setChecked(uses_project)
        self._show_project()
        page.setup.show_saved(self._saved)
        if page.window().focusWidget() in (page, None):  # otherwise the user has moved the focus
            page.setFocus()
        self._is_made = True
        self._look_timer.start()

    def _connect_setup(self) -> None:
        page, setup = self.view, self.view.setup
        setup.changed.connect(self._setup_changed)
        setup.questionAsked.connect(self._ask)
        setup.projectToggled.connect(self._setup_changed)
        setup.add_suite.clicked.connect(self._ask_for_suites)
        setup.add_model.clicked.connect(self._ask_for_models)
        setup.add_endpoint.clicked.connect(self._ask_for_endpoint)
        setup.suites.dropped.connect(self._add_suites)
        setup.models.dropped.connect(self._add_models)
        for chosen in (setup.results.activated, setup.results.clicked):
            chosen.connect(self._open_row)
        setup.start.clicked.connect(self.begin)
        setup.place.setText(self.context.settings.value.evaluate_on)
        setup.place.textChanged.connect(self._save_place)
        page.open_button.clicked.connect(self._ask_for_result)
        page.report_button.clicked.connect(self._open_report)
        page.export_button.clicked.connect(self._ask_for_export)
        page.resume_button.clicked.connect(self.resume)
        project = self.context.project
        project.modelChosen.connect(self._show_open_model)
        for changed in (project.optionsChanged, project.prompt.changed):
            changed.connect(lambda _change: self._project_changed())

    def _connect_evaluations(self) -> None:
        evaluations, bar = self.evaluations, self.view.progress
        evaluations.phaseChanged.connect(self._show_phase)
        evaluations.progressed.connect(self._show_progress)
        evaluations.began.connect(self._began)
        evaluations.grew.connect(self.result_presenter.grow)
        evaluations.ended.connect(self._ended)
        evaluations.failed.connect(self._failed)
        bar.pauseRequested.connect(evaluations.set_paused)
        bar.stopRequested.connect(evaluations.stop)

    def _connect_reading(self) -> None:
        reading = self.reading
        reading.suiteRead.connect(self._suite_read)
        reading.runOpened.connect(self._open_run)
        reading.failed.connect(self._failed)
        self.context.runs.ended.connect(self._offer_way_back)

    # -- setting up --------------------------------------------------------------------------------------------

    def _page_shown(self, page: PageId) -> None:
        if page is not PageId.EVALUATE:
            return
        if self._is_made:
            self._look_timer.start()
        elif not self.making.is_busy:
            self.making.start(self._make())

    def _look_again(self) -> None:
        """Read suites and models that may be new, and the list of results."""
        own, files = self.context.services.places.suites, self.context.services.named_files
        more = self._saved.get("suites", ())
        self.reading.start("suites", partial(suite_choices, own, files, more), self._suites_found)
        self._show_open_model(self.context.project.model)
        self.view.setup.servers.show_servers(self.context.services.servers.allowed)
        self._list_results()

    def _list_results(self) -> None:
        self.reading.start("list", partial(list_results, self.context.services.results), self._listed)

    def _show_open_model(self, model: str) -> None:
        """Put the window's model first in the list, in place of the previous one."""
        rows = self.view.models_model
        if model == self._model:
            return
        was_ticked = self._model in rows.ticked if self._model else "" in self._saved.get("models", ("",))
        rows.take(self._model)
        self._model = model
        rows.put(model_row(model, tr("the open model")), ticked=was_ticked, first=True)
        self._setup_changed()

    def _suites_found(self, choices: Sequence[SuiteChoice]) -> None:
        """Add new suites to the list; the first time, tick the one to begin with."""
        rows = self.view.suites_model
        first, saved = not rows.values, self._saved.get("suites", (STARTER,))
        for choice in choices:
            rows.put(suite_row(choice), ticked=first and choice.source in saved)
            if choice.outside and choice.source not in self._asked:
                self._asked.add(choice.source)
                words = tr("{suite} names files outside of its folder.", suite=choice.title)
                self.view.notice.show_words(words, tr("Show them…"), partial(self._ask_for_files, choice))
        if self._chosen in rows.values:
            rows.tick((self._chosen,))
            self._chosen = ""
        self._setup_changed()

    def _ask_for_files(self, choice: SuiteChoice) -> None:

        def allow(files: Sequence[NamedFile]) -> None:
            self.context.services.named_files.allow(files)
            self.view.notice.hide()
            self.reading.read_suite(choice.source)

        ask_about_files(self.context.window, choice.title, choice.outside, allow)

    def _suite_read(self, choice: SuiteChoice) -> None:
        self.view.suites_model.put(suite_row(choice), ticked=True)
        if choice.problem or choice.notes:
            lines = choice.problem.split("\n") if choice.problem else list(choice.notes)
            if len(lines) > MAX_LINES:
                more = len(lines) - MAX_LINES
                lines[MAX_LINES:] = [
                    tr("  … and {count} more: hover the suite for the full list", count=more)
                ]
            self.view.notice.show_words("\n".join(lines))
        if choice.outside:
            self._ask_for_files(choice)
        self._setup_changed()

    def _ask_for_suites(self) -> None:
        patterns = " ".join(f"*{ending}" for ending in endings())
        filters = tr("Suites ({patterns});;All files (*)", patterns=patterns)
        ask_for_files(self.context.window, tr("Add suites"), self._add_suites, filters)

    def _add_suites(self, paths: list[Path]) -> None:
        for path in paths:
            self.reading.read_suite(str(path))

    def _ask_for_models(self) -> None:
        filters = tr("Models (*.gguf);;All files (*)")
        ask_for_files(self.context.window, tr("Add models"), self._add_models, filters)

    def _ask_for_endpoint(self) -> None:
        dialog = EndpointDialog(parent=self.context.window)
        dialog.chosen.connect(self._add_endpoint)
        open_once(dialog)

    def _add_endpoint(self, address: str) -> None:
        self.view.models_model.put(model_row(address, tr("an endpoint")), ticked=True)
        self._setup_changed()

    def _add_models(self, paths: list[Path]) -> None:
        for path in paths:
            self.view.models_model.put(model_row(str(path), str(path.parent)), ticked=True)
        self._setup_changed()

    def _ask(self, question: SettingsQuestion) -> None:
        self.view.setup.ask(question)
        self._setup_changed()

    @property
    def _project(self) -> RunRequest | None:
        """The project whose prompt, template and sampling are evaluated."""
        return (
            self.context.project.request_without_tools if self.view.setup.uses_project.isChecked() else None
        )

    def _show_project(self) -> None:
        """Let what stays the same follow the project."""
        project, words = self._project, ""
        usual = {values_of(name): (first_value(name),) for name in OFFERED}
        if project is not None:
            usual |= {**axes_of(project), "profiles": ("project",)}
            heat = value_words("temperature", project.sampling.temperature)
            words = tr("this project’s prompt, template and sampling ({temperature})", temperature=heat)
        self.view.setup.axes.follow(usual, words)

    def _project_changed(self) -> None:
        if self._is_made and self.context.navigator.current is PageId.EVALUATE:
            self._setup_changed()

    def _save_place(self, text: str) -> None:
        if not self.view.setup.place.problem:
            self.context.settings.update(evaluate_on=text.strip())

    def _setup_changed(self) -> None:
        self._priced = None
        self.view.setup.start.setEnabled(False)
        self._price_timer.start()

    def _ask_price(self) -> None:
        if not self.view.suites_model.rowCount():
            self.view.setup.show_cost(tr("Loading the suites…"), "")
            return
        self._show_project()
        matrix = self.view.setup.matrix()
        problem = nothing_ticked(matrix) or self.view.setup.place.problem
        if problem:
            self.view.setup.show_cost("", problem)
            self.view.setup.scenarios.model.show_rows(())
        else:
            self.reading.start_with_files("price", partial(priced, matrix, self._project), self._show_price)

    def _show_price(self, found: PricedPlan) -> None:
        setup = self.view.setup
        if (found.matrix, found.project) != (setup.matrix(), self._project):
            return  # changed since: its new price is being computed
        self._priced = found
        setup.judge.show_models(self.view.models_model.values, needed=found.rubrics)
        if found.matrix != setup.matrix():  # the previously chosen judge is needed again, or no longer
            self._setup_changed()
            return
        setup.show_models()
        setup.scenarios.model.show_rows(found.scenarios)
        setup.axes.show_answers(() if found.plan is None else found.plan.answers)
        if found.price is None:
            setup.show_cost("", found.problem)
            return
        seconds = None
        if setup.place.place is None or setup.place.place.is_local:
            seconds = seconds_a_sample(self._results.rows, found.matrix.models)
        arms, notes = (found.plan.arms, found.plan.notes) if found.plan is not None else ((), ())
        if found.plan is not None and all(each.suite.sampling is not None for each in found.plan.suites):
            said = tuple(project_notes([each.suite for each in found.plan.suites]))  # in what stays
            notes = tuple(note for note in notes if note not in said)
        words = "\n".join((price_words(found.price, seconds, found.matrix.jobs), *notes))
        setup.show_cost(words, arms=list(arm_labels(arms).values()), can_start=not self.evaluations.is_busy)
        saved = saved_setup(found.matrix, setup.axes.usual, self._model, uses_project=bool(found.project))
        self.context.settings.update(evaluation=saved)

    # -- evaluating --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Run the evaluation as set up."""
        if self._priced is not None and self._priced.plan is not None and self._priced.price is not None:
            self._start(EvalJob(self._priced.plan, self.context.services.results))

    def resume(self) -> None:
        """Make the missing samples of the shown result."""
        result = self.result_presenter.result
        if result is not None and not self.evaluations.is_busy:
            self.reading.start("plan", partial(planned_again, result), self._start)

    def _start(self, job: EvalJob) -> None:
        """Begin, after asking about Python functions that the user has not allowed yet in this window."""
        self.view.notice.hide()
        place = self.view.setup.place
        try:
            if place.problem:
                raise GlyphscopeError(place.problem, where=place.text())
            files = needs_of(job.plan).python
        except GlyphscopeError as error:
            self._failed(error)
            return
        job = replace(job, allow_python=True, servers=self.context.services.servers.allowed)
        if place.place is not None:
            job = self._placed(job, place.place)
        new_files = [file for file in files if file not in self._allowed]
        if not new_files:
            self._begin(job, ())
            return
        dialog = PythonConsent(new_files, self.context.window)
        dialog.accepted.connect(lambda: self._begin(job, new_files))
        dialog.rejected.connect(
            lambda: self.view.notice.show_words(
                tr("Nothing was evaluated: Python functions were not allowed.")
            )
        )
        dialog.open()

    def _placed(self, job: EvalJob, place: SamplesPlace) -> EvalJob:
        matrix = msgspec.structs.replace(job.plan.matrix, jobs=place.jobs)
        job = replace(job, plan=replace(job.plan, matrix=matrix))
        if place.is_local:
            return job
        names = (*matrix.models, *needs_of(job.plan).judges.values())
        options_of = self._options_of(job)
        options = {name: options_of(name) for name in names}
        return replace(job, workers=partial(place.workers, NamedModels(options), matrix.sequences))

    def _begin(self, job: EvalJob, allowed: Sequence[PythonFile]) -> None:
        self._allowed.update(allowed)
        if self.view.setup.start.hasFocus():
            self.view.setFocus()  # a disabled button would give its focus to the header
        self.evaluations.begin(job, self._options_of(job))

    def _options_of(self, job: EvalJob) -> OptionsOf:
        """The load options of a model; of one with samples already, with their batch size."""
        result, options_of = self.result_presenter.result, self.context.settings.options_of
        begun = result.manifest.models if result is not None and result.path == job.resume else {}
        return lambda name: fixed_batch(name, options_of(name), begun.get(name))

    def _began(self, result: EvalResult) -> None:
        self.result_presenter.show(result, growing=True)
        self.view.resume_button.hide()
        self.view.show_view(RESULT)

    def _show_phase(self, phase: EvalPhase) -> None:
        page = self.view
        page.progress.show_phase(phase)
        page.progress.show_progress(self.evaluations.progress)
        idle = phase is EvalPhase.IDLE
        if idle:
            self.context.status.set_activity("")
        page.setup.start.setEnabled(idle and self._priced is not None and self._priced.price is not None)
        page.resume_button.setEnabled(idle)

    def _show_progress(self, progress: EvaluationState) -> None:
        self.view.progress.show_progress(progress)
        if self.evaluations.is_busy:
            result = self.evaluations.result
            suites = ", ".join(suite.name for suite in result.manifest.suites) if result is not None else ""
            words = tr("Evaluating {done:,} of {planned:,}", done=progress.done, planned=progress.planned)
            self.context.status.set_activity(" · ".join(filter(None, (words, suites))))
        skipped = [
            tr("{name} was skipped: {why}", name=model_name(name).name, why=why)
            for name, why in progress.missing.items()
        ]
        left = [
            tr("The worker {address} left: {why}", address=address, why=why)
            for address, why in progress.lost.items()
            if not any(why in words for words in skipped)
        ]
        rejected = [
            tr("{name} cannot run {why}", name=model_name(name).name, why=why)
            for name, why in progress.rejected[:MAX_LINES]
        ]
        words = "\n".join((*skipped, *rejected, *left))
        if words and words != self.view.notice.label.text():
            self.view.notice.show_words(words)

    def _ended(self, folder: Path | None) -> None:
        """Read the figures from the folder, so that the saved ones are shown."""
        if self.context.navigator.current is not PageId.EVALUATE:
            self.context.status.set_note(tr("The evaluation ended: see the Evaluate page (Ctrl+4)"))
        self._list_results()
        if folder is not None and self.result_presenter.path in (None, folder):
            self.reading.start("refresh", partial(read_result, folder, self.reading.measure), self._refreshed)
        self._setup_changed()

    # -- results -----------------------------------------------------------------------------------------------

    def open_result(self, path: Path) -> None:
        self.view.notice.hide()
        self.view.title.setText(tr("Reading {name}…", name=path.name))
        self.reading.start("open", partial(read_result, path, self.reading.measure), self._opened)

    def _opened(self, opened: OpenedResult) -> None:
        self._show_opened(opened)
        self.view.show_view(RESULT)
        if self.context.navigator.current is PageId.EVALUATE:
            self.view.result.table.setFocus()

    def _refreshed(self, opened: OpenedResult) -> None:
        """Show the result in place of the old one, without leaving the user's view."""
        if self.result_presenter.path == opened.result.path:
            self._show_opened(opened)

    def _show_opened(self, opened: OpenedResult) -> None:
        page, result = self.view, opened.result
        running = self.evaluations.result
        if self.evaluations.is_busy and running is not None and running.path == result.path:
            self.result_presenter.show(running, growing=True)
        else:
            self.result_presenter.show(result)
            page.resume_button.setVisible(opened.may_resume)
            if opened.note:
                page.notice.show_words(opened.note)

    def _listed(self, rows: Sequence[ResultRow]) -> None:
        self._results.show_rows(rows)
        self._price_timer.start()

    def _open_row(self, index: QModelIndex) -> None:
        self.open_result(self._results.rows[index.row()].path)

    def _ask_for_result(self) -> None:
        start = str(self.context.services.results)
        ask_for_folder(self.context.window, tr("Open a result"), self.open_result, start)

    def _open_report(self) -> None:
        path = self.result_presenter.path
        if path is not None:
            self.reading.start("report", partial(made_report, path), self._show_report)

    def _show_report(self, path: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.view.notice.show_words(tr("No browser was found. The report is {path}", path=path))

    def _ask_for_export(self) -> None:
        path = self.result_presenter.path
        if path is not None:
            start, filters = (
                str(Path.home() / f"{path.name}.csv"),
                (tr("CSV (*.csv)"), *(f"{each.title} (*.{ending})" for ending, each in EXPORTERS.all())),
            )
            window, title = self.context.window, tr("Export samples")
            ask_where_to_save(window, title, self.export, ";;".join(filters), start=start, suffix="csv")

    def export(self, out: Path) -> None:
        """Write all samples of the shown result."""
        if (result := self.result_presenter.result) is not None:
            self.reading.start("export", partial(export_samples, result.folder, out), self._show_export)

    def _show_export(self, exported: Exported) -> None:
        samples = tr("%n sample(s)", "", exported.samples)
        first, *others = exported.files
        words = tr("{samples} exported to {path}", samples=samples, path=first)
        if others:
            number = 1 + len(others)
            words = tr(
                "{samples} exported to %n file(s) in {folder}",
                "",
                number,
                samples=samples,
                folder=first.parent,
            )
        self.view.notice.show_words(words)

    def _failed(self, error: BaseException) -> None:
        self.view.title.setText(self.result_presenter.title)
        self.context.show_error(error)

    # -- one run -----------------------------------------------------------------------------------------------

    def _open_run(self, opened: OpenedRun) -> None:
        self._run_shown = opened
        self.context.navigator.show(PageId.PLAYGROUND)
        self.context.runs.show_record(opened.events, at=opened.bad)
        self.context.actions.focus_tokens.trigger()  # also if no token is to blame

    def _offer_way_back(self, ended: EndedRun) -> None:
        """Show a notice above the sample's run, which leads back to the cell from which it was opened."""
        opened, result = self._run_shown, self.result_presenter.result
        if opened is None or result is None or opened.events[0] != ended.run.started:
            return
        self._run_shown = None
        sample = sample_words(result.manifest, opened.sample)
        words = tr("Recorded run of an evaluation: {sample}.", sample=sample)
        self.context.offer(words, tr("Back to the result"), self._go_back)

    def _go_back(self) -> None:
        self.context.navigator.show(PageId.EVALUATE)
        self.view.show_view(RESULT)
        self.view.result.runs.setFocus()
