"""The page of a run: its stream, stages, charts and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.playground.presenter import PlaygroundPresenter

if TYPE_CHECKING:
    from glyphscope_gui.playground.asking import MAX_ARGUMENTS, ApprovalCard, QuestionCard
    from glyphscope_gui.playground.branches.tree import MAX_INDENT, BranchPanel, BranchTreeModel
    from glyphscope_gui.playground.charts import MIN_SLOT, SavingsChart, SizeChart, StepChart
    from glyphscope_gui.playground.evidence_words import size_words, token_words
    from glyphscope_gui.playground.notes import MAX_SHOWN, notes_of
    from glyphscope_gui.playground.transcript import Transcript
    from glyphscope_gui.playground.verdict_line import budgets
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return PlaygroundPresenter(context)
