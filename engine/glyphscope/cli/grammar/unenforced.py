"""The constraints that a grammar does not hold, in words: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.grammar import Ordered, Unenforced
from glyphscope.grammar.builder.contradictions import Contradiction
from glyphscope.visible import visible


def unenforced_entry(left: Unenforced) -> dict[str, str]:
    """One constraint that is not held, as JSON."""
    return {"tool": left.tool, "pointer": left.pointer, "keyword": left.keyword, "why": left.why}


def ordered_entry(one: Ordered) -> dict[str, str]:
    """An object whose members come in the schema's order only, as JSON."""
    return {"tool": one.tool, "pointer": one.pointer, "why": one.why}


def print_unenforced(
    unenforced: Sequence[Unenforced], ordered: Sequence[Ordered] = (), *, as_json: bool, beside: bool = False
) -> None:
    """A line for each; on stderr where they stand `beside` a grammar. `ordered`: where any order was asked for."""
    if as_json:
        told = {"unheld": [unenforced_entry(left) for left in unenforced]}
        if ordered:
            told["ordered"] = [ordered_entry(one) for one in ordered]
        print_json(told)
        return
    out = diagnostics() if beside else console()
    if ordered:
        print_ordered(out, ordered)
    if not unenforced:
        if beside:
            return
        out.print("The grammar enforces every constraint.")
        return
    out.print("Not enforced by the grammar, checked by the validator:")
    table = Table("tool", "place", "why", box=None, pad_edge=False)
    for left in unenforced:
        table.add_row(*(Text(visible(cell)) for cell in (left.tool, left.pointer or "/", left.why)))
    out.print(table)


def print_contradictions(found: Sequence[Contradiction]) -> None:
    """A line on stderr for each part of a schema that can never be used."""
    for one in found:
        where = f"{one.tool}: {one.pointer or '/'}"
        diagnostics().print(Text(f"! {visible(where)}: {visible(one.message)}", style="yellow"))


def print_ordered(out: Console, ordered: Sequence[Ordered]) -> None:
    """A line for each object whose members come in the schema's order only."""
    out.print("Members in the schema's order only, although any order was requested:")
    table = Table("tool", "place", "why", box=None, pad_edge=False)
    for one in ordered:
        table.add_row(*(Text(visible(cell)) for cell in (one.tool, one.pointer or "/", one.why)))
    out.print(table)
