"""The page of the chat template: how the model writes a turn, and what that is known from."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.template.presenter import TemplatePresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return TemplatePresenter(context)
