"""Lexers for Pygments: GBNF, and Lark as llguidance reads it, for documentation tools, notebooks and Rich."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Literal, Name, Operator, String, Text, _TokenType

from glyphscope.grammar.line_lexer import LEXERS, LineLexer

__all__ = ["GbnfLexer", "LlguidanceLexer"]  # Pygments reads it
_KINDS = {
    "comment": Comment.Single,
    "literal": String.Double,
    "class": String.Regex,
    "token": Keyword.Constant,
    "definition": Name.Function,
    "name": Name,
    "bounds": Literal.Number,
    "mark": Operator,
}


class _GrammarLexer(Lexer):  # type: ignore[misc]
    words: ClassVar[LineLexer]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """The words, and the white space between them."""
        end = 0
        for word in self.words.words(text):
            if word.start > end:
                yield end, Text, text[end : word.start]
            yield word.start, _KINDS[word.kind], word.text
            end = word.end
        if end < len(text):
            yield end, Text, text[end:]


class GbnfLexer(_GrammarLexer):
    """GBNF, the grammars of llama.cpp."""

    name = "GBNF"
    url = "https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md"
    aliases: ClassVar = ["gbnf"]
    filenames: ClassVar = ["*.gbnf"]
    words = LEXERS["GBNF"]


class LlguidanceLexer(_GrammarLexer):
    """Lark, the grammars of llguidance."""

    name = "Lark (llguidance)"
    url = "https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md"
    aliases: ClassVar = ["llguidance", "lark"]
    filenames: ClassVar = ["*.lark"]
    words = LEXERS["Lark"]
