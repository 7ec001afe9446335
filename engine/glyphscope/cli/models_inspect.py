"""`glyphscope models inspect`: the form of a model's turns, derived from its chat template, with the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, facts_table, print_json, print_text
from glyphscope.cli.template_forms import read_template
from glyphscope.models.inspection import Inspection, inspect_template, with_proof
from glyphscope.turns.pairs import Pair, Side
from glyphscope.turns.slots import PROMPT_PARTS, Slot
from glyphscope.visible import visible

_MAX_LENGTH = 1000


def inspect(
    template: Annotated[
        str, typer.Argument(metavar="FILE.gguf|TEMPLATE.jinja", help="A model, or a chat template in a file.")
    ],
    turns: Annotated[
        int,
        typer.Option("--turns", min=1, max=100_000, help="Number of random turns to render and read back."),
    ] = 100,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.gguf",
            help="Show the markers as tokens of this vocabulary; default: that of the model itself.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a model writes its turns: markers, calls, reasoning, ends. Exit code 1 when it writes no calls."""
    source = read_template(template)
    if vocabulary is None and template.lower().endswith(".gguf"):
        vocabulary = Path(template)
    inspection = with_proof(inspect_template(source, vocabulary), source, turns)
    if as_json:
        print_json(inspection)
    else:
        _print(Path(template).name, inspection)
    raise typer.Exit(0 if any(call.strict for call in inspection.form.calls) else 1)


def _print(name: str, inspection: Inspection) -> None:
    out = console()
    print_text(f"How {name} writes a turn. ⏎ is a line feed, words in capitals are slots.", "bold")
    numbers = {pair.key: place for place, pair in enumerate(inspection.pairs, 1)}
    out.print(facts_table((each.title, *_slot(each, numbers)) for each in inspection.slots))
    if inspection.thinking:
        _print_part("The prompt by state of thinking", facts_table(_thinking(inspection)))
    if inspection.markers:
        rows = [
            (_shown(each.text), each.words, " ".join(str(token.id) for token in each.tokens))
            for each in inspection.markers
        ]
        ends = " ".join(f"{_shown(token.text)} ({token.id})" for token in inspection.end_tokens)
        _print_part("The markers in this vocabulary", facts_table([*rows, ("ends a generation", ends, "")]))
    for place, pair in enumerate(inspection.pairs, 1):
        _print_part(f"{place}. {pair.title}. {pair.shows}", *_pair(pair))
    print_text()
    for thing, loss in lost(inspection):
        print_text(f"{thing}: {loss}")
    for words in inspection.warnings:
        print_text(f"! {words}", "yellow")
    for correction in inspection.form.corrections:
        print_text(f"from the table: {correction.row}. {correction.reason} (source: {correction.source})")
    out.print(_proof_line(inspection.proof))


def lost(inspection: Inspection) -> list[tuple[str, str]]:
    """The parts that the template does not write, each with `left out` or `refused`."""
    history = msgspec.to_builtins(inspection.history) if inspection.history is not None else {}
    return [(key.replace("_", " "), loss) for key, loss in history.items() if loss]


def _print_part(title: str, *parts: Any) -> None:
    out = console()
    print_text()
    print_text(title, "bold")
    for part in parts:
        out.print(part)


def _slot(slot: Slot, numbers: dict[str, int]) -> tuple[str, str]:
    places = [str(numbers[key]) for key in slot.pairs if key in numbers]
    seen = f"pair{'s' if len(places) > 1 else ''} {', '.join(places)}" if places else ""
    rows = f"table: {', '.join(slot.rows)}" if slot.rows else ""
    value = "  ".join(part for part in (_shown(slot.value), f"({slot.note})" if slot.note else "") if part)
    return value, "; ".join(part for part in (seen, rows) if part)


def _thinking(inspection: Inspection) -> list[tuple[str, str, str]]:
    out = []
    for each in inspection.thinking:
        words = PROMPT_PARTS.get(each.part, "") + (f" (as {each.like})" if each.like else "")
        out.append((each.state, _shown(each.prompt), words.strip()))
    return out


def _pair(pair: Pair) -> list[Text]:
    """Two renderings, each on a line, with their differences marked by brackets and colour."""
    if pair.same:
        return [Text("  both are the same: ").append(_shown(pair.sides[0].text[-_MAX_LENGTH:]), style="dim")]
    width = max(len(side.name) for side in pair.sides)
    return [_side(side, width) for side in pair.sides]


def _side(side: Side, width: int) -> Text:
    line = Text(f"  {side.name:{width}}  ")
    first = side.marks[0][0] if side.marks else 0
    at = max(0, first - _MAX_LENGTH)
    for start, end in side.marks:
        line.append(_shown(side.text[at:start]), style="dim")
        line.append(f"⟦{_shown(side.text[start : min(end, start + _MAX_LENGTH)])}⟧", style="bold green")
        at = end
    line.append(_shown(side.text[at : at + _MAX_LENGTH]), style="dim")
    return line


def _proof_line(proof: Any) -> Text:
    if not proof["turns"]:
        return Text("not proved: the template renders no calls", style="yellow")
    kinds = ", ".join(f"{count} with {kind}" for kind, count in sorted(proof["counts"].items()))
    mark, style = ("✓ proved", "bold green") if proof["proved"] else ("✗ not proved", "bold red")
    equal, turns = proof["equal"], proof["turns"]
    return Text(f"{mark}: {equal} of {turns} random turns are read back equal ({kinds})", style=style)


def _shown(text: str) -> str:
    return visible(text).replace("␊", "⏎")
