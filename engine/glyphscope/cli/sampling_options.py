"""The options for sampling, and the request's members made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import typer

from glyphscope.evals.matrix.profiles import profile as profile_named
from glyphscope.events import Sampling

_DEFAULT = Sampling()


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """The options given on the command line; None for the others."""

    profile: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Sampling settings by name, under those given here: see `glyphscope eval profiles`.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="The same seed samples the same tokens.")] = _DEFAULT.seed
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Run with each of these seeds (1-20, or 1,3,7-9) and show how often each answer occurs.",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        typer.Option(min=0.0, help=f"0 always takes the most likely token. [{_DEFAULT.temperature:g}]"),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(min=0, help=f"Keep the k most likely tokens; 0 keeps all. [{_DEFAULT.top_k}]"),
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help=f"Keep the most likely tokens up to this total probability; 1 keeps all. [{_DEFAULT.top_p:g}]",
        ),
    ] = None
    min_p: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help=f"Drop tokens below this share of the highest probability; 0 drops none. [{_DEFAULT.min_p:g}]",
        ),
    ] = None
    repeat_penalty: Annotated[
        float | None,
        typer.Option(help=f"Make recent tokens less likely; 1 is off. [{_DEFAULT.repeat_penalty:g}]"),
    ] = None
    repeat_last_n: Annotated[
        int | None,
        typer.Option(
            min=-1,
            help=f"Number of recent tokens that the repeat penalty covers; -1 is all. [{_DEFAULT.repeat_last_n}]",
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="End the answer before this text; \\n is a line feed, \\t a tab. Repeatable."
        ),
    ] = None
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximum number of tokens in an answer.")] = 512

    @property
    def given(self) -> dict[str, Any]:
        """The explicitly given members of `Sampling`, without the profile's; always includes the seed."""
        values = ((name, getattr(self, name)) for name in Sampling.__struct_fields__)
        return {name: value for name, value in values if value is not None}

    def of(self, model: str) -> Sampling:
        """The profile's settings for a model of that name, with the given ones. Raises GlyphscopeError."""
        base = Sampling() if self.profile is None else profile_named(self.profile).of(model, self.seed)
        return msgspec.structs.replace(base, **self.given)
