"""`glyphscope grammar build`: the grammar that constrains a model by a registry or a schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glyphscope.cli.grammar.report import print_contradictions, print_unenforced, unenforced_json
from glyphscope.cli.grammar.report import report as print_proofs
from glyphscope.cli.inputs import InputError, in_shape, read_json, read_registry
from glyphscope.cli.options import JsonOption, NotationOption, OrderOption, RegistryOption, ShapeOption
from glyphscope.cli.output import print_json
from glyphscope.events import default_order
from glyphscope.grammar import (
    GrammarOptions,
    build_call_grammar,
    build_value_grammar,
    call_schema,
    contradictions,
    lark_unenforced,
    registry_contradictions,
    to_lark,
)
from glyphscope.grammar.builder.calls import SCHEMA, Part
from glyphscope.grammar.builder.notes import constraint_notes
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.notation_syntax import WhiteSpace
from glyphscope.grammar.tree import Grammar, Ordered, Origin, Unenforced
from glyphscope.registry import Tool, check_schema, normalise
from glyphscope.visible import escaped


def build(
    registry: RegistryOption = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON Schema instead of a registry.")
    ] = None,
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    order: OrderOption = None,
    part: Annotated[Part, typer.Option(help="Part of a call.")] = "call",
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only this tool.")] = None,
    free_text: Annotated[bool, typer.Option("--free-text", help="Allow any text before the call.")] = False,
    white_space: Annotated[WhiteSpace, typer.Option(help="White space in JSON.")] = "none",
    comments: Annotated[
        bool, typer.Option("--comments", help="Add the schema location of each rule as a comment in GBNF.")
    ] = False,
    to: Annotated[
        Literal["lark", "gbnf", "json-schema"],
        typer.Option(help="The format: gbnf for llama.cpp, lark for llguidance."),
    ] = "lark",
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Instead, test with examples just outside each constraint which constraints the engines enforce.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the grammar of every call that the registry allows, or of every value of a schema.

    Constraints that the grammar does not enforce are printed on standard error, with tool and location; --json prints
    them with the grammar. Warnings on standard error name the parts of a schema that other constraints exclude.
    """
    # the proofs compare both engines in one order: the mask's, which GBNF follows as far as it can
    order = order or default_order("gbnf" if to == "gbnf" and not report else "mask")
    options = GrammarOptions(white_space=white_space, part=part, tool=tool, free_text=free_text, order=order)
    if schema is not None:
        if registry is not None or options != GrammarOptions(white_space=white_space, order=order):
            raise InputError(
                "--schema cannot be combined with these options.",
                hint="A schema has no tools: omit --registry, --part, --tool and --free-text.",
            )
        document = read_json(str(schema))
        if report:
            grammar = build_value_grammar(document, notation, options)
            emitted = emit_gbnf(grammar)
            print_unenforced((*grammar.unenforced, *emitted.unenforced), emitted.ordered, as_json=as_json)
        else:
            result = document if to == "json-schema" else build_value_grammar(document, notation, options)
            _print(result, to, comments, as_json)
        normal = normalise(document) if not check_schema(document) else None
        if isinstance(normal, dict):
            print_contradictions(contradictions(Tool(SCHEMA, "", normal), closed=False))
        return
    tools = read_registry(registry)
    shape = in_shape(tools, shape)
    if report:
        print_proofs(tools, notation, shape, order, as_json=as_json)
    elif to == "json-schema":
        _print(call_schema(tools, shape, options), to, comments, as_json)
    else:
        result = build_call_grammar(tools, notation, shape, options)
        _print(result, to, comments, as_json, constraint_notes(tools))
    print_contradictions(registry_contradictions(tools))


def _print(
    grammar: Any, to: str, comments: bool, as_json: bool, notes: Callable[[Origin], str] = lambda _: ""
) -> None:
    """Print the grammar on stdout and its unenforced constraints on stderr, or both as one JSON object."""
    unenforced: tuple[Unenforced, ...] = ()
    ordered: tuple[Ordered, ...] = ()
    if not isinstance(grammar, Grammar):
        text = escaped(json.dumps(grammar, indent=2, ensure_ascii=False)) + "\n"
    elif to == "gbnf":
        emitted = emit_gbnf(grammar, comments=comments, notes=notes)
        text, unenforced, ordered = emitted.text, (*grammar.unenforced, *emitted.unenforced), emitted.ordered
    else:
        text, unenforced, ordered = to_lark(grammar), lark_unenforced(grammar), grammar.ordered
    if as_json:
        print_json({"language": to, "grammar": text, **unenforced_json(unenforced, ordered)})
        return
    typer.echo(text, nl=False)
    if unenforced or ordered:
        print_unenforced(unenforced, ordered, as_json=False, beside=True)
