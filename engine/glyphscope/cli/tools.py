"""`glyphscope tools`: lists of tools in the forms of other programs."""

from __future__ import annotations

import json
from enum import StrEnum
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import typer

from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import listed, shorten
from glyphscope.base.visible import escaped
from glyphscope.cli.inputs import shown_source
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import print_json, print_note, print_unused
from glyphscope.grammar.builder.uncallable import uncallable, uncallable_words
from glyphscope.grammar.generate.example import example_problems
from glyphscope.registry import ToolRegistry, load_registry
from glyphscope.registry.saving import name_problems, strict_problems, to_form, unused
from glyphscope.registry.tool_forms import FORMS
from glyphscope.store import atomic_write

OWN = "glyphscope"
_FormName = StrEnum("FormName", {name: name for name in (OWN, *FORMS)})  # type: ignore[misc]
_OWN = _FormName(OWN)
_SHOWN = 20


def convert(
    file: Annotated[Path, typer.Argument(metavar="TOOLS.json", help="A list of tools in any form.")],
    to: Annotated[_FormName, typer.Option(help="The form to write.")] = _OWN,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write; default: print it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a list of tools in another form, or in its own after a change.

    The parts of the file that Glyphscope does not use are listed on standard error. They are kept in a registry, and
    saved again in the form that they come from.
    """
    registry = load_registry(file)
    document = registry.to_document() if to == OWN else to_form(registry, to)
    text = escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
    if output is not None:
        atomic_write(output, text.encode())
    if as_json:
        found = [{"what": each.what, "why": each.why, "places": each.places} for each in unused(registry)]
        more = {} if output is not None else {"document": document}
        print_json(
            {"from": registry.kept.get("form", ""), "to": to, "tools": len(registry), "unused": found, **more}
        )
        return
    if output is None:
        typer.echo(text, nl=False)
    own = to in (OWN, registry.kept.get("form"))
    print_unused(
        unused(registry), f"Not used here, and {'kept' if own else f'not written, as {to} is another form'}:"
    )
    print_problems(registry, to)
    print_note(f"{shown_source(str(file))}: {pluralize(len(registry), 'tool')}")


def print_problems(registry: ToolRegistry, to: str) -> None:
    """Warn on stderr of tools that cannot be called, such as for a grammar with an error, of examples that violate
    their schemas, and of names that the API of the form rejects.
    """
    if lost := uncallable(registry):
        print_note(f"! No call can be written of {uncallable_words(lost)}.", "yellow")
    for each in example_problems(registry)[:_SHOWN]:
        print_note(f"! {each}", "yellow")
    lacking = ((tool.name, strict_problems(tool, "" if to == OWN else to)) for tool in registry.allowed)
    for name, lacks in islice(filter(itemgetter(1), lacking), _SHOWN):
        print_note(f"! {shorten(name, 40)} is strict; {'; '.join(lacks[:3])}.", "yellow")
    names = name_problems(registry, to) if to in FORMS else ()
    if names:
        form = FORMS[to]
        shown = listed([shorten(name, 40) for name in names], 3)
        print_note(
            f"! {form.title} accepts names of {form.limit}; {len(names)} of the tools have others: {shown}.",
            "yellow",
        )


app = typer.Typer(help="Lists of tools in the forms of other programs.", no_args_is_help=True)
app.command("convert")(convert)


@app.callback()
def _tools() -> None:
    """A group of commands, even with one."""
