"""The page of lessons: read, predict, run, and present them."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.lessons.presenter import LessonsPresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return LessonsPresenter(context)
