"""An open lesson with its recordings and its questions' answers, read once, in the background."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.events import AnyEvent
from glyphscope.lessons.checking import is_of
from glyphscope.lessons.lesson import AnyPart, Lesson, LessonStep, Prose, Question
from glyphscope.lessons.library import LessonPlace
from glyphscope.lessons.questions import Sheet, sheet
from glyphscope_gui.shared.language import tr


class Slide(NamedTuple):
    """Parts of the step with that number."""

    step: int
    parts: tuple[AnyPart, ...]


def slides_of(lesson: Lesson) -> list[Slide]:
    """Group text with the following part; text that ends a step stays with the previous part."""
    return [slide for number, step in enumerate(lesson.steps) for slide in _of_step(number, step)]


def _of_step(number: int, step: LessonStep) -> list[Slide]:
    slides: list[Slide] = []
    parts: list[AnyPart] = []
    for part in step.shown:
        parts.append(part)
        if not isinstance(part, Prose):
            slides.append(Slide(number, tuple(parts)))
            parts = []
    if not slides:
        slides.append(Slide(number, tuple(parts)))
    elif parts:
        slides[-1] = Slide(number, (*slides[-1].parts, *parts))
    return slides


Found = TypeVar("Found")


class OpenedLesson(NamedTuple):
    """`events` by the names of runs, `sheets` by the numbers of questions; a missing one is replaced by its error."""

    place: LessonPlace
    lesson: Lesson
    events: dict[str, tuple[AnyEvent, ...] | GlyphscopeError]
    sheets: dict[int, Sheet | GlyphscopeError]

    def events_of(self, run: str) -> tuple[AnyEvent, ...]:
        """The recording of a run. Raises the error in its place."""
        return _or_raise(self.events.get(run) or RecordError(tr("Run not found."), where=run))

    def number_of(self, question: Question) -> int:
        """A question's index among the lesson's questions."""
        return next(number for number, each in enumerate(self.lesson.questions) if each is question)

    def sheet_of(self, question: Question) -> Sheet:
        """A question with its answers. Raises the error in their place."""
        return _or_raise(self.sheets[self.number_of(question)])


def open_lesson(place: LessonPlace) -> OpenedLesson:
    """Raises LessonError and StorageError if the file cannot be used; a missing run is replaced by its error."""
    opened = OpenedLesson(place, place.read(), {}, {})
    lesson = opened.lesson
    for name in lesson.runs:
        try:
            opened.events[name] = _recorded(place, lesson, name)
        except GlyphscopeError as error:
            opened.events[name] = error
    for number, question in enumerate(lesson.questions):
        try:
            opened.sheets[number] = sheet(question, lesson.runs, opened.events_of)
        except GlyphscopeError as error:
            opened.sheets[number] = error
    return opened


def _or_raise(found: Found | GlyphscopeError) -> Found:
    if isinstance(found, GlyphscopeError):
        raise found
    return found


def _recorded(place: LessonPlace, lesson: Lesson, name: str) -> tuple[AnyEvent, ...]:
    """Return the recording. Raises RecordError if its request differs from the lesson's."""
    events = place.events(name)
    if not is_of(events, lesson.runs[name]):
        raise RecordError(
            tr('The recording of "{name}" is for another request.', name=name),
            hint=tr("Record it again: glyphscope lesson record FILE."),
        )
    return events
