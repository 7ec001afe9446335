"""The page of lessons: their list, the shown slide of the open lesson, its parts and live runs, and the progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.events import RunRequest
from glyphscope.lessons.checking import check_lesson
from glyphscope.lessons.lesson import AnyPart, Lesson, Question
from glyphscope.lessons.library import LessonPlace, all_lessons
from glyphscope.lessons.progress import LessonProgress, ReadingProgress
from glyphscope.lessons.questions import Sheet
from glyphscope.lessons.run_settings import varied_request
from glyphscope.lessons.website import export_website
from glyphscope_gui.context import AppContext, FilePlace, Page, Place
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.lecture import LessonLecture
from glyphscope_gui.lessons.opened import OpenedLesson, Slide, open_lesson, slides_of
from glyphscope_gui.lessons.page import LessonPage, LessonRow
from glyphscope_gui.lessons.question import LessonQuestion
from glyphscope_gui.lessons.reader import make_part
from glyphscope_gui.lessons.words import right_words
from glyphscope_gui.runs.run_controller import BackgroundEvents
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file, ask_where_to_save
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import MenuId, PageId

_FILES = tr("Lessons (*.md);;All files (*)")


class ExportedLesson(NamedTuple):
    """The index page of so many exported lessons; `invalid` are the others, each with its error."""

    page: Path
    lessons: int
    invalid: list[str]


def _exported(places: Sequence[LessonPlace], folder: Path) -> ExportedLesson:
    valid, invalid = [], []
    for place in places:
        try:
            check_lesson(place)
        except GlyphscopeError as error:
            invalid.append(f"{place.name} ({visible(error.message, spaces=True)})")
        else:
            valid.append(place)
    return ExportedLesson(export_website(valid, folder)[0], len(valid), invalid)


class LessonsPresenter(Page):
    """`opened` is the open lesson, `slides` its slides, `at` the number of the shown one."""

    id = PageId.LESSONS
    title = tr("Lessons")
    tip = tr("Learn and teach constrained decoding, from recordings or live")

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.widget = self.view = LessonPage()
        self.opened: OpenedLesson | None = None
        self.slides: list[Slide] = []
        self.at = 0
        self._background = Background(self)
        self.progress = LessonProgressStore(context, self)
        self.live = LiveRun(context, self._background, self)
        self.lecture = LessonLecture(context, self.view, self.turn)
        self.open_action = named(QAction(tr("Open &lesson…"), self), "openLessonAction")
        self.export_action = named(QAction(tr("Export &lessons…"), self), "exportLessonsAction")
        self.export_action.setStatusTip(tr("All lessons of the list as a website, which needs no Glyphscope"))
        self.lecture_action = named(QAction(tr("Le&cture mode"), self, visible=False), "lectureAction")
        self.lecture_action.setShortcut(QKeySequence("F11"))
        self._connect()

    @property
    def menu_actions(self) -> Mapping[MenuId, Sequence[QAction]]:
        return {MenuId.FILE: [self.open_action, self.export_action], MenuId.VIEW: [self.lecture_action]}

    def go_to(self, place: Place) -> None:
        """Open a lesson's file from any folder; the list contains it while it is open."""
        if isinstance(place, FilePlace):
            self.open(LessonPlace(place.path.name, place.path.absolute()))

    def close(self) -> None:
        self.lecture.close()
        self.live.stop()
        super().close()
        self.progress.close()

    # -- slides ------------------------------------------------------------------------------------------------

    def open(self, place: LessonPlace) -> None:
        """Open that lesson at the step where the reader left it."""
        self._background.start("open", lambda: open_lesson(place), self._show_lesson, self._refuse)

    def turn(self, by: int) -> None:
        """Move by that many screens; after the last one, the next lesson opens, except in a lecture."""
        if by and self.view.reader.turn(by):
            self._show_place()
        elif self.opened is not None and 0 <= self.at + by < len(self.slides):
            self.show_slide(self.at + by)
        elif by > 0 and not self.lecture.is_on and (following := self._following()) is not None:
            self.open(following.place)

    def show_slide(self, at: int) -> None:
        opened = self.opened
        if opened is None:
            return
        self.live.stop()
        self.at = at
        slide, key, title = self.slides[at], opened.place.key, opened.lesson.title
        step, number, steps = opened.lesson.steps[slide.step], slide.step + 1, len(opened.lesson.steps)
        over = tr("{title}  ·  {step} of {steps}", title=title, step=number, steps=steps)
        self.view.reader.show_parts(over if self.lecture.is_on else "", step.title, slide.parts, self._make)
        self._show_place()
        if self.lecture.is_on:
            self.view.set_lecture(True)
        self.progress.put(key, self.progress.of(key).at(slide.step, steps))
        self.lecture.notes.show_step(
            over, step.title, step.notes, self._answers(opened, slide), self._coming()
        )
        self._show_obstacle()

    def _show_place(self) -> None:
        """Show where the reader is in the lesson, and whether there is more before and after it."""
        if self.opened is None:
            return
        slide, following, reader = self.slides[self.at], self._following(), self.view.reader
        parts = [number for number, each in enumerate(self.slides) if each.step == slide.step]
        words = tr("Step {step} of {steps}", step=slide.step + 1, steps=len(self.opened.lesson.steps))
        if len(parts) > 1:
            words += tr(", part {part} of {parts}", part=parts.index(self.at) + 1, parts=len(parts))
        more = self.at + 1 < len(self.slides) or reader.can_turn(1)
        title = "" if more or following is None else self.view.model.words(following, 0)
        self.view.show_place(words, before=self.at > 0 or reader.can_turn(-1), more=more, following=title)

    def _answers(self, opened: OpenedLesson, slide: Slide) -> str:
        """The correct answers to the questions of a slide, for the presenter."""
        sheets = [opened.sheets[opened.number_of(part)] for part in slide.parts if isinstance(part, Question)]
        right = [right_words(sheet) for sheet in sheets if isinstance(sheet, Sheet)]
        return tr("Correct: {answers}", answers="; ".join(right)) if right else ""

    def _coming(self) -> str:
        """The title of the next slide; empty on the last one."""
        if self.opened is None or self.at + 1 >= len(self.slides):
            return ""
        following = self.slides[self.at + 1].step
        if following == self.slides[self.at].step:
            return tr("step continues")
        return self.opened.lesson.steps[following].title

    def _following(self) -> LessonRow | None:
        """The lesson after the open one in the list; None if it is the last one, or not in the list."""
        model = self.view.model
        row = model.row_of(self.opened.place.key) if self.opened is not None else -1
        return model.row(row + 1) if row >= 0 else None

    def _arrange(self, step: int) -> None:
        """Show the first slide of a step."""
        if self.opened is not None:
            self.slides = slides_of(self.opened.lesson)
            self.show_slide(next(n for n, slide in enumerate(self.slides) if slide.step == step))

    def _start_over(self) -> None:
        if self.opened is not None:
            self.progress.forget(self.opened.place.key)
            self._arrange(0)

    def _lecture_changed(self, _on: bool) -> None:
        if self.slides:
            self.show_slide(self.at)
        self.view.reader.setFocus()

    # -- parts of a slide --------------------------------------------------------------------------------------

    def _make(self, part: AnyPart, parent: QWidget) -> QWidget:
        opened = self.opened
        assert opened is not None
        widget = make_part(part, opened, parent)
        if isinstance(widget, LessonQuestion) and isinstance(part, Question):
            number, key = opened.number_of(part), opened.place.key
            widget.guards = number not in self.progress.of(key).answers
            widget.answered.connect(partial(self._answered, key, number))
        elif isinstance(widget, LessonExperiment):
            widget.liveRequested.connect(partial(self.live.start, widget, opened))
            widget.stopRequested.connect(self.context.runs.stop)
        return widget

    def _answered(self, key: str, question: int, right: bool) -> None:
        self.progress.put(key, self.progress.of(key).answered(question, right))

    def _show_obstacle(self, _changed: object = None) -> None:
        """Show beside each experiment why it cannot run live now, if it cannot."""
        for part in self.view.reader.active:
            if isinstance(part, LessonExperiment):
                part.show_obstacle(self.live.obstacle)

    # -- connections -------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        view, runs, navigator = self.view, self.context.runs, self.context.navigator
        view.list.opened.connect(self._choose)
        view.stepRequested.connect(self.turn)
        view.reader.screensChanged.connect(self._show_place)
        view.open_button.clicked.connect(self.open_action.trigger)
        view.export_button.clicked.connect(self._choose_export)
        view.again_button.clicked.connect(self._start_over)
        view.lecture_button.clicked.connect(self.lecture_action.trigger)
        self.open_action.triggered.connect(self._ask_for_file)
        self.export_action.triggered.connect(lambda _checked=False: self._ask_where_to_export())
        self.lecture_action.triggered.connect(self.lecture.toggle)
        self.lecture.changed.connect(self._lecture_changed)
        self.progress.changed.connect(view.model.set_progress)
        navigator.leaving.connect(self._leave)
        navigator.shown.connect(self._page_shown)
        runs.modelStatusChanged.connect(self._show_obstacle)
        runs.phaseChanged.connect(self._show_obstacle)

    def _page_shown(self, page: PageId) -> None:
        if page is self.id:
            folder = self.context.services.places.lessons  # a file may have been added there
            self._background.start(
                "list", lambda: list(all_lessons(folder)), self._show_list, self.context.show_error
            )
        self._enable_lecture()

    def _leave(self, page: PageId) -> None:
        if page is self.id:
            self.lecture.end()
            self.view.reader.pause()

    def _show_list(self, found: list[tuple[LessonPlace, Lesson | GlyphscopeError]]) -> None:
        self.view.model.show_rows([LessonRow(*each, self.progress.of(each[0].key)) for each in found])
        self._mark()

    def _mark(self) -> None:
        """Select the open lesson in the list; a lesson from elsewhere gets a row first."""
        if self.opened is None:
            return
        place, model = self.opened.place, self.view.model
        if model.row_of(place.key) < 0:
            model.add(LessonRow(place, self.opened.lesson, self.progress.of(place.key)))
        self.view.list.setCurrentIndex(model.index(model.row_of(place.key), 0))

    def _choose(self, index: int) -> None:
        row = self.view.model.row(index)
        if row is not None and (self.opened is None or self.opened.place != row.place):
            self.open(row.place)

    def _ask_for_file(self) -> None:
        folder = str(self.context.services.places.lessons)

        def show(path: Path) -> None:
            self.context.navigator.show(self.id, FilePlace(path))

        ask_for_file(self.context.window, tr("Open a lesson"), show, _FILES, start=folder)

    # -- export ------------------------------------------------------------------------------------------------

    def _choose_export(self) -> None:
        """Export all lessons, or only the open one."""
        if self.opened is None:
            self._ask_where_to_export()
            return
        place = self.opened.place
        words = tr("“{title}”…", title=shorten(visible(self.opened.lesson.title, spaces=True), 40))
        button = self.view.export_button
        pop_up(
            QMenu(self.view),
            button.mapToGlobal(button.rect().topLeft()),
            (words, partial(self._ask_where_to_export, (place,))),
            (tr("All lessons…"), self._ask_where_to_export),
        )

    def _ask_where_to_export(self, places: Sequence[LessonPlace] = ()) -> None:
        """Ask for a folder, which may be a new one."""
        ask_where_to_save(
            self.context.window,
            tr("Export into a new or empty folder"),
            lambda folder: self.export(folder, places),
            start=places[0].name if places else "lessons",
            name="exportLessonsDialog",
        )

    def export(self, folder: Path, places: Sequence[LessonPlace] = ()) -> None:
        """Write the lessons at these places, or those of the list, into the folder, as a website."""
        self.context.navigator.show(self.id)
        places = (
            places or [row.place for row in self.view.model.rows] or [place for place, _ in all_lessons()]
        )
        self.view.notice.show_words(tr("Exporting the lessons…"))
        self._background.start(
            "export", lambda: _exported(places, folder), self._show_exported, self._show_not_exported
        )

    def _show_exported(self, exported: ExportedLesson) -> None:
        words = tr("%n lesson(s) exported to {folder}.", "", exported.lessons, folder=exported.page.parent)
        if exported.invalid:
            words += " " + tr("Not exported: {names}.", names="; ".join(exported.invalid))
        self.view.notice.show_words(words, tr("Open"), partial(self._open_exported, exported.page))

    def _open_exported(self, page: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(page))):
            self.view.notice.show_words(tr("No browser was found. The lessons are {path}", path=page))

    def _show_not_exported(self, error: BaseException) -> None:
        if isinstance(error, GlyphscopeError):
            self.view.notice.show_words(visible(error.words, spaces=True), error=True)
        else:
            self.view.notice.hide()
            self.context.show_error(error)

    def _show_lesson(self, opened: OpenedLesson) -> None:
        self.opened = opened
        self.view.notice.hide()
        missing = [name for name, found in opened.events.items() if isinstance(found, GlyphscopeError)]
        if missing:
            self.view.notice.show_words(
                tr(
                    "No matching recording: {names}. Record with glyphscope lesson record FILE.",
                    names=", ".join(missing),
                )
            )
        self._arrange(min(self.progress.of(opened.place.key).step, len(opened.lesson.steps) - 1))
        self._mark()
        self._enable_lecture()
        if self.view.list.hasFocus():
            self.view.reader.setFocus()  # Page Down turns the page there

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self.context.show_error(error)
            return
        self.lecture.end()
        self.live.stop()
        self.opened, self.slides = None, []
        self.view.reader.clear()
        self.view.show_error(error)
        self._enable_lecture()

    def _enable_lecture(self) -> None:
        self.lecture_action.setVisible(self.context.navigator.current is self.id)
        self.lecture_action.setEnabled(self.opened is not None and self.context.navigator.current is self.id)


