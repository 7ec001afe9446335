"""The page of evaluations: a matrix of settings over a suite, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.evaluate.presenter import EvaluatePresenter

if TYPE_CHECKING:
    from glyphscope_gui.evaluate.assertions_form import field_text, field_value, loose_text, loose_value
    from glyphscope_gui.evaluate.evaluations import Growing
    from glyphscope_gui.evaluate.reading import read_result
    from glyphscope_gui.evaluate.result import EvalResult
    from glyphscope_gui.evaluate.result_details import COUNT, EvalFailuresModel, EvalPairsModel
    from glyphscope_gui.evaluate.result_view import EvalCharts, ShareChart
    from glyphscope_gui.evaluate.setup import editable, price, price_words, seconds_a_sample, tokens_at_most
    from glyphscope_gui.evaluate.suite_editor import SuiteEditor
    from glyphscope_gui.evaluate.table_model import ROW_ROLE, SHOWN_ROLE, EvalTableModel
    from glyphscope_gui.evaluate.words import MEASURES, arm_labels, provenance, summary_words
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return EvaluatePresenter(context)
