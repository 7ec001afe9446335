"""A lesson that is open: with its recordings and its questions' answers, read once and off the window's thread."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.errors import GlyphscopeError, RecordError
from glyphscope.events import AnyEvent
from glyphscope.lessons import Lesson, LessonPlace, Question, Sheet, is_of, sheet
from glyphscope_gui.shared.language import tr


class Opened(NamedTuple):
    """`events` by the names of runs, `sheets` by the numbers of questions; in place of what cannot be had, why."""

    place: LessonPlace
    lesson: Lesson
    events: dict[str, tuple[AnyEvent, ...] | GlyphscopeError]
    sheets: dict[int, Sheet | GlyphscopeError]

    def number_of(self, question: Question) -> int:
        """A question's place among all of the lesson."""
        return next(number for number, each in enumerate(self.lesson.questions) if each is question)


def open_lesson(place: LessonPlace) -> Opened:
    """Raises LessonError and StorageError where the file cannot be taken; a run that is missing is told in it."""
    lesson = place.read()
    events: dict[str, tuple[AnyEvent, ...] | GlyphscopeError] = {}
    for name in lesson.runs:
        try:
            events[name] = _recorded(place, lesson, name)
        except GlyphscopeError as error:
            events[name] = error

    def recorded(name: str) -> tuple[AnyEvent, ...]:
        found = events.get(name) or RecordError(tr("There is no such run."), where=name)
        if isinstance(found, GlyphscopeError):
            raise found
        return found

    sheets: dict[int, Sheet | GlyphscopeError] = {}
    for number, question in enumerate(lesson.questions):
        try:
            sheets[number] = sheet(question, lesson.runs, recorded)
        except GlyphscopeError as error:
            sheets[number] = error
    return Opened(place, lesson, events, sheets)


def _recorded(place: LessonPlace, lesson: Lesson, name: str) -> tuple[AnyEvent, ...]:
    """The recording, if it is of what the lesson says: one of another request would tell something that is not so."""
    events = place.events(name)
    if not is_of(events, lesson.runs[name]):
        raise RecordError(
            tr('The recording of "{name}" is of another request.', name=name),
            hint=tr("Make it again: glyphscope lesson record FILE."),
        )
    return events
