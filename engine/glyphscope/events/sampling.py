"""The settings that sample a token, with llama.cpp's names, and the texts of logit biases."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET

from glyphscope.events.evidence import Filter
from glyphscope.events.setting import MAX_INTEGER, Setting, settings_of

MAX_BIAS = 100.0
"""The largest bias either way, as in OpenAI's API; with the least, a token is practically never sampled."""

_PENALTIES = ("repeat_penalty", "presence_penalty", "frequency_penalty")


def read_bias(text: str) -> tuple[int | str, float]:
    """The token of `TOKEN=BIAS`, an id or a text, and its bias. Raises ValueError, with the reason as a sentence.

    A number is an id. In quotes, as in JSON, a text may also be a number: `"7"=-5`.
    """
    token, equals, number = text.rpartition("=")
    try:
        bias = float(number)
    except ValueError:
        bias = math.nan
    if not equals or not token or not abs(bias) <= MAX_BIAS:
        raise ValueError(
            f"A logit bias is TOKEN=BIAS, such as 42=-5, with a bias from -100 to 100; this is {text!r}"
        )
    if token.isascii() and token.isdigit():
        return int(token), bias
    if len(token) > 2 and token[0] == token[-1] == '"':
        try:
            token = json.loads(token, strict=False)
        except ValueError:
            raise ValueError(f"The quoted text of a logit bias is a text of JSON; this is {token}") from None
    return token, bias


def bias_problem(biases: tuple[str, ...]) -> str:
    """The problem with these logit biases, without a full stop; empty if there is none."""
    try:
        tokens = [read_bias(each)[0] for each in biases]
    except ValueError as error:
        return str(error)
    if twice := next((each for each in tokens if tokens.count(each) > 1), None):
        return f"The token {twice!r} has two logit biases"
    return _texts_problem(tuple(map(str, tokens)), "biased token", 100, 40)


def breaker_problem(breakers: tuple[str, ...]) -> str:
    """The problem with these sequence breakers, without a full stop; empty if there is none."""
    if not breakers:
        return "DRY has at least one sequence breaker"
    return _texts_problem(breakers, "sequence breaker", 100, 40)


def stop_problem(stops: tuple[str, ...]) -> str:
    """The problem with these stop strings, without a full stop; empty if there is none."""
    return _texts_problem(stops, "stop string", 16, 200)


