"""Grammars: the rule tree, built from a registry or a schema, its output for the engines, and its texts.

The rule tree itself is in `tree`; `gbnf` has GBNF, and `regular` the regular languages of lexemes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.grammar.builder.contradictions import contradictions, registry_contradictions
    from glyphscope.grammar.builder.json_schema import call_schema
    from glyphscope.grammar.builder.tools import build_value_grammar
    from glyphscope.grammar.builder.uncallable import uncallable
    from glyphscope.grammar.checking import SafeValidator
    from glyphscope.grammar.generate.difference import Bound, Differences, shortest_differences
    from glyphscope.grammar.generate.example import example_arguments
    from glyphscope.grammar.generate.sample import covering_texts, sample_texts
    from glyphscope.grammar.lark.emit import MaskReader, lark_rules, lark_unenforced, to_lark
    from glyphscope.grammar.match.earley import MatchCancelled, MatchLimit, MatchLimits, State
    from glyphscope.grammar.match.report import compile_grammar, match_text
    from glyphscope.grammar.match.tokens import TokenTrie, allowed_tokens
    from glyphscope.grammar.packed import pack, unpack
    from glyphscope.grammar.shapes import fitting_shape, shape_note
else:
    __getattr__ = interface(__name__)
