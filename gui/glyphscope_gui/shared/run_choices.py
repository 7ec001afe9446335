"""The values of a run's settings: as all pickers offer them, and as names of runs and columns contain them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from glyphscope.events import Sampling, choices, settings_of
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.settings_grid import translated

Choices: TypeAlias = Sequence[tuple[Any, str, str]]
"""The value, title and hint of each."""

MAX_SEED = 2**31 - 1
MAX_TEMPERATURE = float(settings_of(Sampling)["temperature"].setting.most)

NOTATIONS: Choices = translated(choices.NOTATION_CHOICES)
SHAPES: Choices = translated(choices.SHAPE_CHOICES)
CONSTRAINTS: Choices = translated(choices.CONSTRAINT_CHOICES)
STRATEGIES: Choices = translated(choices.STRATEGY_CHOICES)
STARTS: Choices = translated(choices.START_CHOICES)
"""Where the constraint starts (`constrain_from`)."""
ORDERS: Choices = translated(choices.ORDER_CHOICES)
THINKING: Choices = translated(choices.THINKING_CHOICES)

WORDS: dict[str, str] = {
    choice.value: in_language(choice.words or choice.title)
    for each in (
        choices.NOTATION_CHOICES,
        choices.SHAPE_CHOICES,
        choices.CONSTRAINT_CHOICES,
        choices.STRATEGY_CHOICES,
        choices.START_CHOICES,
        choices.ORDER_CHOICES,
    )
    for choice in each
} | {"endpoint": tr("endpoint’s constraint")}
"""The values of all settings but thinking within a name, such as `GLYPH mask, after reasoning`."""
