"""From a registry or a schema to the rule tree: the tools of a call, and the values of their arguments."""

from glyphscope.grammar.builder.calls import GrammarOptions, Part, build_call_grammar, build_value_grammar

__all__ = ["GrammarOptions", "Part", "build_call_grammar", "build_value_grammar"]
