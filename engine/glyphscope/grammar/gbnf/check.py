"""A GBNF text checked: what it says, what is wrong with it, and its grammar if llama.cpp takes it."""

from __future__ import annotations

from functools import cached_property

from glyphscope.grammar.gbnf.convert import to_grammar
from glyphscope.grammar.gbnf.diagnose import diagnose
from glyphscope.grammar.gbnf.diagnostic import Diagnostic
from glyphscope.grammar.gbnf.reader import read_gbnf
from glyphscope.grammar.gbnf.syntax import GbnfDocument
from glyphscope.grammar.tree import Grammar


class GbnfCheck:
    """What `check_gbnf` found."""

    def __init__(self, document: GbnfDocument, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.document = document
        self.diagnostics = diagnostics

    @property
    def ok(self) -> bool:
        """Whether llama.cpp takes it: there is no error, though there may be warnings."""
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    @cached_property
    def grammar(self) -> Grammar | None:
        """The rule tree; None unless `ok`."""
        return to_grammar(self.document) if self.ok else None


def check_gbnf(text: str) -> GbnfCheck:
    """Reads and checks any text. Never raises."""
    document = read_gbnf(text)
    return GbnfCheck(document, diagnose(document))
