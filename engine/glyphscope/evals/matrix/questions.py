"""Common questions, and the settings whose comparison answers them: in columns of one prompt, or as arms on suites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from glyphscope.evals.matrix.arms import OFFERED, first_value, values_of


class SettingsQuestion(NamedTuple):
    """A question, and what is compared for it. The settings of an arm by name: `varied` has the values of each that is
    varied, `fixed` one value of others. In an evaluation, `arms` replace some of them. Without `varied` settings, the
    models are compared.
    """

    key: str
    title: str
    about: str
    varied: dict[str, tuple[Any, ...]]
    fixed: Mapping[str, Any] = MappingProxyType({})
    arms: Mapping[str, tuple[Any, ...]] = MappingProxyType({})

    def columns(self) -> Iterator[dict[str, Any]]:
        """The settings of each column."""
        for values in product(*self.varied.values()):
            yield {**self.fixed, **dict(zip(self.varied, values))}

    def members(
        self, others: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    ) -> dict[str, tuple[Any, ...]]:
        """The members of a matrix for all axes: those that the question does not name have the value in `others`, or
        the first.
        """
        fixed = {name: (value,) for name, value in self.fixed.items()}
        named = {values_of(name): values for name, values in (fixed | self.varied | dict(self.arms)).items()}
        return {values_of(name): (first_value(name),) for name in OFFERED} | dict(others) | named


BRIEF = "Write one tool call. Leave out optional arguments that the user did not mention."
"""A system prompt to compare with."""
MODELS = "models"
"""The key of the question about models."""
QUESTIONS = (
    SettingsQuestion(
        "mask", "Does the mask help?", "No constraint against the mask", {"constraint": ("off", "mask")}
    ),
    SettingsQuestion(
        "notation",
        "GLYPH or JSON?",
        "Both notations, with and without the mask",
        {"notation": ("glyph", "json")},
        {"constraint": "mask"},
        {"constraint": ("off", "mask")},
    ),
    SettingsQuestion(MODELS, "Which model?", "Two or more models", {}),
    SettingsQuestion(
        "prompt", "Which prompt?", "This system prompt against others", {"system_prompt": (None, BRIEF)}
    ),
    SettingsQuestion(
        "thinking", "How much reasoning?", "Thinking off against on", {"thinking": ("off", "on")}
    ),
    SettingsQuestion(
        "stages",
        "Direct or two-stage?",
        "One call at once, or first the tool and then its arguments",
        {"strategy": ("direct", "two-stage")},
        {"constraint": "mask"},
    ),
    SettingsQuestion(
        "alone",
        "What does the model write unconstrained?",
        "All notations without a constraint",
        {"notation": ("glyph", "json", "native")},
        {"constraint": "off"},
    ),
    SettingsQuestion(
        "begin",
        "When should the constraint begin?",
        "The mask from the first token, after reasoning, and from the call",
        {"constrain_from": ("start", "reasoning", "call")},
        {"constraint": "mask", "strategy": "direct"},
        {"notation": ("native",)},
    ),
    SettingsQuestion(
        "engine",
        "Mask or llama.cpp’s grammar sampler?",
        "The mask against the grammar sampler",
        {"constraint": ("mask", "gbnf")},
        arms={"constraint": ("off", "mask", "gbnf")},
    ),
    SettingsQuestion(
        "search",
        "How should the model find tools?",
        "All tools in the prompt of the tool loop, or found by words, names or a router",
        {"tool_search": ("off", "bm25", "names", "router")},
        {"constraint": "mask", "strategy": "loop"},
        {"strategy": (None,)},
    ),
)
"""The most common ones first."""
