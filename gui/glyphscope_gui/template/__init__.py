"""The page of the chat template: the form of a model's turn, and the evidence for it."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.template.presenter import TemplatePresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return TemplatePresenter(context)
