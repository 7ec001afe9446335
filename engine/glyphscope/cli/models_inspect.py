"""`glyphscope models inspect`: how a model writes its turns, derived from its chat template, with the proof."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, visible
from glyphscope.cli.template_forms import ASSUMED_END, TemplateRenderer, read_template
from glyphscope.errors import PromptError
from glyphscope.turns import Derived, Proof, TurnForm, form_of, prove
from glyphscope.turns.form import CallForm, Piece
from glyphscope.turns.markup import common_prefix, common_suffix

_PAIRS = (
    ("prompt, thinking on", "prompt, thinking off", "what thinking changes in the prompt"),
    ("text", "one call", "an answer, and a call in its place"),
    ("one call", "two calls", "one call, and two"),
    ("one call", "no arguments", "a call with an argument, and one without"),
    ("one call", "text and call", "a call, and one after text"),
    ("text", "reasoning and text", "an answer, and one after reasoning"),
)
_ENCODINGS = {
    "json": "a JSON object",
    "tagged": "a tag for each argument; texts raw, other values by the tool's schema",
    "pythonic": "Python's keyword arguments",
    "dict": "a dictionary with bare keys and a marker around texts",
}
_PROMPT = {
    "opens": "the prompt opens it",
    "closes": "the prompt closes it",
    "leaves": "the model may open it",
}
_LONGEST = 1000


class Inspection(msgspec.Struct, frozen=True):
    """What is printed with --json. `form` has every slot; `renderings` are the texts it was derived from."""

    form: TurnForm
    reasoning: Any
    ends: tuple[str, ...]
    drops: tuple[str, ...]
    warnings: list[str]
    proof: Any
    renderings: dict[str, str]


def inspect(
    template: Annotated[
        str,
        typer.Argument(metavar="FILE.gguf|TEMPLATE.jinja", help="A model, or a chat template in a file."),
    ],
    turns: Annotated[
        int, typer.Option("--turns", min=1, max=100_000, help="Random turns that are rendered and read back.")
    ] = 100,
    as_json: JsonOption = False,
) -> None:
    """Show how a model writes its turns: markers, calls, reasoning, ends. Exit code 1 when it writes no calls."""
    renderer = read_template(template)
    form, derived = form_of(renderer)
    proof = prove(renderer, derived, form, turns=turns)
    warnings = warnings_of(renderer, form, derived, proof)
    if as_json:
        print_json(_inspection(form, derived, proof, warnings))
    else:
        _print(Path(template).name, form, derived, proof, warnings)
    raise typer.Exit(0 if any(call.strict for call in form.calls) else 1)


def warnings_of(renderer: TemplateRenderer, form: TurnForm, derived: Derived, proof: Proof) -> list[str]:
    """What people should know before they rely on the form, a sentence each."""
    out = []
    messages = [{"role": "user", "content": "Hello"}]
    with suppress(PromptError):
        twice = {renderer.render(messages, [], thinking=None, add_generation_prompt=True) for _ in range(2)}
        if len(twice) > 1:
            out.append(
                "The template renders differently each time: nothing that is derived from it is certain."
            )
    if not form.describes_tools:
        out.append("The template describes no tools: the system prompt has to.")
    if "calls" in derived.drops:
        out.append(
            "The template writes no calls of the history: the form of calls is from the table, and not proved."
        )
    if form.reasoning is not None and form.reasoning.prompt.get("off") == "opens":
        out.append("The prompt opens reasoning whether thinking is on or off.")
    if "eos_token" in renderer.reads:
        out.append(f"The template writes eos_token, and {ASSUMED_END} is assumed for it.")
    if form.calls and form.calls[0].arguments.literals == "python":
        out.append("Values in the history are Python's literals (True, None); both notations are read.")
    missing = [value.kind for value in proof.values if not value.carried]
    if missing:
        out.append(f"The template cannot carry {', '.join(missing)}: these are not read back as they were.")
    if proof.left_out:
        out.append(f"The template cannot describe tools with arguments of type {', '.join(proof.left_out)}.")
    if proof.turns and proof.strict < proof.turns:
        out.append(
            f"{proof.turns - proof.strict} of {proof.turns} rendered turns leave the form: the template does not "
            "write in the history what the model writes."
        )
    out += [f"It refuses some conversations: {error}" for error in derived.errors[:5]]
    return out


def _inspection(form: TurnForm, derived: Derived, proof: Proof, warnings: list[str]) -> Inspection:
    reasoning = None if form.reasoning is None else msgspec.to_builtins(form.reasoning)
    facts = {"proved": proof.proved, **msgspec.to_builtins(proof)}
    return Inspection(form, reasoning, form.ends, derived.drops, warnings, facts, derived.renderings)


def _print(name: str, form: TurnForm, derived: Derived, proof: Proof, warnings: list[str]) -> None:
    out = console()
    out.print(Text(f"How {name} writes a turn. ⏎ is a line end, words in capitals are slots.", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in _rows(form):
        table.add_row(*row)
    out.print(table)
    for first, second, title in _PAIRS:
        if first in derived.renderings and second in derived.renderings:
            out.print()
            out.print(Text(title, style="bold"))
            for line in _pair(first, derived.renderings[first], second, derived.renderings[second]):
                out.print(line)
    out.print()
    for words in derived.drops:
        out.print(Text(f"drops: {words}"))
    for words in warnings:
        out.print(Text(f"! {words}", style="yellow"))
    for correction in form.corrections:
        out.print(Text(f"from the table: {correction.row}. {correction.reason}"))
    out.print(_proof_line(proof))


def _rows(form: TurnForm) -> list[tuple[str, Text]]:
    rows = [("a turn begins", Text(_shown(form.header)))]
    for state, begun in form.begun.items():
        rows.append((f"prompt, thinking {state}", Text(_shown(form.header + begun))))
    if form.reasoning is not None:
        reasoning = form.reasoning
        words = "; ".join(f"{state}: {_PROMPT[part]}" for state, part in reasoning.prompt.items())
        ended = "; a call may end it" if reasoning.call_ends else ""
        text = f"{_shown(reasoning.open)}REASONING{_shown(reasoning.close)}"
        rows.append(("reasoning", Text(f"{text}  ({words}{ended})" if words or ended else text)))
    rows += [("text", Text(f"{_shown(wrap.open)}TEXT{_shown(wrap.close)}")) for wrap in form.wraps]
    own = [call for call in form.calls if call.strict]
    for place, call in enumerate(own):
        only = f"  (of the tool {call.fixed_name}: a text alone)" if call.fixed_name else ""
        rows.append(("calls" if not place else "or", Text(_call(call) + only)))
        rows.append(("  arguments", Text(_ENCODINGS[call.arguments.encoding])))
    if not own:
        rows.append(("calls", Text("none: the template has no notation for them")))
    ends = " or ".join(_shown(end) for end in form.ends) or "no marker"
    rows.append(("ends with", Text(ends)))
    return rows


def _call(form: CallForm) -> str:
    one = "".join(_piece(piece, form) for piece in form.pieces)
    more = f"{_shown(form.separator)}…" if form.separator or form.section_close else ""
    return f"{_shown(form.section_open)}{one}{more}{_shown(form.section_close)}"


def _piece(piece: Piece, form: CallForm) -> str:
    if piece.kind == "text":
        return _shown(piece.text)
    if piece.kind == "object" and form.object is not None:
        keys = form.object
        if not keys.name_key:
            return '{"NAME": ARGUMENTS}'
        extra = f', "{keys.id_key}": ID' if keys.id_key else ""
        return f'{{"{keys.name_key}": "NAME", "{keys.arguments_key}": ARGUMENTS{extra}}}'
    if piece.kind == "arguments" and form.arguments.parameter:
        one = "".join(_parameter(each, form) for each in form.arguments.parameter)
        return f"{one}{_shown(form.arguments.separator)}…"
    return piece.kind.upper()


def _parameter(piece: Piece, form: CallForm) -> str:
    if piece.kind == "text":
        return _shown(piece.text)
    quote = form.arguments.quote
    return f"{quote}VALUE{quote}" if piece.kind == "value" and quote else piece.kind.upper()


def _pair(first: str, one: str, second: str, other: str) -> list[Text]:
    """Two renderings, each on a line, with what only one of them has marked by brackets and colour."""
    if one == other:
        return [Text("  both are the same: ").append(_shown(one[-_LONGEST:]), style="dim")]
    start = len(common_prefix(one, other))
    end = len(common_suffix(one[start:], other[start:]))
    width = max(len(first), len(second))
    lines = []
    for name, text in ((first, one), (second, other)):
        line = Text(f"  {name:{width}}  ")
        line.append(_shown(text[:start][-_LONGEST:]), style="dim")
        line.append(f"⟦{_shown(text[start : len(text) - end][:_LONGEST])}⟧", style="bold green")
        line.append(_shown(text[len(text) - end :][:_LONGEST]), style="dim")
        lines.append(line)
    return lines


def _proof_line(proof: Proof) -> Text:
    if not proof.turns:
        return Text("not proved: the template renders no calls", style="yellow")
    kinds = ", ".join(f"{count} with {kind}" for kind, count in sorted(proof.counts.items()))
    mark, style = ("✓ proved", "bold green") if proof.proved else ("✗ not proved", "bold red")
    return Text(
        f"{mark}: {proof.equal} of {proof.turns} random turns are read back equal ({kinds})", style=style
    )


def _shown(text: str) -> str:
    return visible(text).replace("␊", "⏎")
