"""What may come next: the rule tree, built from a registry, and its emission for the engines."""

from glyphscope.grammar.build import GrammarOptions, build_call_grammar
from glyphscope.grammar.lark import to_lark
from glyphscope.grammar.tree import Grammar, Origin, Rule, Unheld

__all__ = ["Grammar", "GrammarOptions", "Origin", "Rule", "Unheld", "build_call_grammar", "to_lark"]
