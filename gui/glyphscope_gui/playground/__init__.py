"""The page of a run: its stream, stages, charts and evidence."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.playground.presenter import PlaygroundPresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return PlaygroundPresenter(context)
