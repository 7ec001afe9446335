"""Regular languages: patterns, derivatives and automata, and the languages of strings and numbers built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.grammar.regular.formats import FORMATS, written_format
    from glyphscope.grammar.regular.numbers import fractions_node, integer_node, number_node
    from glyphscope.grammar.regular.regex import PatternNotEnforced, pattern_node, search_text, unreadable
    from glyphscope.grammar.regular.strings import RAW, string_node, within_lengths, word_except
else:
    # the process of a model uses automata, and needs neither patterns nor schemas
    __getattr__ = interface(__name__)
