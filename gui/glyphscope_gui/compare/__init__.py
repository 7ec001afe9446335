"""The page that runs one prompt under several settings or seeds, or two prompts on the same seeds (A/B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.compare.presenter import ComparePresenter
from glyphscope_gui.context import AppContext, Page

if TYPE_CHECKING:
    from glyphscope_gui.compare.column_view import MIN_WIDTH
    from glyphscope_gui.compare.experiment import RunPhase
    from glyphscope_gui.compare.seeded_presenters import planned_results, result_lines
    from glyphscope_gui.compare.seeds_page import SHARE, SHARE_ROLE, ShareDelegate
    from glyphscope_gui.compare.variants import PRESETS, next_variant, variant_names
    from glyphscope_gui.compare.words import earlier_words
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return ComparePresenter(context)
