"""The page that runs one prompt under several settings or seeds, or two prompts on the same seeds (A/B)."""

from __future__ import annotations

from glyphscope_gui.compare.presenter import ComparePresenter
from glyphscope_gui.context import AppContext, Page


def create(context: AppContext) -> Page:
    """Make the page."""
    return ComparePresenter(context)
