"""GBNF that somebody wrote, as a grammar: with its mistakes told in words, where there are any."""

from __future__ import annotations

from functools import lru_cache

from glyphscope.errors import GrammarError
from glyphscope.grammar.gbnf.check import GbnfCheck, check_gbnf
from glyphscope.grammar.tree import Grammar
from glyphscope.text.lines import Lines

MOST = 10  # mistakes that one message tells


def load_gbnf(text: str, *, where: str = "grammar", before: int = 0) -> Grammar:
    """The rule tree. Raises GrammarError with each mistake's line and column, both from 1.

    The first `before` characters were put there by the caller, and do not count.
    """
    check = _checked(text)
    if check.grammar is not None:
        return check.grammar
    mistakes = [found for found in check.diagnostics if found.severity == "error"]
    lines = Lines(text[before:])
    told = [
        f"line {line}, column {column}: {found.message}"
        for found in mistakes[:MOST]
        for line, column in [lines.place(max(0, found.start - before))]
    ]
    if len(mistakes) > MOST:
        told.append(f"… and {len(mistakes) - MOST} more")
    raise GrammarError(
        "\n".join(told), where=where, hint="Correct it: llama.cpp refuses it, or crashes on it."
    )


@lru_cache(maxsize=4)
def _checked(text: str) -> GbnfCheck:
    return check_gbnf(
        text
    )  # kept, so that the same text is the same grammar to the caches of what is made of it
