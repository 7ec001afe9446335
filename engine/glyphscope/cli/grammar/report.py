"""`glyphscope grammar build --report`: what is enforced, and each leak with the text that gets through."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.grammar import Ordered, Unenforced
from glyphscope.grammar.builder.contradictions import Contradiction
from glyphscope.proof import ENGINES, OURS, EngineName, Proof, Report, prove
from glyphscope.registry import ToolRegistry
from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

_HEADS: dict[EngineName, str] = {
    "mask": "mask",
    "gbnf": "llama.cpp",
    "converter": "its converter",
    "schema": "llguidance's",
}
_EXPLAINED: dict[EngineName, str] = {
    "mask": "mask: Glyphscope's grammar in llguidance",
    "gbnf": "llama.cpp: Glyphscope's grammar in llama.cpp",
    "converter": "its converter: the GBNF that llama-cpp-python generates from the JSON Schema",
    "schema": "llguidance's: its own JSON Schema compiler",
}
_MARKS = {
    "enforced": ("✓ enforced", "green"),
    "checked": ("! leaks", "yellow"),
    "unsupported": ("– no", "red"),
}
_ROOM = 100


def report(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    order: ArgumentOrder = "schema",
    *,
    as_json: bool,
) -> None:
    """Prints the proofs of a registry's grammar, beside those of the peers where they know the notation."""
    engines = ENGINES if notation == "json" else OURS
    with Progress(console=diagnostics(), transient=True) as bar:
        task = bar.add_task("Testing the boundary of each constraint", total=len(registry.allowed))
        proved = prove(
            registry,
            notation,
            shape,
            engines,
            order=order,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    print_json(proved) if as_json else print_report(proved)


def print_report(proved: Report) -> None:
    """A line for each constraint; below them, what gets through and what nobody decides."""
    out = console()
    by_place: dict[tuple[str, str], dict[EngineName, Proof]] = {}
    for proof in proved.proofs:
        by_place.setdefault((proof.tool, proof.pointer), {})[proof.engine] = proof
    table = Table(
        "tool", "constraint", *(_HEADS[engine] for engine in proved.engines), box=None, pad_edge=False
    )
    before = ""
    for (tool, pointer), proofs in by_place.items():
        verdicts = (_verdict(proofs.get(engine)) for engine in proved.engines)
        table.add_row(Text(visible(tool) if tool != before else ""), Text(visible(pointer or "/")), *verdicts)
        before = tool
    out.print(table)
    leaks = [proof for proof in proved.proofs if proof.status == "checked"]
    _section("Not enforced, rejected by the validator after generation:", leaks)
    _section("Not enforced, or unknown:", _undecided(proved.proofs))
    for engine in proved.engines:
        if proved.ordered.get(engine):
            out.print()
            out.print(Text(_EXPLAINED[engine], style="bold"))
            print_ordered(out, proved.ordered[engine])
    out.print()
    for engine in proved.engines:
        words = ", ".join(f"{number} {status}" for status, number in proved.counts[engine].items())
        out.print(Text(f"{_EXPLAINED[engine]}: {words}"))


def _verdict(proof: Proof | None) -> Text:
    if proof is not None and proof.unproved:
        return Text("? unproved", style="yellow")
    mark, colour = _MARKS[proof.status if proof else "unsupported"]
    return Text(mark, style=colour)


def _undecided(proofs: Sequence[Proof]) -> list[Proof]:
    """One of each reason of an engine and tool."""
    found: dict[tuple[str, str, str], Proof] = {}
    for proof in proofs:
        if proof.status == "unsupported":
            found.setdefault((proof.engine, proof.tool, proof.why), proof)
    return list(found.values())


def _section(title: str, proofs: Sequence[Proof]) -> None:
    if not proofs:
        return
    out = console()
    out.print()
    out.print(Text(title, style="bold"))
    for proof in proofs:
        line = Text(f"{visible(proof.tool)} {visible(proof.pointer or '/')}, {_HEADS[proof.engine]}: ")
        line.append("; ".join(words for words in (proof.what, proof.why) if words))
        out.print(line)
        if proof.witness:
            out.print(Text(f"  {shorten(visible(proof.witness), 2 * _ROOM, keep='ends')}"))


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
