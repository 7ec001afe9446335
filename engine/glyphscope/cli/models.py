"""`glyphscope models`: the GGUF files that are on this machine already; `models get` brings one by its name.

`models show` has one model's facts and the memory it needs, `models inspect` how it writes its turns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.models_get import get
from glyphscope.cli.models_inspect import inspect
from glyphscope.cli.models_search import search
from glyphscope.cli.models_show import show
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import PlainTable, console, print_json
from glyphscope.models import find_models
from glyphscope.models.hub import find_unfinished
from glyphscope.sessions import places
from glyphscope.text.figures import byte_size, parameter_count

NONE = "No model was found. Try --folder, or: glyphscope models get OWNER/NAME, or: pip install 'glyphscope[demo]'"

app = typer.Typer(
    help="Models on this machine, and downloads.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.command()(get)
app.command()(inspect)
app.command()(search)
app.command()(show)


@app.callback()
def models(
    context: typer.Context,
    folder: Annotated[
        list[Path] | None, typer.Option(metavar="FOLDER", help="Also search this folder; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models on this machine; `get` downloads one. Exit code 1 if there are none."""
    if context.invoked_subcommand is not None:
        return
    own = places().models
    found = find_models([own, *(folder or ())])
    if as_json:
        print_json({"models": found})
        raise typer.Exit(0 if found else 1)
    out = console()
    if found:
        numbers = ("parameters", "size", "context")
        table = PlainTable("name", "from", "quantisation", *numbers, "file", right=numbers, fold=("file",))
        for each in found:
            place = Text(each.path)
            if each.problem:
                place.append(f" ✗ {each.problem}", style="red")
            table.add_row(
                each.name, each.source, each.quantisation, parameter_count(each.parameters) if each.parameters else "",
                byte_size(each.bytes), f"{each.context:,}" if each.context else "", place,
            )  # fmt: skip
        out.print(table)
    else:
        out.print(NONE)
    for part in find_unfinished(own):
        line = f"unfinished ({byte_size(part.bytes)}); resume with: glyphscope models get {part.repo}:{part.file}"
        out.print(line)
    raise typer.Exit(0 if found else 1)
