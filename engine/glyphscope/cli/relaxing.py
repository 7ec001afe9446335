"""What a relaxed branch cost, as lines under it."""

from __future__ import annotations

from rich.text import Text

from glyphscope.calling.relaxation_cost import RelaxationCost
from glyphscope.calling.relaxation_words import cost_words
from glyphscope.cli.output import console
from glyphscope.visible import visible


def print_cost(cost: RelaxationCost) -> None:
    """Prints what it cost, a line a sentence."""
    for line in cost_words(cost):
        console().print(Text(visible(line)))
