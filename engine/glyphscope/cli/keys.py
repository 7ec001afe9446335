"""`glyphscope keys …`: API keys of endpoints, in the keyring and nowhere else."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from glyphscope.cli.inputs import STDIN, InputError, read_text
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_note
from glyphscope.models.remote import ENVIRONMENT, key_addresses, read_address, remove_key, set_key

app = typer.Typer(help="API keys of endpoints, stored in the system's keyring.", no_args_is_help=True)

UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="The endpoint's URL.")]


@app.command("set")
def set_(url: UrlArgument) -> None:
    """Keep a key for an endpoint. It is asked for, or read from standard input; never from the command line."""
    address = read_address(url)
    if sys.stdin is not None and sys.stdin.isatty():
        key = typer.prompt(f"Key for {address.origin}", hide_input=True)
    else:
        key = read_text(STDIN)
    if not key.strip():
        raise InputError("No key was given.", hint="Type it at the prompt, or send it to standard input.")
    set_key(address, key)
    print_note(f"The key for {address.origin} is stored.")
    if address.base.startswith("http://") and not address.loopback:
        print_note("It is sent unencrypted: the address is not https.")


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the endpoints that have a key; the keys themselves are not shown. Exit code 1 when there is none."""
    origins = key_addresses()
    if as_json:
        print_json({"endpoints": origins, "environment": bool(os.environ.get(ENVIRONMENT))})
        raise typer.Exit(0 if origins else 1)
    for origin in origins:
        console().print(origin)
    if os.environ.get(ENVIRONMENT):
        print_note(f"{ENVIRONMENT} is set and is sent to every endpoint instead of these keys.")
    raise typer.Exit(0 if origins else 1)


@app.command("remove")
def remove(url: UrlArgument) -> None:
    """Forget an endpoint's key. Exit code 1 when there was none."""
    address = read_address(url)
    if not remove_key(address):
        print_note(f"There is no key for {address.origin}.")
        raise typer.Exit(1)
    print_note(f"The key for {address.origin} is removed.")