def _texts_problem(texts: tuple[str, ...], name: str, most: int, longest: int) -> str:
    if len(texts) > most:
        return f"There are {len(texts)} {name}s, and at most {most} are possible"
    if not all(texts):
        return f"A {name} has at least one character"
    if any(len(text) > longest for text in texts):
        return f"A {name} has at most {longest} characters"
    return ""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a token is sampled. `temperature` 0 is greedy."""

    temperature: Annotated[float, Setting(
        "Temperature", "0 always takes the most likely token; higher values vary more",
        least=0, most=10, step=0.1, words="temperature {value:g}",
    )] = 0.0  # fmt: skip
    top_k: Annotated[int, Setting(
        "Top-k", "Keeps the k most likely allowed tokens", least=0, most=1_000_000, special=0, words="top-k {value}",
    )] = 40  # fmt: skip
    top_p: Annotated[float, Setting(
        "Top-p", "Keeps the most likely tokens up to this total probability",
        least=0, most=1, special=1.0, step=0.05, words="top-p {value:g}",
    )] = 0.95  # fmt: skip
    min_p: Annotated[float, Setting(
        "Min-p", "Removes tokens below this share of the highest probability",
        least=0, most=1, special=0.0, step=0.01, words="min-p {value:g}",
    )] = 0.05  # fmt: skip
    typical_p: Annotated[float, Setting(
        "Typical-p", "Keeps the tokens whose information is nearest to the expected one, up to this total probability",
        least=0, most=1, special=1.0, step=0.05, words="typical-p {value:g}",
    )] = 1.0  # fmt: skip
    top_n_sigma: Annotated[float, Setting(
        "Top-n-sigma", "Keeps the tokens whose logits are within so many standard deviations of the largest",
        least=0, most=100, special=0.0, step=0.1, words="top-n-sigma {value:g}",
    )] = 0.0  # fmt: skip
    xtc_probability: Annotated[float, Setting(
        "XTC probability",
        "Share of the tokens at which XTC removes the most likely choices, all but the last above its threshold",
        least=0, most=1, special=0.0, step=0.05, words="XTC {value:g}",
    )] = 0.0  # fmt: skip
    xtc_threshold: Annotated[float, Setting(
        "XTC threshold", "Probability from which XTC counts a token as a likely choice; above 0.5 it removes none",
        least=0, most=1, step=0.05, words="XTC threshold {value:g}", needs=("xtc_probability",),
    )] = 0.1  # fmt: skip
    repeat_penalty: Annotated[float, Setting(
        "Repeat penalty", "Makes recent tokens less likely",
        least=0.01, most=10, special=1.0, step=0.05, words="repeat penalty {value:g}",
    )] = 1.0  # fmt: skip
    presence_penalty: Annotated[float, Setting(
        "Presence penalty", "Subtracted from the logits of recent tokens",
        least=-2, most=2, special=0.0, step=0.1, words="presence penalty {value:g}",
    )] = 0.0  # fmt: skip
    frequency_penalty: Annotated[float, Setting(
        "Frequency penalty", "Subtracted from the logits of recent tokens, once for each time that they occur",
        least=-2, most=2, special=0.0, step=0.1, words="frequency penalty {value:g}",
    )] = 0.0  # fmt: skip
    repeat_last_n: Annotated[int, Setting(
        "Penalty window", "Number of recent tokens, prompt included, that these penalties cover",
        least=-1, most=1_000_000, special=-1, special_words="all tokens", unit="tokens",
        words="penalty over {value} tokens", needs=_PENALTIES,
    )] = 64  # fmt: skip
    dry_multiplier: Annotated[float, Setting(
        "DRY", "Subtracted from the logit of a token that would continue a repeated sequence (Don’t Repeat Yourself)",
        least=0, most=100, special=0.0, step=0.1, words="DRY {value:g}",
    )] = 0.0  # fmt: skip
    dry_base: Annotated[float, Setting(
        "DRY base", "Factor of the subtracted amount for each further token of the repeated sequence",
        least=1, most=10, step=0.05, words="DRY base {value:g}", needs=("dry_multiplier",),
    )] = 1.75  # fmt: skip
    dry_allowed_length: Annotated[int, Setting(
        "DRY allowed length", "Longest sequence that may be repeated freely",
        least=1, most=1000, unit="tokens", words="DRY after {value} tokens", needs=("dry_multiplier",),
    )] = 2  # fmt: skip
    dry_penalty_last_n: Annotated[int, Setting(
        "DRY window", "Number of recent tokens, prompt included, in which DRY looks for repetitions",
        least=-1, most=1_000_000, special=-1, special_words="all tokens", unit="tokens",
        words="DRY over {value} tokens", needs=("dry_multiplier",),
    )] = -1  # fmt: skip
    dry_sequence_breakers: Annotated[tuple[str, ...], Setting(
        "DRY sequence breakers", "Texts that end a repeated sequence; \\n is a line feed, \\t a tab",
        words="DRY breakers {value}", needs=("dry_multiplier",), check=breaker_problem,
    )] = ("\n", ":", '"', "*")  # fmt: skip
    logit_bias: Annotated[tuple[str, ...], Setting(
        "Logit bias", "Added to the logit of a token, as TOKEN=BIAS with its id or its text: 42=-5, yes=2, \"7\"=1",
        special=(), words="logit bias {value}", check=bias_problem,
    )] = ()  # fmt: skip
    seed: Annotated[int, Setting(
        "Seed", "The same seed samples the same tokens", least=0, most=MAX_INTEGER, words="seed {value}",
    )] = 1  # fmt: skip

    @property
    def takes_best(self) -> bool:
        """Whether the allowed token with the largest logit is always chosen."""
        return self.temperature <= 0 and not self.in_effect

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters that remove tokens at a temperature above 0, in their order; `TokenStep.left` has a number for
        each.
        """
        always = ("top_k", "top_p", "min_p")
        return tuple(
            title for name, title in FILTERS.items() if name in always or getattr(self, name) != _off()[name]
        )

    @property
    def in_effect(self) -> dict[str, Any]:
        """The settings that have an effect, besides temperature and seed; at temperature 0, no filters."""
        greedy = self.temperature <= 0
        on = {
            name: value
            for name, off in _off().items()
            if (value := getattr(self, name)) != off and not (greedy and name in FILTERS)
        }
        more = {
            name: value
            for name, field in settings_of(Sampling).items()
            if any(need in on for need in field.setting.needs)
            and (value := getattr(self, name)) != field.default
        }
        return on | more


@cache
def _off() -> dict[str, Any]:
    """The values of `Sampling` that have no effect."""
    return {name: field.off for name, field in settings_of(Sampling).items() if field.off is not UNSET}


FILTERS: dict[str, Filter] = {
    "top_n_sigma": "top-n-sigma", "top_k": "top-k", "typical_p": "typical-p", "top_p": "top-p", "min_p": "min-p",
    "xtc_probability": "XTC",
}  # fmt: skip
"""The settings that remove tokens, in llama.cpp's order, with the names of their filters."""
