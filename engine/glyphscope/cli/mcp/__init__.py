"""`glyphscope mcp …`: one file for each command, joined here. Only a command that needs the MCP SDK loads it."""

from __future__ import annotations

import typer

from glyphscope.cli.serve_verbs import serve_verbs

app = typer.Typer(help="Servers of tools that speak the Model Context Protocol.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Servers of tools that speak the Model Context Protocol."""


app.command("serve-verbs")(serve_verbs)
