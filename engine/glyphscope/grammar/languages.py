"""The languages in which a grammar is written, each a row of `LANGUAGES`: GBNF for llama.cpp, Lark for llguidance.

Commands and the window ask the row for everything that depends on the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.grammar.gbnf.check import GrammarCheck, apply_fixes, check_gbnf, check_gbnf_bytes
from glyphscope.grammar.gbnf.diagnostics import errors_in_words
from glyphscope.grammar.gbnf.emit.gbnf_text import print_gbnf
from glyphscope.grammar.gbnf.parse.syntax import GrammarSyntax
from glyphscope.grammar.lark_check import check_lark, check_lark_bytes
from glyphscope.grammar.lark_text.format import print_lark
from glyphscope.grammar.tree import Grammar

AnyCheck: TypeAlias = GrammarCheck[GrammarSyntax]


class GrammarLanguage(NamedTuple):
    """A language: its name and the ending of its files, the engine that reads it, its start rule, and its functions."""

    name: str
    suffix: str
    engine: str
    start: str
    hint: str
    check: Callable[..., AnyCheck]
    """Of a text; with `cancel`, a function that says whether to stop."""
    check_bytes: Callable[[bytes], AnyCheck]
    print_text: Callable[..., str]
    """The formatted text of a document."""

    def fix(self, found: AnyCheck) -> tuple[str, int]:
        """The text with all errors fixed that have a single fix, and the number of fixes."""
        return apply_fixes(found, self.check)


GBNF = GrammarLanguage(
    "GBNF", ".gbnf", "llama.cpp", "root", "Correct it: llama.cpp rejects it, or crashes on it.",
    check_gbnf, check_gbnf_bytes, print_gbnf,
)  # fmt: skip
LARK = GrammarLanguage(
    "Lark", ".lark", "llguidance", "start", "Correct it: llguidance rejects it.",
    check_lark, check_lark_bytes, print_lark,
)  # fmt: skip
LANGUAGES = (GBNF, LARK)

_GBNF_HEAD = re.compile(r"^[ \t]*[\w-]+[ \t]*::=(?!.*::=.*:)", re.MULTILINE)
_LARK_HEAD = re.compile(
    r"^[ \t]*(?:[!?]*\w[\w-]*(?:::_)?[ \t]*(?:\[[^\]\n]*\])?[ \t]*:(?![:=])|%(?:ignore|import|llguidance)\b)",
    re.MULTILINE,
)


def language_of(text: str, path: str = "") -> GrammarLanguage:
    """The language of a file by its ending, else of a text by its first definition; GBNF if neither says."""
    suffix = PurePath(path).suffix.lower()
    for language in LANGUAGES:
        if suffix == language.suffix:
            return language
    lark, gbnf = _LARK_HEAD.search(text), _GBNF_HEAD.search(text)
    return LARK if lark and (gbnf is None or lark.start() < gbnf.start()) else GBNF


def load_grammar(text: str, *, where: str = "grammar", path: str = "") -> Grammar:
    """The rule tree of a text in any language. Raises GrammarError with each problem's line and column, both from 1."""
    language = language_of(text, path)
    check = checked(language, text)
    if check.grammar is not None:
        return check.grammar
    errors = [diagnostic for diagnostic in check.diagnostics if diagnostic.severity == "error"]
    raise GrammarError(errors_in_words(text, errors), where=where, hint=language.hint)


@lru_cache(maxsize=4)
def checked(language: GrammarLanguage, text: str) -> AnyCheck:
    """The check of a text; the last few are cached."""
    # cached, because other caches identify a grammar by its identity
    return language.check(text)
