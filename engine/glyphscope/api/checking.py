"""Calls and grammars without a model: whether a text is a call of the tools, and the grammar of all such texts."""

from __future__ import annotations

import json
from typing import Literal

from glyphscope.api.tools import ToolLike, Tools
from glyphscope.events import ArgumentOrder, Notation, Shape, default_order
from glyphscope.grammar.builder.calls import GrammarOptions, build_call_grammar
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.validation.call import CallValidator, CheckReport


def check_call(
    text: str, tools: ToolLike = "default", *, notation: Notation = "json", shape: Shape = "name-arguments"
) -> CheckReport:
    """The verdict on a text: whether it is a call, its tool and arguments, and each violation with its character.

    Raises RegistryError, and NotationError if the shape cannot write one of the tools.
    """
    validator = CallValidator(Tools(tools).registry, notation, shape)
    validator.feed(text)
    validator.finish()
    return validator.report()


def build_grammar(
    tools: ToolLike = "default",
    *,
    to: Literal["gbnf", "lark", "json-schema"] = "gbnf",
    notation: Notation = "json",
    shape: Shape = "name-arguments",
    order: ArgumentOrder | None = None,
    free_text: bool = False,
) -> str:
    """The grammar of every call of the tools: GBNF for llama.cpp, Lark for llguidance, or a JSON Schema.

    `order` is the order of arguments; by default any for Lark, otherwise the schema's. Raises RegistryError and
    GrammarError.
    """
    registry = Tools(tools).registry
    usual = default_order("mask" if to == "lark" else "gbnf")
    options = GrammarOptions(order=order or usual, free_text=free_text)
    if to == "json-schema":
        return json.dumps(call_schema(registry, shape, options), indent=2, ensure_ascii=False)
    grammar = build_call_grammar(registry, notation, shape, options)
    return to_lark(grammar) if to == "lark" else emit_gbnf(grammar).text
