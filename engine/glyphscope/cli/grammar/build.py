"""`glyphscope grammar build`: the grammar that holds a model to a registry."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from glyphscope.cli.inputs import read_registry
from glyphscope.cli.options import NotationOption, RegistryOption, ShapeOption
from glyphscope.grammar import build_call_grammar, to_lark


def build(
    registry: RegistryOption = None,
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    to: Annotated[
        Literal["lark"], typer.Option(help="The engine's own language; lark is llguidance's.")
    ] = "lark",
) -> None:
    """Print the grammar of every call that the registry allows."""
    typer.echo(to_lark(build_call_grammar(read_registry(registry), notation, shape)))
