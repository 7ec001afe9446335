"""Who hears what about lessons: the page, the lesson that is open, live runs, and the lecture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFileDialog, QMenu, QMenuBar, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.lessons import (
    AnyPart,
    Experiment,
    LessonPlace,
    LessonProgress,
    Progress,
    Question,
    Sheet,
    Watch,
    all_lessons,
    varied,
)
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.lecture import Lecture
from glyphscope_gui.lessons.list_model import LessonRow
from glyphscope_gui.lessons.opened import Opened, open_lesson
from glyphscope_gui.lessons.page import LessonPage
from glyphscope_gui.lessons.player import first_of_stage
from glyphscope_gui.lessons.question import LessonQuestion
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.lessons.slides import Slide, lecture_slides, reading_slides
from glyphscope_gui.lessons.words import right_words
from glyphscope_gui.runs.run_controller import Aside
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import shown_exactly
from glyphscope_gui.shared.text_label import words_label

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

LESSONS = "lessons"
"""The page's name."""
_FILES = tr("Lessons (*.md);;All files (*)")


class LessonWiring(QObject):
    """Made after `Wiring`. Nothing else knows both the page and the rest of the window."""

    def __init__(self, window: MainWindow, page: LessonPage) -> None:
        super().__init__(window)
        self._window = window
        self._page = page
        self._runs = window.runs
        self._background = Background(self)
        self._places = window.parts.places
        self._progress = Progress(self._places.lesson_progress)
        self._listed = self._saving = self._unsaved = False
        self.opened: Opened | None = None
        self.slides: list[Slide] = []
        self.at = 0
        self._job = 0
        self._live: LessonExperiment | None = None
        self.lecture = Lecture(window, self.turn, self._advance, self._press)
        self.open_action = QAction(tr("Open &lesson…"), window)
        self.open_action.setObjectName("openLessonAction")
        self.lecture_action = QAction(tr("Le&cture mode"), window)
        self.lecture_action.setObjectName("lectureAction")
        self.lecture_action.setShortcut(QKeySequence("F11"))
        self.lecture_action.setEnabled(False)
        window.addActions([self.open_action, self.lecture_action])
        self._fill_menus()
        self._connect()

    def close(self) -> None:
        self.lecture.close()
        self._page.reader.clear()
        self._background.close()
        if self._unsaved:
            self._progress.save()

    @property
    def is_busy(self) -> bool:
        """Whether something is being read."""
        return self._background.is_busy

    # -- lessons -----------------------------------------------------------------------------------------------

    def show_list(self) -> None:
        """All lessons, read anew."""
        folder = self._places.lessons
        self._background.start(
            "list", lambda: list(all_lessons(folder)), self._show_list, self._window.tell_error
        )

    def open(self, place: LessonPlace) -> None:
        """That lesson, where it was left."""
        self._background.start("open", lambda: open_lesson(place), self._show_lesson, self._refuse)

    def open_file(self, path: Path) -> None:
        """A lesson from anywhere, which is in the list as long as it is open."""
        self._window.pages.show(LESSONS)
        self.open(LessonPlace(path.name, path.absolute()))

    def turn(self, by: int) -> None:
        """Slides on or back."""
        if self.opened is not None and 0 <= self.at + by < len(self.slides):
            self.show_slide(self.at + by)

    def show_slide(self, at: int) -> None:
        opened = self.opened
        if opened is None:
            return
        self._stop_live()
        self.at = at
        slide, lesson = self.slides[at], opened.lesson
        step = lesson.steps[slide.step]
        steps = len(lesson.steps)
        over = (
            tr("{title}  ·  {step} of {steps}", title=lesson.title, step=slide.step + 1, steps=steps)
            if self.lecture.is_on
            else tr("Step {step} of {steps}", step=slide.step + 1, steps=steps)
        )
        self._page.reader.show_parts(over, step.title, slide.parts, self._make)
        self._page.show_place(slide.step + 1, steps)
        if self.lecture.is_on:
            self._page.set_lecture(True)
        self._keep(self._progress.of(opened.place.key).at(slide.step, steps))
        following = self.slides[at + 1].step if at + 1 < len(self.slides) else -1
        coming = lesson.steps[following].title if following >= 0 else ""
        if following == slide.step:
            coming = tr("this step goes on")
        self.lecture.notes.show_step(over, step.title, step.notes, self._answers(slide), coming)
        self._show_model()

    def _answers(self, slide: Slide) -> str:
        """What is right in the questions of a slide, for who presents it."""
        opened = self.opened
        if opened is None:
            return ""
        asked = [part for part in slide.parts if isinstance(part, Question)]
        sheets = [opened.sheets[opened.number_of(part)] for part in asked]
        told = [right_words(sheet) for sheet in sheets if isinstance(sheet, Sheet)]
        return tr("Right: {answers}", answers="; ".join(told)) if told else ""

    # -- connections -------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        page, window = self._page, self._window
        page.list.opened.connect(self._choose)
        page.stepWanted.connect(self.turn)
        page.open_button.clicked.connect(self._ask_for_file)
        page.again_button.clicked.connect(self._begin_anew)
        page.lecture_button.clicked.connect(self._toggle_lecture)
        self.open_action.triggered.connect(lambda _checked=False: self._ask_for_file())
        self.lecture_action.triggered.connect(lambda _checked=False: self._toggle_lecture())
        self.lecture.changed.connect(self._lecture_changed)
        window.pages.leaving.connect(self._leave)
        window.pages.shown.connect(self._page_shown)
        self._runs.aside.connect(self._take)
        self._runs.modelTold.connect(lambda _status: self._show_model())
        self._runs.phaseChanged.connect(lambda _phase: self._show_model())

    def _fill_menus(self) -> None:
        """After those of the window: the lesson beside the other files, the lecture at the end of the views."""
        bar = self._window.menuWidget().findChild(QMenuBar)
        files, views = bar.findChild(QMenu, "fileMenu"), bar.findChild(QMenu, "viewMenu")
        files.insertAction(self._window.actions_.open_record, self.open_action)
        views.addSeparator()
        views.addAction(self.lecture_action)

    def _page_shown(self, name: str) -> None:
        if name == LESSONS:
            self._listed = True
            self.show_list()  # a file may have been put into the user's folder
        self._show_lecturable()

    def _leave(self, name: str) -> None:
        if name == LESSONS:
            self.lecture.end()
            for part in self._page.reader.active:
                part.close_down()

    def _show_list(self, found: list[tuple[LessonPlace, Any]]) -> None:
        known = {place.key for place, _ in found}
        rows = [LessonRow(place, each, self._progress.of(place.key)) for place, each in found]
        if self.opened is not None and self.opened.place.key not in known:
            rows.append(LessonRow(*self.opened[:2], self._progress.of(self.opened.place.key)))
        self._page.model.show(rows)
        self._mark()

    def _mark(self) -> None:
        row = self._page.model.row_of(self.opened.place.key) if self.opened is not None else -1
        if row >= 0:
            self._page.list.setCurrentIndex(self._page.model.index(row))

    def _choose(self, row: int) -> None:
        place = self._page.model.rows[row].place
        if self.opened is None or self.opened.place != place:
            self.open(place)

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self._window, tr("Open a lesson"), str(self._places.lessons), _FILES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.open_file(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _show_lesson(self, opened: Opened) -> None:
        self.opened = opened
        self._page.notice.hide()
        missing = [name for name, found in opened.events.items() if isinstance(found, GlyphscopeError)]
        if missing:
            self._page.notice.tell(
                tr(
                    "No recording that fits: {names}. glyphscope lesson record FILE makes the recordings.",
                    names=", ".join(missing),
                )
            )
        self._arrange(min(self._progress.of(opened.place.key).step, len(opened.lesson.steps) - 1))
        if self._page.model.row_of(opened.place.key) < 0 and self._listed:
            rows = [
                *self._page.model.rows,
                LessonRow(opened.place, opened.lesson, self._progress.of(opened.place.key)),
            ]
            self._page.model.show(rows)
        self._mark()
        self._show_lecturable()

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            self._window.tell_error(error)
            return
        self.lecture.end()
        self.opened, self.slides = None, []
        self._page.reader.clear()
        self._page.show_error(error)
        self._show_lecturable()

    def _arrange(self, step: int) -> None:
        """The slides of reading or of a lecture, at the first one of that step."""
        if self.opened is None:
            return
        make = lecture_slides if self.lecture.is_on else reading_slides
        self.slides = make(self.opened.lesson)
        self.show_slide(next(n for n, slide in enumerate(self.slides) if slide.step == step))

    def _begin_anew(self) -> None:
        if self.opened is not None:
            self._progress.forget(self.opened.place.key)
            self._arrange(0)

    def _keep(self, progress: LessonProgress) -> None:
        if self.opened is not None:
            key = self.opened.place.key
            self._progress.put(key, progress)
            self._page.model.set_progress(key, progress)
            self._save()

    def _save(self) -> None:
        """One after the other: of two at once the older might be the last that is written."""
        self._unsaved = True
        if self._saving:
            return
        self._saving, self._unsaved = True, False
        content = self._progress.encode()
        self._background.start("save", lambda: self._progress.write(content), self._saved, self._not_saved)

    def _saved(self, words: str) -> None:
        self._saving = False
        if words:
            self._window.status.set_note(words)
        if self._unsaved:
            self._save()

    def _not_saved(self, error: BaseException) -> None:
        self._saving = False
        self._window.tell_error(error)

    # -- parts of a step ---------------------------------------------------------------------------------------

    def _make(self, part: AnyPart, parent: QWidget) -> QWidget:
        try:
            if isinstance(part, Watch):
                return self._watch(part, parent)
            if isinstance(part, Experiment):
                return self._experiment(part, parent)
            assert isinstance(part, Question)
            return self._question(part, parent)
        except GlyphscopeError as error:
            return words_label(shown_exactly(f"{error.message} {error.hint}".rstrip()), "problem", parent)

    def _events(self, run: str) -> tuple[Any, ...]:
        assert self.opened is not None
        found = self.opened.events[run]
        if isinstance(found, GlyphscopeError):
            raise found
        return found

    def _watch(self, part: Watch, parent: QWidget) -> LessonRun:
        events = self._events(part.run)
        begin, end = first_of_stage(events, part.stage) if part.stage else (0, None)
        last = end if part.stop is None else begin + part.stop
        if end is not None and last is not None:
            last = min(last, end)
        view = LessonRun(part.caption, part.show, parent)
        view.set_pace(part.pace)
        view.show_run(events, begin + part.start, last, None if part.token is None else begin + part.token)
        return view

    def _question(self, part: Question, parent: QWidget) -> LessonQuestion:
        assert self.opened is not None
        opened, number = self.opened, self.opened.number_of(part)
        sheet = opened.sheets[number]
        if isinstance(sheet, GlyphscopeError):
            raise sheet
        card = LessonQuestion(sheet, parent)
        key = opened.place.key
        card.answered.connect(lambda right: self._keep(self._progress.of(key).answered(number, right)))
        return card

    def _experiment(self, part: Experiment, parent: QWidget) -> LessonExperiment:
        assert self.opened is not None
        request = self.opened.lesson.runs[part.run]
        card = LessonExperiment(part, request, self._events(part.run), self._events(part.of), parent)
        card.liveWanted.connect(lambda changes: self._run_live(card, changes))
        card.stopWanted.connect(self._runs.stop)
        return card

    # -- live runs ---------------------------------------------------------------------------------------------

    def _run_live(self, card: LessonExperiment, changes: dict[str, Any]) -> None:
        opened = self.opened
        if opened is None or self._runs.is_busy:
            return

        def begin(request: RunRequest) -> None:
            if card in self._page.reader.active and not self._runs.is_busy:
                own = msgspec.structs.replace(request, model=self._window.wiring.model)
                self._live = card
                card.begin(own)
                self._job = self._runs.run_aside(own)

        def refuse(error: BaseException) -> None:
            if not isinstance(error, GlyphscopeError):
                self._window.tell_error(error)
            elif card in self._page.reader.active:
                problems = "; ".join(problem.message for problem in getattr(error, "problems", ()))
                card.refuse(f"{error.message} {problems}".rstrip())

        self._background.start(
            "live", lambda: varied(opened.lesson, card.part, changes, opened.place.folder), begin, refuse
        )

    def _take(self, aside: Aside) -> None:
        if aside.job != self._job or self._live is None:
            return
        card = self._live
        if aside.ended:
            self._live, self._job = None, 0
        card.take(aside)

    def _stop_live(self) -> None:
        """Nobody looks at it any more."""
        if self._live is not None:
            self._live, self._job = None, 0
            if self._runs.is_aside:
                self._runs.stop()

    def _show_model(self) -> None:
        phase, words = self._runs.model.phase, ""  # one that is not open yet is opened by the run
        if phase == "opening":
            words = tr("The model is being opened.")
        elif phase == "failed":
            words = tr("There is no model here to run it live.")
        elif self._runs.is_busy and self._live is None:
            words = tr("The model is at work for another page.")
        for part in self._page.reader.active:
            if isinstance(part, LessonExperiment):
                part.set_model(words)

    # -- the lecture -------------------------------------------------------------------------------------------

    def _toggle_lecture(self) -> None:
        if self.opened is not None and self._window.pages.current == LESSONS:
            self.lecture.toggle()

    def _lecture_changed(self, _on: bool) -> None:
        if self.opened is not None and self.slides:
            self._arrange(self.slides[self.at].step)
        self._page.reader.setFocus()

    def _advance(self) -> bool:
        """What is next on this slide; False where nothing is."""
        for part in self._page.reader.active:
            if part.advance():
                self._page.reader.in_sight(part)
                return True
        return self._page.reader.scroll_on()

    def _press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """A key for a part of the slide: Down and Up are a token on and back, P plays, digits and Enter answer."""
        moves = {
            Qt.Key.Key_Down: Qt.Key.Key_Right,
            Qt.Key.Key_Up: Qt.Key.Key_Left,
            Qt.Key.Key_P: Qt.Key.Key_Space,
        }
        for part in self._page.reader.active:
            if isinstance(part, LessonQuestion):
                if key not in moves and part.press(key):
                    return True
            elif part.press(moves.get(Qt.Key(key), Qt.Key(key)), modifiers):
                return True
        return False

    def _show_lecturable(self) -> None:
        self.lecture_action.setEnabled(self.opened is not None and self._window.pages.current == LESSONS)
