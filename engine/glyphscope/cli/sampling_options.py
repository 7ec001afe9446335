"""The options for sampling, and the request's members made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from glyphscope.cli.option_groups import Given
from glyphscope.evals.matrix.profiles import profile as profile_named
from glyphscope.events import Sampling


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
    given: Given[Sampling]
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Run with each of these seeds (1-20, or 1,3,7-9) and show how often each answer occurs.",
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="End the answer before this text; \\n is a line feed, \\t a tab. Repeatable."
        ),
    ] = None

    def of(self, model: str) -> Sampling:
        """The profile's settings for a model of that name, with the given ones. Raises GlyphscopeError."""
        base = Sampling()
        if self.profile is not None:
            base = profile_named(self.profile).of(model, base.seed)
        return self.given.over(base)
