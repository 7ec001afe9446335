"""The page of grammars: edit, check, diagram, examples, and enforcement."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.grammar.presenter import GrammarPresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return GrammarPresenter(context)
