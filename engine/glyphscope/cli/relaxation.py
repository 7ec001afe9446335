"""What a relaxed branch cost, as lines under it."""

from __future__ import annotations

from rich.text import Text

from glyphscope.cli.output import console
from glyphscope.explain.relaxation_cost import RelaxationCost
from glyphscope.explain.relaxation_report import cost_words
from glyphscope.visible import visible


def print_cost(cost: RelaxationCost) -> None:
    """Prints what it cost, a line a sentence."""
    for line in cost_words(cost):
        console().print(Text(visible(line)))
