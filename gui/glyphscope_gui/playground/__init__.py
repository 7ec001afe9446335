"""The page of a run: its stream, stages, charts and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.playground.presenter import PlaygroundPresenter

if TYPE_CHECKING:
    from glyphscope_gui.playground.asking import MAX_ARGUMENTS, ApprovalCard, QuestionCard
    from glyphscope_gui.playground.branches.tree import MAX_INDENT, BranchPanel, BranchTreeModel
    from glyphscope_gui.playground.branches.words import (
        LOOKING,
        NO_CONSTRAINT,
        OWN_GRAMMAR,
        constraint_words,
        incomplete_words,
        mask_reason,
        outcome_line,
        pieces_words,
        place_words,
        relaxation_words,
        replacement_words,
        shared_bytes,
    )
    from glyphscope_gui.playground.charts import MIN_SLOT, SavingsChart, SizeChart, StepChart
    from glyphscope_gui.playground.evidence_words import size_words, token_words
    from glyphscope_gui.playground.mask_impact_view import (
        FIELD,
        MASKED,
        TAKEN,
        MaskImpactModel,
        MaskImpactTable,
    )
    from glyphscope_gui.playground.notes import MAX_SHOWN, notes_of
    from glyphscope_gui.playground.stage_rows import MARKS, MAX_ROWS, RunRows, cost_words, spoken, tip
    from glyphscope_gui.playground.transcript import Transcript
    from glyphscope_gui.playground.verdict_line import budgets
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return PlaygroundPresenter(context)
