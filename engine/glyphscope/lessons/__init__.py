"""Lessons: Markdown with recorded runs, questions whose answers are worked out, and experiments."""

from glyphscope.lessons.checking import check_lesson, is_of
from glyphscope.lessons.lesson import (
    AnyPart,
    Experiment,
    Lesson,
    NextQuestion,
    Note,
    Prose,
    Question,
    Step,
    Watch,
)
from glyphscope.lessons.library import (
    LessonPlace,
    all_lessons,
    bundled_lessons,
    find_lesson,
)
from glyphscope.lessons.progress import LessonProgress, Progress
from glyphscope.lessons.questions import Choice, Sheet, judge, sheet
from glyphscope.lessons.reading import parse_lesson, varied

__all__ = [
    "AnyPart",
    "Choice",
    "Experiment",
    "Lesson",
    "LessonPlace",
    "LessonProgress",
    "NextQuestion",
    "Note",
    "Progress",
    "Prose",
    "Question",
    "Sheet",
    "Step",
    "Watch",
    "all_lessons",
    "bundled_lessons",
    "check_lesson",
    "find_lesson",
    "is_of",
    "judge",
    "parse_lesson",
    "sheet",
    "varied",
]
