"""The values of a run's settings: their limits, as all pickers offer them, and as names of runs and columns contain
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from glyphscope_gui.shared.language import tr

Choices: TypeAlias = Sequence[tuple[Any, str, str]]
"""The value, title and hint of each."""

MAX_SEED = 2**31 - 1
MAX_TEMPERATURE = 5.0

NOTATIONS: Choices = (
    ("glyph", "GLYPH", tr("Calls are written in GLYPH")),
    ("json", "JSON", tr("Calls are written in JSON")),
    ("native", tr("Native"), tr("The notation of the model’s chat template, which also defines the shape")),
)
SHAPES: Choices = (
    ("flat", tr("flat"), '{"action": name, …arguments}'),
    ("tool-args", "tool/args", '{"tool": name, "args": {…}}'),
    ("name-arguments", "name/args", '{"name": name, "arguments": {…}}'),
)
CONSTRAINTS: Choices = (
    ("off", tr("Off"), tr("The output is not constrained; the run stops at the deciding character")),
    ("mask", tr("Mask"), tr("Only tokens that can still lead to a valid call are allowed")),
    ("gbnf", "GBNF", tr("The same, by llama.cpp’s grammar sampler")),
)
STRATEGIES: Choices = (
    ("direct", tr("Direct"), tr("One prompt, one answer, one call.")),
    (
        "two-stage",
        tr("Two-stage"),
        tr("First the tool’s name, then its arguments, constrained by that tool’s schema."),
    ),
    (
        "route-execute",
        tr("Route → execute"),
        tr("A router chooses a tool by name; an executor, which sees only that tool, calls it."),
    ),
    (
        "loop",
        tr("Tool loop"),
        tr("Calls are executed and their results sent back to the model, turn by turn, until it answers."),
    ),
)
STARTS: Choices = (
    (
        "start",
        tr("From the first token"),
        tr("The call comes first; reasoning that the prompt opened is closed"),
    ),
    ("reasoning", tr("After reasoning"), tr("The model reasons freely, then calls under the constraint")),
    ("call", tr("From the call"), tr("Unconstrained until the model begins a call")),
)
"""Where the constraint starts (`constrain_from`)."""
ORDERS: Choices = (
    ("any", tr("Any"), tr("The model chooses the order of the arguments")),
    ("schema", tr("As in the schema"), tr("Arguments have the order of the schema")),
)
THINKING: Choices = (
    ("auto", tr("Template default"), tr("Not set: the chat template decides")),
    ("on", tr("On"), tr("The model reasons before it answers")),
    ("off", tr("Off"), tr("The model answers without reasoning")),
)

WORDS: dict[str, str] = {
    "glyph": "GLYPH", "json": "JSON", "native": tr("native"),
    "flat": tr("flat"), "tool-args": "tool/args", "name-arguments": "name/args",
    "off": tr("no constraint"), "mask": tr("mask"), "gbnf": "GBNF", "endpoint": tr("endpoint’s constraint"),
    "direct": tr("direct"), "two-stage": tr("two-stage"),
    "route-execute": tr("route → execute"), "loop": tr("tool loop"),
    "start": tr("from the first token"), "reasoning": tr("after reasoning"), "call": tr("from the call"),
    "any": tr("any order"), "schema": tr("the schema’s order"),
}  # fmt: skip
"""The values of all settings but thinking within a name, such as `GLYPH mask, after reasoning`."""
