"""Lessons: Markdown with recorded runs, questions with computed answers, and experiments."""

from glyphscope.lessons.checking import check_lesson, is_of, record_lesson
from glyphscope.lessons.library import LessonPlace, all_lessons, bundled_lessons, find_lesson
from glyphscope.lessons.progress import LessonProgress, ReadingProgress
from glyphscope.lessons.questions import AnswerChoice, Sheet, grade, sheet
from glyphscope.lessons.reading import parse_lesson
