"""`glyphscope grammar build`: the grammar that holds a model to a registry."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from glyphscope.cli.grammar.report import report as print_proofs
from glyphscope.cli.inputs import read_registry
from glyphscope.cli.options import JsonOption, NotationOption, RegistryOption, ShapeOption
from glyphscope.grammar import build_call_grammar, to_lark


def build(
    registry: RegistryOption = None,
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    to: Annotated[
        Literal["lark"], typer.Option(help="The engine's own language; lark is llguidance's.")
    ] = "lark",
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print instead what is really enforced: examples just past each constraint, read by the engines.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the grammar of every call that the registry allows."""
    if report:
        print_proofs(read_registry(registry), notation, shape, as_json=as_json)
        return
    typer.echo(to_lark(build_call_grammar(read_registry(registry), notation, shape)))
