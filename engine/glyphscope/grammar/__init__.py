"""Grammars: the rule tree, built from a registry or a schema, and its emission for the engines."""

from typing import TYPE_CHECKING

from glyphscope.lazy_names import lazy_names

if TYPE_CHECKING:
    from glyphscope.grammar.builder.calls import GrammarOptions, build_call_grammar, build_value_grammar
    from glyphscope.grammar.gbnf.emit.emit import GbnfText, emit_gbnf
    from glyphscope.grammar.lark.emit import lark_unenforced, to_lark
    from glyphscope.grammar.tree import Grammar, Ordered, Origin, Rule, Unenforced
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "builder.calls": ("GrammarOptions", "build_call_grammar", "build_value_grammar"),
            "gbnf.emit.emit": ("GbnfText", "emit_gbnf"),
            "lark.emit": ("lark_unenforced", "to_lark"),
            "tree": ("Grammar", "Ordered", "Origin", "Rule", "Unenforced"),
        },
    )

__all__ = [
    "GbnfText",
    "Grammar",
    "GrammarOptions",
    "Ordered",
    "Origin",
    "Rule",
    "Unenforced",
    "build_call_grammar",
    "build_value_grammar",
    "emit_gbnf",
    "lark_unenforced",
    "to_lark",
]
