"""The texts that llguidance accepts, read in this process: tests read thousands of them."""

from __future__ import annotations

from collections.abc import Callable

from llguidance import LLMatcher, LLTokenizer

from glyphscope.grammar import to_lark
from glyphscope.grammar.tree import Grammar, Node, Rule, Terminal

_BYTES = LLTokenizer("byte")


def lark_reader(source: Grammar | Node | str) -> Callable[[str], bool]:
    """Whether llguidance accepts a text of the grammar, of the node as one lexeme, or of a grammar in Lark."""
    if not isinstance(source, str | Grammar):
        lexeme = source if isinstance(source, Terminal) else Terminal(source)
        source = Grammar({"root": Rule("root", lexeme)}, "root", lexed=True)
    lark = source if isinstance(source, str) else to_lark(source)
    template = LLMatcher(_BYTES, LLMatcher.grammar_from_lark(lark), log_level=0)
    assert not template.is_error(), template.get_error()

    def accepts(text: str) -> bool:
        matcher, data = template.deep_copy(), list(text.encode())
        return matcher.try_consume_tokens(data) == len(data) and bool(matcher.is_accepting())

    return accepts
