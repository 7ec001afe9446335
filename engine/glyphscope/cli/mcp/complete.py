"""`glyphscope mcp complete`: the values that a server proposes for an argument of a prompt or resource template."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.mcp.answering import answering
from glyphscope.cli.mcp.offered import SecondsOption, find_offer, read_texts, wait_for_offers
from glyphscope.cli.mcp.outcome import ArgumentsOption
from glyphscope.cli.mcp.servers import ConfigArgument, ServerOptions
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_note
from glyphscope.tools.mcp.offers import Completion, Offer
from glyphscope.visible import visible


@with_groups(only=("server", "yes", "ask"))
def complete(
    *,
    config: ConfigArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|TEMPLATE", help="A prompt, or the URI template of resources."),
    ],
    argument: Annotated[str, typer.Argument(metavar="ARGUMENT", help="The argument to complete.")],
    value: Annotated[str, typer.Argument(metavar="[TEXT]", help="The beginning of its value.")] = "",
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    seconds: SecondsOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Print the values that a server proposes for an argument of a prompt or resource template, one per line.

    Other arguments that are known are given with --arguments.
    """
    others = read_texts(arguments)
    with chosen.opened(config) as source:
        wait_for_offers(source, seconds)
        known = (*source.offers.prompts, *source.offers.templates)
        offer = find_offer(known, name) or Offer(kind="template" if "{" in name else "prompt", address=name)
        names = [each.name for each in offer.arguments]
        if names and argument not in names:
            hint = f"Choose one of: {visible(', '.join(names))}."
            raise InputError(f"{name} has no argument {argument}.", where=source.name, hint=hint)
        found = answering(
            source,
            lambda cancel: source.complete(
                offer, argument, value, others=others, seconds=seconds, cancel=cancel
            ),
        )
    _print(found, as_json=as_json)
    if found.problem:
        raise typer.Exit(1)


def _print(found: Completion, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": not found.problem, **msgspec.to_builtins(found)})
        return
    for each in found.values:
        console().print(Text(visible(each)), soft_wrap=True)
    if found.problem:
        print_note(f"✗ {found.problem}", "bold red")
    elif found.has_more:
        total = f" {found.total:,} in total." if found.total else ""
        print_note(f"There are more.{total}", "dim")
    elif not found.values:
        print_note("The server proposes no values.", "yellow")
