"""What a relaxed branch cost, as lines under it."""

from __future__ import annotations

from glyphscope.cli.output import print_text
from glyphscope.explain.relaxation_cost import RelaxationCost
from glyphscope.explain.relaxation_report import cost_words


def print_cost(cost: RelaxationCost) -> None:
    """Prints what it cost, a line a sentence."""
    for line in cost_words(cost):
        print_text(line)
