"""The page that runs one prompt under several settings, or two prompts over one set (A/B)."""

from __future__ import annotations

from glyphscope_gui.compare.presenter import ComparePresenter
from glyphscope_gui.context import AppContext, Page


def create(context: AppContext) -> Page:
    """Make the page."""
    return ComparePresenter(context)
