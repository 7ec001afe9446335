"""`glyphscope grammar build --report`: the enforced constraints, and each leak with a text that gets through."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.progress import Progress
from rich.prompt import Confirm
from rich.text import Text

from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.output import TextTable, console, diagnostics, print_json, print_note, print_text
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.explain.proof import ENGINES, OURS, EngineName, Proof, Report, prove
from glyphscope.explain.proof.outside import OUTSIDE, OutsideName, install, installed
from glyphscope.grammar.builder.contradictions import Contradiction
from glyphscope.grammar.tree import Ordered, Unenforced
from glyphscope.registry import ToolRegistry
from glyphscope.store import places

_HEADS: dict[EngineName, str] = {
    "mask": "mask",
    "gbnf": "llama.cpp",
    "converter": "its converter",
    "schema": "llguidance's",
    "outlines": "outlines",
    "xgrammar": "XGrammar",
}
_EXPLAINED: dict[EngineName, str] = {
    "mask": "mask: Glyphscope's grammar in llguidance",
    "gbnf": "llama.cpp: Glyphscope's grammar in llama.cpp",
    "converter": "its converter: the GBNF that llama-cpp-python generates from the JSON Schema",
    "schema": "llguidance's: its own JSON Schema compiler",
    "outlines": "outlines: outlines-core with the JSON Schema, as of its installation",
    "xgrammar": "XGrammar: XGrammar with the JSON Schema, as of its installation",
}
_MARKS = {
    "enforced": ("✓ enforced", "green"),
    "checked": ("! checked after", "yellow"),
    "unsupported": ("– no", "red"),
}
_ORDERED = "Members in the schema's order only, although any order was requested:"
_ROOM = 100


def report(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    order: ArgumentOrder = "schema",
    *,
    as_json: bool,
) -> None:
    """Print the proofs for a registry's grammar, and for the other engines if they support the notation; those in
    separate environments if they are installed.
    """
    folder = places().engines
    engines = (*ENGINES, *installed(folder)) if notation == "json" else OURS
    with Progress(console=diagnostics(), transient=True) as bar:
        task = bar.add_task("Testing the boundary of each constraint", total=len(registry.allowed))
        proved = prove(
            registry,
            notation,
            shape,
            engines,
            order=order,
            outside=folder,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    print_json(proved) if as_json else print_report(proved)


def offer_engine(name: OutsideName, *, yes: bool) -> None:
    """Install an engine for reports after consent. Raises InputError without it, GrammarError if that fails."""
    folder, (package, megabytes, _) = places().engines, OUTSIDE[name]
    if name in installed(folder):
        return
    print_note(
        f"{package} would be installed by pip from its package index, into {folder / name} (about {megabytes} MB).",
        "bold yellow",
    )
    if not yes:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            raise InputError(
                "Permission cannot be asked for: there is no terminal.",
                where=package,
                hint="Allow it with --yes.",
            )
        if not Confirm.ask("Install it?", console=diagnostics(), default=False):
            raise typer.Exit(1)
    install(folder, name)


def print_report(proved: Report) -> None:
    """Print a line for each constraint; below them, unenforced and undecided ones."""
    out = console()
    by_place: dict[tuple[str, str], dict[EngineName, Proof]] = {}
    for proof in proved.proofs:
        by_place.setdefault((proof.tool, proof.pointer), {})[proof.engine] = proof
    table = TextTable("tool", "constraint", *(_HEADS[engine] for engine in proved.engines))
    before = ""
    for (tool, pointer), proofs in by_place.items():
        verdicts = (_verdict(proofs.get(engine)) for engine in proved.engines)
        table.add_row(tool if tool != before else "", pointer or "/", *verdicts)
        before = tool
    out.print(table)
    leaks = [proof for proof in proved.proofs if proof.status == "checked"]
    _section("Not enforced, rejected by the validator after generation:", leaks)
    _section("Not enforced, or unknown:", _undecided(proved.proofs))
    _print_remarks(proved.proofs)
    for engine in proved.engines:
        if proved.ordered.get(engine):
            print_text()
            print_text(_EXPLAINED[engine], "bold")
            _print_places(out, _ORDERED, proved.ordered[engine])
    print_text()
    for engine in proved.engines:
        words = ", ".join(f"{number} {status}" for status, number in proved.counts[engine].items())
        print_text(f"{_EXPLAINED[engine]}: {words}")


def _verdict(proof: Proof | None) -> Text:
    if proof is not None and proof.unproved:
        return Text("? unproved", style="yellow")
    mark, colour = _MARKS[proof.status if proof else "unsupported"]
    return Text(mark, style=colour)


def _undecided(proofs: Sequence[Proof]) -> list[Proof]:
    """One proof for each reason of an engine and tool."""
    found: dict[tuple[str, str, str], Proof] = {}
    for proof in proofs:
        if proof.status == "unsupported":
            found.setdefault((proof.engine, proof.tool, proof.why), proof)
    return list(found.values())


def _print_remarks(proofs: Sequence[Proof]) -> None:
    """A line for each kind of valid values that our grammars do not write, or that the validator judges late."""
    found: dict[str, dict[str, None]] = {}
    for proof in proofs:
        if proof.status == "enforced" and proof.why:
            found.setdefault(proof.why, {})[f"{visible(proof.tool)} {visible(proof.pointer)}"] = None
    if found:
        print_text()
        print_text("Enforced, with these limits:", "bold")
    for why, named in found.items():
        more = f" and {pluralize(len(named) - 1, 'other place')}" if len(named) > 1 else ""
        print_text(f"{next(iter(named))}{more}: {why}")


def _section(title: str, proofs: Sequence[Proof]) -> None:
    if not proofs:
        return
    out = console()
    print_text()
    print_text(title, "bold")
    for proof in proofs:
        line = Text(f"{visible(proof.tool)} {visible(proof.pointer or '/')}, {_HEADS[proof.engine]}: ")
        line.append("; ".join(words for words in (proof.what, proof.why) if words))
        out.print(line)
        if proof.witness:
            print_text(f"  {shorten(visible(proof.witness), 2 * _ROOM, keep='ends')}")


def print_unenforced(
    unenforced: Sequence[Unenforced], ordered: Sequence[Ordered], *, as_json: bool, beside: bool = False
) -> None:
    """Print a line for each; on stderr if they are printed `beside` a grammar. `ordered`: any order was requested."""
    if as_json:
        print_json(unenforced_json(unenforced, ordered))
        return
    out = diagnostics() if beside else console()
    if ordered:
        _print_places(out, _ORDERED, ordered)
    checked, unchecked = ([each for each in unenforced if each.checked is sort] for sort in (True, False))
    if checked:
        _print_places(out, "Not enforced by the grammar, checked by the validator:", checked)
    if unchecked:
        _print_places(out, "Neither enforced by the grammar nor checked by the validator:", unchecked)
    if not unenforced and not beside:
        out.print("The grammar enforces every constraint.")


def unenforced_json(
    unenforced: Sequence[Unenforced], ordered: Sequence[Ordered]
) -> dict[str, Sequence[Unenforced | Ordered]]:
    """The members of a JSON answer; `ordered` only if there are any."""
    return {"unheld": unenforced} | ({"ordered": ordered} if ordered else {})


def print_contradictions(found: Sequence[Contradiction]) -> None:
    """Print a line on stderr for each part of a schema that can never be used."""
    for one in found:
        where = f"{one.tool}: {one.pointer or '/'}"
        print_note(f"! {where}: {one.message}", "yellow")


def _print_places(out: Console, title: str, found: Sequence[Unenforced | Ordered]) -> None:
    out.print(title)
    table = TextTable("tool", "place", "why")
    for each in found:
        table.add_row(each.tool, each.pointer or "/", each.why)
    out.print(table)
