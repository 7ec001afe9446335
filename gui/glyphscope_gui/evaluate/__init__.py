"""The page of evaluations: a matrix of settings over a suite, and its results."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.evaluate.presenter import EvaluatePresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return EvaluatePresenter(context)
