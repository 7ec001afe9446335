"""`glyphscope mcp sign-in` and `sign-out`: OAuth at an HTTP server, kept in the keyring."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.mcp.servers import ConfigArgument, ServerOption, ServerRequest, print_failure, started
from glyphscope.cli.output import diagnostics, print_note
from glyphscope.errors import ServerError
from glyphscope.tools.mcp import ServerConfig
from glyphscope.tools.mcp.server import START_SECONDS
from glyphscope.tools.mcp.tokens import forget
from glyphscope.visible import visible


def sign_in(
    config: ConfigArgument,
    server: ServerOption = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address, or only print it.")
    ] = True,
) -> None:
    """Sign in at an HTTP server with OAuth, in the browser. The sign-in is kept in the keyring.

    Other commands and the window use it, and renew it. Exit code 1 when the sign-in fails, or cannot be kept.
    """
    address = _address(config, server)
    with started((address,), START_SECONDS, sign_in=_opener(browser)) as (source,):
        if source.state != "ready":
            print_failure(source)
            raise typer.Exit(1)
        unsaved = source.unsaved_sign_in
    if unsaved:
        print_note(f"✗ The sign-in was not saved: {unsaved}", "bold red")
        raise typer.Exit(1)
    print_note(f"✓ {address.name} is ready; the sign-in is stored in the keyring.")


def sign_out(config: ConfigArgument, server: ServerOption = None) -> None:
    """Remove the sign-in of a server from the keyring."""
    address = _address(config, server)
    words = "The sign-in is removed." if forget(address.url) else "No sign-in was stored."
    print_note(f"{address.name}: {words}")


def _address(config: str, name: str | None) -> ServerConfig:
    found = [each for each in ServerRequest([config], name).servers if each.url]
    if len(found) != 1:
        hint = "Give its address, or a file and --server NAME."
        raise InputError("This is not one server with an address.", where=config, hint=hint)
    return found[0]


def _opener(opens: bool) -> Callable[[str], None]:
    def open_address(address: str) -> None:
        out = diagnostics()
        print_note("Sign in at this address, in a browser on this machine:")
        out.print(Text(visible(address, spaces=True)), soft_wrap=True)
        if opens and not _open(address):
            hint = "With --no-browser the address is printed, and you open it yourself."
            raise ServerError("No browser was found.", hint=hint)

    return open_address


def _open(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
