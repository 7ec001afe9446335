"""The options of how tokens are drawn, and the request's members that they make."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from glyphscope.evals.matrix.profiles import profile as profile_named
from glyphscope.events import Sampling

_DEFAULT = Sampling()

ProfileOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="P",
        help="Sampling settings by name, under those given here: see `glyphscope eval profiles`.",
        show_default=False,
    ),
]
SeedOption: TypeAlias = Annotated[int, typer.Option(help="The same seed samples the same tokens.")]
TemperatureOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0, help=f"0 always takes the most likely token. [{_DEFAULT.temperature:g}]", show_default=False
    ),
]
TopKOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, help=f"Keep the k most likely tokens; 0 keeps all. [{_DEFAULT.top_k}]", show_default=False
    ),
]
TopPOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help=(f"Keep the most likely tokens up to this total probability; 1 keeps all. [{_DEFAULT.top_p:g}]"),
        show_default=False,
    ),
]
MinPOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help=(f"Drop tokens below this share of the highest probability; 0 drops none. [{_DEFAULT.min_p:g}]"),
        show_default=False,
    ),
]
RepeatPenaltyOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help=f"Make recent tokens less likely; 1 is off. [{_DEFAULT.repeat_penalty:g}]", show_default=False
    ),
]
RepeatLastOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=-1,
        help=(
            f"Number of recent tokens that the repeat penalty covers; -1 is all. [{_DEFAULT.repeat_last_n}]"
        ),
        show_default=False,
    ),
]
StopOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="End the answer before this text; \\n is a line feed, \\t a tab. Repeatable.",
        show_default=False,
    ),
]
MaxTokensOption: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Maximum number of tokens in an answer.")
]


def sampling_of(profile: str | None, model: str, seed: int, given: dict[str, Any]) -> Sampling:
    """What `profile` has for a model of that name, with what is `given` (None is not). Raises GlyphscopeError."""
    base = Sampling(seed=seed) if profile is None else profile_named(profile).of(model, seed)
    return msgspec.structs.replace(
        base, **{name: value for name, value in given.items() if value is not None}
    )
