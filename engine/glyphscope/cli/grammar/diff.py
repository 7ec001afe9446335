"""`glyphscope grammar diff`: the shortest text that one grammar accepts and the other rejects."""

from __future__ import annotations

from typing import Annotated

import typer

from glyphscope.cli.grammar.inputs import read_any_grammar
from glyphscope.cli.inputs import STDIN, InputError
from glyphscope.cli.options import JsonOption, NotationOption, OrderOption, ShapeOption
from glyphscope.cli.output import diagnostics, print_json, print_text
from glyphscope.errors import GrammarError
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.grammar.generate.difference import Bound, Differences, shortest_differences
from glyphscope.visible import visible


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A GBNF file, a registry or a schema (.json).")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other grammar.")],
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    order: OrderOption = None,
    second_notation: Annotated[Notation | None, typer.Option(help="The notation of B, if different.")] = None,
    second_shape: Annotated[Shape | None, typer.Option(help="The shape of B, if different.")] = None,
    second_order: Annotated[
        ArgumentOrder | None, typer.Option(help="The order of the arguments in B, if different.")
    ] = None,
    characters: Annotated[int, typer.Option(min=1, help="Maximum length of the texts.")] = 4_000,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="Time limit in each direction, in seconds.")
    ] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """Compare the languages of two grammars.

    Exit code 0 if no difference was found (the output says whether that is a proof), 1 if they differ.
    """
    if first == second == STDIN:
        raise InputError("Standard input is only one of the grammars.")
    grammars = (
        read_any_grammar(first, notation, shape, order),
        read_any_grammar(second, second_notation or notation, second_shape or shape, second_order or order),
    )
    with diagnostics().status("Comparing"):
        try:
            differences = shortest_differences(*grammars, bound=Bound(characters=characters, seconds=seconds))
        except GrammarError as error:
            error.where = error.where or f"{first}, {second}"
            raise
    if as_json:
        print_json({"same": differences.same, **differences._asdict()})
    else:
        _print(differences, first, second)
    raise typer.Exit(0 if differences.same else 1)


def _print(differences: Differences, first: str, second: str) -> None:
    for text, here, there in (
        (differences.only_first, first, second),
        (differences.only_second, second, first),
    ):
        if text is not None:
            print_text(f"only {here} accepts, and {there} rejects:", "bold")
            print_text(f"  {visible(text)}" if text else "  the empty text")
        elif not differences.same and differences.exhausted:
            print_text(f"{there} accepts all that {here} does.")
    if differences.same and differences.exhausted:
        print_text(f"✓ the same language: {differences.bound}", "bold green")
    elif not differences.exhausted:
        print_text(f"… {differences.bound}", "bold yellow")