class LessonProgressStore(QObject):
    """`changed` carries a lesson's key and its LessonProgress."""

    changed = Signal(str, object)

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._progress = ReadingProgress(context.services.places.lesson_progress)
        self._background = Background(self)
        self._is_dirty = False

    def of(self, key: str) -> LessonProgress:
        return self._progress.of(key)

    def put(self, key: str, progress: LessonProgress) -> None:
        """Keep the progress of a lesson, and save it."""
        self._progress.put(key, progress)
        self.changed.emit(key, progress)
        self._is_dirty = True
        self._save()

    def forget(self, key: str) -> None:
        """Delete the progress in a lesson; the next `put` also saves that."""
        self._progress.forget(key)

    def close(self) -> None:
        """Save pending changes. Call it once no save is in progress."""
        if self._is_dirty:
            self._progress.save()

    def _save(self) -> None:
        """Save, one at a time: otherwise an older save might be written last."""
        if not self._is_dirty or self._background.is_busy:
            return
        self._is_dirty = False
        content = self._progress.encode()
        self._background.start(
            "save", lambda: self._progress.write(content), self._saved, self._context.show_error
        )

    def _saved(self, problem: str) -> None:
        if problem:
            self._context.status.set_note(problem)
        self._save()


class LiveRun(QObject):
    """Runs at most one at a time, for the last experiment that requested it."""

    def __init__(self, context: AppContext, background: Background, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._runs = context.runs
        self._background = background
        self._card: LessonExperiment | None = None
        self._job = 0
        self._runs.background.connect(self._take)

    @property
    def is_running(self) -> bool:
        return self._card is not None and self._card.is_running

    @property
    def obstacle(self) -> str:
        """Why no live run can begin now; empty if one can. The run opens a model that is not open yet."""
        match self._runs.model.phase:
            case "opening":
                return tr("The model is loading.")
            case "failed":
                return tr("No model is available for a live run.")
        if self._runs.is_busy and not self.is_running:
            return tr("The model is in use on another page.")
        return ""

    def start(self, card: LessonExperiment, opened: OpenedLesson, changes: dict[str, Any]) -> None:
        """Run the experiment with the reader's changes, unless another run is under way."""
        if self._runs.is_busy:
            return
        self._card = card
        request = partial(varied_request, opened.lesson, card.part, changes, opened.place.folder)
        self._background.start("live", request, self._begin, self._refuse)

    def stop(self) -> None:
        """Stop the run of the experiment, which is no longer shown."""
        if self.is_running and self._runs.is_in_background:
            self._runs.stop()
        self._card, self._job = None, 0

    def _begin(self, request: RunRequest) -> None:
        if self._card is not None and not self._runs.is_busy:
            request = msgspec.structs.replace(request, model=self._context.project.model)
            self._card.begin(request)
            self._job = self._runs.run_in_background(request)

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self._context.show_error(error)
        elif self._card is not None:
            problems = "; ".join(problem.message for problem in getattr(error, "problems", ()))
            self._card.refuse(f"{error.message} {problems}".rstrip())

    def _take(self, background: BackgroundEvents) -> None:
        card = self._card
        if card is None or background.job != self._job:
            return
        if background.ended:
            self._card, self._job = None, 0
        card.take(background)
