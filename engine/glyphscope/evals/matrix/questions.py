"""Common questions, and the settings whose comparison answers them: in columns of one prompt, or as arms on suites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from glyphscope.evals.matrix.arms import OFFERED, first_value, values_of


class SettingsQuestion(NamedTuple):
    """A question with a hint. The settings of an arm by name: `varied` has the values of each that is varied, `fixed`
    one value of others. In an evaluation, `arms` replace some of them.
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

    def members(self) -> dict[str, tuple[Any, ...]]:
        """The members of a matrix for all axes: those that the question does not name have the first value."""
        fixed = {name: (value,) for name, value in self.fixed.items()}
        axes = {name: (first_value(name),) for name in OFFERED} | fixed | self.varied | dict(self.arms)
        return {values_of(name): values for name, values in axes.items()}


QUESTIONS = (
    SettingsQuestion(
        "mask",
        "Does the mask help?",
        "The same prompts without a constraint and with the mask",
        {"constraint": ("off", "mask")},
    ),
    SettingsQuestion(
        "notation",
        "GLYPH or JSON?",
        "Both notations, without a constraint and with the mask: does GLYPH cost accuracy, does it save tokens?",
        {"notation": ("glyph", "json")},
        {"constraint": "mask"},
        {"constraint": ("off", "mask")},
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
        "All notations without a constraint: which one does the model know?",
        {"notation": ("glyph", "json", "native")},
        {"constraint": "off"},
    ),
    SettingsQuestion(
        "begin",
        "When should the constraint begin?",
        "Native notation with the mask from the first token, after reasoning, and from the call: what does each cost "
        "and gain?",
        {"constrain_from": ("start", "reasoning", "call")},
        {"constraint": "mask", "strategy": "direct"},
        {"notation": ("native",)},
    ),
    SettingsQuestion(
        "engine",
        "Mask or llama.cpp’s grammar sampler?",
        "The same prompts with the mask, with llama.cpp’s grammar sampler, and on suites without a constraint",
        {"constraint": ("mask", "gbnf")},
        arms={"constraint": ("off", "mask", "gbnf")},
    ),
)
