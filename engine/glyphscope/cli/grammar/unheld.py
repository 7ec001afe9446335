"""The constraints that a grammar does not hold, in words: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.grammar import Unheld


def unheld_entry(left: Unheld) -> dict[str, str]:
    """One constraint that is not held, as JSON."""
    return {"tool": left.tool, "pointer": left.pointer, "keyword": left.keyword, "why": left.why}


def print_unheld(unheld: Sequence[Unheld], *, as_json: bool, beside: bool = False) -> None:
    """A line for each; on stderr where they stand `beside` a grammar."""
    if as_json:
        print_json({"unheld": [unheld_entry(left) for left in unheld]})
        return
    out = diagnostics() if beside else console()
    if not unheld:
        out.print("The grammar holds every constraint.")
        return
    out.print("What the grammar does not hold, and the validator decides:")
    table = Table("tool", "place", "why", box=None, pad_edge=False)
    for left in unheld:
        table.add_row(Text(left.tool), Text(left.pointer or "/"), Text(left.why))
    out.print(table)
