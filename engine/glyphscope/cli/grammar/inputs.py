"""The grammar of a command: from a GBNF file, a registry's calls, or a schema's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.cli.inputs import InputError, in_shape, read_json, read_registry, read_text
from glyphscope.cli.options import NotationOption, OrderOption, ShapeOption
from glyphscope.errors import RegistryError
from glyphscope.events import ArgumentOrder, Notation, Shape, default_order
from glyphscope.grammar.builder.calls import GrammarOptions, build_call_grammar, build_value_grammar
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.tree import Grammar
from glyphscope.registry import parse_document


@dataclass(frozen=True, kw_only=True)
class GrammarSource:
    """The options that select a grammar, unless it is a GBNF file."""

    registry: Annotated[
        Path | None, typer.Option("--registry", "-r", metavar="FILE", help="The calls of these tools (JSON).")
    ] = None
    schema: Annotated[
        Path | None, typer.Option("--schema", metavar="FILE", help="The values of this JSON Schema.")
    ] = None
    notation: NotationOption = "glyph"
    shape: ShapeOption = "flat"
    order: OrderOption = None

    def grammar(self, gbnf: str | None) -> Grammar:
        """The grammar of exactly one source. Raises InputError, GrammarError, RegistryError."""
        if sum(source is not None for source in (gbnf, self.registry, self.schema)) != 1:
            raise InputError(
                "A grammar comes from one place.",
                hint="Give a GBNF file, or --registry FILE, or --schema FILE.",
            )
        options = GrammarOptions(order=self.order or default_order("mask"))
        if gbnf is not None:
            return load_gbnf(read_text(gbnf), where=gbnf)
        if self.schema is not None:
            return build_value_grammar(read_json(str(self.schema)), self.notation, options)
        tools = read_registry(self.registry)
        return build_call_grammar(tools, self.notation, in_shape(tools, self.shape), options)


def read_any_grammar(
    source: str, notation: Notation = "glyph", shape: Shape = "flat", order: ArgumentOrder | None = None
) -> Grammar:
    """The grammar of a file, depending on name and content: a registry or a schema if it is `.json`, else GBNF."""
    if not source.lower().endswith(".json"):
        return load_gbnf(read_text(source), where=source)
    document = read_json(source)
    options = GrammarOptions(order=order or default_order("mask"))
    try:
        registry = parse_document(document, source)
    except RegistryError:
        if _looks_like_schema(document):
            return build_value_grammar(document, notation, options)
        raise
    return build_call_grammar(registry, notation, in_shape(registry, shape), options)


def _looks_like_schema(document: Any) -> bool:
    """Whether a document that is not a registry may be meant as a JSON Schema."""
    known = {"$schema", "type", "properties", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "items"}
    return isinstance(document, bool) or (isinstance(document, Mapping) and not known.isdisjoint(document))
