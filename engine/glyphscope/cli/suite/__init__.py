"""`glyphscope suite …`: what can be asked of models, joined here from a file for each command."""

from __future__ import annotations

import typer

from glyphscope.cli.suite import bfcl, check, from_runs, listing, show

app = typer.Typer(help="Suites: prompts with expected calls, for `glyphscope eval`.", no_args_is_help=True)
imports = typer.Typer(help="Create suites from files of other programs.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Suites: prompts with expected calls, for `glyphscope eval`."""


@imports.callback()
def import_root() -> None:
    """Create suites from files of other programs."""


app.command("list")(listing.list_suites)
app.command("show")(show.show)
app.command("check")(check.check)
app.command("from-runs")(from_runs.from_runs)
imports.command("bfcl")(bfcl.bfcl)
app.add_typer(imports, name="import")

__all__ = ["app"]
