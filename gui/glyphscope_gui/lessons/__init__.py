"""The page of lessons: read, predict, run, and present them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.lessons.presenter import LessonsPresenter

if TYPE_CHECKING:
    from glyphscope_gui.lessons.experiment import LessonExperiment
    from glyphscope_gui.lessons.opened import slides_of
    from glyphscope_gui.lessons.page import LessonRow
    from glyphscope_gui.lessons.player import LessonPlayer
    from glyphscope_gui.lessons.prose import LessonProse
    from glyphscope_gui.lessons.question import LessonQuestion
    from glyphscope_gui.lessons.run import MAX_ROWS, LessonRun, shown_rows
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return LessonsPresenter(context)
