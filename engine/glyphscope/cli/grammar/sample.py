"""`glyphscope grammar sample`: texts that the grammar accepts."""

from __future__ import annotations

from typing import Annotated

import typer

from glyphscope.cli.grammar.inputs import GrammarSource
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.grammar.generate.sample import covering_texts, sample_texts
from glyphscope.visible import visible


@with_groups
def sample(
    *,
    gbnf: Annotated[str | None, typer.Argument(metavar="[G.gbnf]", help="The grammar.")] = None,
    source: GrammarSource,
    n: Annotated[int, typer.Option("-n", min=0, max=1_000_000, help="Number of texts.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same texts.")] = 0,
    depth: Annotated[
        int,
        typer.Option(
            min=0, help="Depth of nested rules after which texts are completed as briefly as possible."
        ),
    ] = 12,
    cover: Annotated[
        bool,
        typer.Option(
            "--cover",
            help="Print the shortest text, and short texts that use every rule and alternative, -n at most.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print random texts of the grammar; with --json one {"text": …} per line, as `match --lines` reads them.

    Without --json, control characters are shown as symbols, so each text is one line.
    """
    grammar = source.grammar(gbnf)
    texts = covering_texts(grammar, limit=n) if cover else sample_texts(grammar, n, seed=seed, depth=depth)
    out = console()
    for text in texts:
        if as_json:
            print_json({"text": text})
        else:
            out.print(visible(text), soft_wrap=True)
