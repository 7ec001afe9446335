"""`glyphscope models`: the GGUF files that are on this machine already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.models import find_models
from glyphscope.sessions import places


def models(
    folder: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Look here too; can be repeated.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models that are found where other programs keep them. Exit code 1 when there is none."""
    found = find_models([places().models, *(folder or ())])
    if as_json:
        print_json({"models": found})
        raise typer.Exit(0 if found else 1)
    if not found:
        console().print("No model was found. Try --folder, or: pip install 'glyphscope[demo]'", markup=False)
        raise typer.Exit(1)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "from", "quantisation"):
        table.add_column(title)
    for title in ("parameters", "MB", "context"):
        table.add_column(title, justify="right")
    table.add_column("file", overflow="fold")
    for each in found:
        place = Text(each.path)
        if each.problem:
            place.append(f" ✗ {each.problem}", style="red")
        table.add_row(
            each.name, each.source, each.quantisation, _number(each.parameters / 1e6, "M"),
            f"{each.bytes / 1e6:.0f}", _number(each.context), place,
        )  # fmt: skip
    console().print(
        table if found else "No model was found. Try --folder, or: pip install 'glyphscope[demo]'"
    )
    raise typer.Exit(0 if found else 1)


def _number(value: float, unit: str = "") -> str:
    return f"{value:,.0f}{unit}" if value else ""
