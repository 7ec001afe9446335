"""`glyphscope mcp …`: one file per command, joined here. Only commands that need the MCP SDK load it."""

from __future__ import annotations

import typer

from glyphscope.cli.mcp.requests import call, complete, prompts, request, resources
from glyphscope.cli.mcp.tools import changes, client_metadata, import_tools, list_servers, sign_in, sign_out
from glyphscope.cli.servers import server_commands

app = typer.Typer(help="MCP servers and their tools.", no_args_is_help=True)
app.command("list")(list_servers)
app.command("changes")(changes)
app.command("call")(call)
app.command("resources")(resources)
app.command("prompts")(prompts)
app.command("complete")(complete)
app.command("request")(request)
app.command("sign-in")(sign_in)
app.command("sign-out")(sign_out)
app.command("client-metadata")(client_metadata)
app.command("import")(import_tools)
for _name, _command in server_commands():
    app.command(_name)(_command)
